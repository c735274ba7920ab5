//! Starting further jobs (`MPI_Comm_spawn`): a mpiexec of their own for each, which gets its order over a socket.
//!
//! ```text
//!   rank                        proxy ─► mpiexec of the rank's job                 new mpiexec
//!    │ alhena_launch, socket ──────────────► starts it with the socket ────────────► │
//!    │ ── order: arguments, environment, directory, port of the parents ──────────► │
//!    │ ◄─ failed: why ───────────────────────────────────────────────────────────── │  nothing was started
//!    │ ── released ──────────────────────────────────────────────────────────────►  │  the jobs are not connected any more
//!    │ ◄─ end of the socket ───────────────────────────────────────────────────────  │  the job has ended
//! ```
//! A process without Alhena's mpiexec starts the new one itself. As long as the rank has not released the job, the end of
//! the socket on its side ends the job. Where jobs go on when ranks fail, the end may be a failure, and the rank writes
//! `given up` where it is none.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;
use crate::job::{Job, Service};
use crate::protocol::LAUNCH;
use crate::wireup::number::{put, put_bytes, take, take_bytes};
use std::os::fd::{AsFd, AsRawFd, RawFd};

const STEP: &str = "MPI_Comm_spawn";
/// The flag by which a mpiexec gets its order over the descriptor that follows.
pub const FLAG: &str = "-spawned";
/// What a rank writes when the jobs are not connected any more.
pub const RELEASED: u8 = b'r';
/// What a rank writes that does not want the job any more.
pub const GIVEN_UP: u8 = b'g';
/// Longest order, in bytes.
const LONGEST: usize = 64 << 20;

/// What a new mpiexec is to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Where the parents wait for the new job.
    pub port: String,
    /// What the job writes goes where the asking process writes: descriptors follow the order, of standard output and
    /// error. Else it goes where mpiexec writes.
    pub brings_output: bool,
    /// Working directory.
    pub directory: Vec<u8>,
    /// Arguments of mpiexec.
    pub arguments: Vec<Vec<u8>>,
    /// The whole environment, as `NAME=value`.
    pub environment: Vec<Vec<u8>>,
}

impl Order {
    /// As bytes: their number, then the fields; of the lists, how many there are first.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_bytes(&mut body, self.port.as_bytes());
        put(&mut body, self.brings_output.into());
        put_bytes(&mut body, &self.directory);
        for list in [&self.arguments, &self.environment] {
            put(&mut body, list.len() as u32);
            list.iter().for_each(|text| put_bytes(&mut body, text));
        }
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.append(&mut body);
        bytes
    }

    /// Reads an order from a socket.
    ///
    /// # Errors
    /// The socket's; `InvalidData`.
    pub fn read(mut from: impl Read) -> io::Result<Order> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        Order::decode(&body).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn decode(mut body: &[u8]) -> Option<Order> {
        let text = |body: &mut &[u8]| take_bytes(body).map(<[u8]>::to_vec);
        let list = |body: &mut &[u8]| (0..take(body)?).map(|_| text(body)).collect::<Option<Vec<_>>>();
        let order = Order {
            port: String::from_utf8(text(&mut body)?).ok()?,
            brings_output: take(&mut body)? == 1,
            directory: text(&mut body)?,
            arguments: list(&mut body)?,
            environment: list(&mut body)?,
        };
        body.is_empty().then_some(order)
    }
}

/// A job that this process has had started.
#[derive(Debug)]
pub struct Launched {
    socket: UnixStream,
    is_released: bool,
}

impl Drop for Launched {
    /// The job ends, unless it was released.
    fn drop(&mut self) {
        let word = if self.is_released { RELEASED } else { GIVEN_UP };
        // Fails only if it has ended.
        let _ = crate::scm::send(self.socket.as_fd(), &[word], &[]);
    }
}

impl Launched {
    /// What ends a wait for the new job: it is readable when that has failed or ended.
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Gives the new mpiexec its order.
    ///
    /// # Errors
    /// The socket's: the mpiexec is gone.
    pub fn order(&mut self, order: &Order) -> io::Result<()> {
        // Without a signal where it is gone.
        crate::scm::send_all(self.socket.as_fd(), &order.encode())?;
        if order.brings_output {
            let (out, error) = (io::stdout(), io::stderr());
            crate::scm::send(self.socket.as_fd(), &[0], &[out.as_fd(), error.as_fd()])?;
        }
        Ok(())
    }

    /// Why the job has failed or ended, after the socket has become readable.
    pub fn why(&mut self) -> String {
        let mut text = String::new();
        let _ = self.socket.read_to_string(&mut text);
        match text.trim() {
            "" => "its processes have ended without MPI_Init".to_owned(),
            text => text.to_owned(),
        }
    }

    /// The jobs are not connected any more: the new one outlives this process.
    pub fn release(mut self) {
        self.is_released = true;
    }
}

impl Job {
    /// Whether the mpiexec of a job that is launched does not write where the user reads: a daemon of another host starts it.
    pub fn must_bring_output(&self) -> bool {
        matches!(&self.service, Service::Native(_))
            && self.node_of.iter().any(|&node| node != self.node_of[0])
    }

    /// Has another mpiexec started, which waits for its order.
    ///
    /// # Errors
    /// The launcher is gone, or the system refuses a process.
    pub fn launch(&mut self) -> Result<Launched, Error> {
        let (socket, theirs) = UnixStream::pair().map_err(Error::io(STEP))?;
        match &mut self.service {
            Service::Native(native) => {
                native.connection.send_with(STEP, &format!("cmd={LAUNCH}\n"), theirs.as_fd())?;
            }
            Service::Alone(_) | Service::Launcher(_) => start(&theirs).map_err(Error::io(STEP))?,
        }
        Ok(Launched { socket, is_released: false })
    }
}

/// The command of a mpiexec that gets its order over the first of these descriptors. All stay open until it is started, and its
/// arguments name them.
pub fn mpiexec<const N: usize>(program: &Path, descriptors: [RawFd; N]) -> Command {
    let mut command = Command::new(program);
    command.arg(FLAG).args(descriptors.map(|fd| fd.to_string())).stdin(Stdio::null());
    // SAFETY: the child makes system calls on numbers alone.
    unsafe {
        command.pre_exec(move || {
            descriptors.iter().try_for_each(|&fd| match libc::fcntl(fd, libc::F_SETFD, 0) {
                0.. => Ok(()),
                _ => Err(io::Error::last_os_error()),
            })
        })
    };
    command
}

/// Starts the mpiexec that is installed beside the library. It outlives this process where that has released its job.
fn start(theirs: &UnixStream) -> io::Result<()> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no mpiexec is installed beside the library");
    let prefix = platform::image::prefix().ok_or_else(missing)?;
    let mut command = mpiexec(&prefix.join("bin/mpiexec"), [theirs.as_raw_fd()]);
    // A Ctrl-C at the terminal is for this process, whose end ends the job.
    command.process_group(0);
    // SAFETY: the child makes system calls on values of its own only.
    unsafe {
        command.pre_exec(move || {
            // Threads of the library have all signals blocked.
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            Ok(())
        })
    };
    // The socket decides with which job it ends; here it is only reaped.
    let mut child = command.spawn()?;
    std::thread::Builder::new().name("alhena-reap".to_owned()).spawn(move || drop(child.wait())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_were_written() {
        let order = Order {
            port: "p".to_owned(),
            brings_output: true,
            directory: b"/tmp/a b".to_vec(),
            arguments: vec![b"-n".to_vec(), b"2".to_vec(), b"".to_vec(), b"\n\0x".to_vec()],
            environment: vec![b"A=1".to_vec()],
        };
        assert_eq!(Order::read(&*order.encode()).unwrap(), order);
        for cut in 0..order.encode().len() {
            assert!(Order::read(&order.encode()[..cut]).is_err());
        }
        assert!(Order::read(&[0xff; 8][..]).is_err());
    }
}
