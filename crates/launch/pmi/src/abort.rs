//! Ending the job at once: without locks and without memory from the heap, so that a signal handler may do it, whatever it
//! has interrupted.

use std::ffi::{c_char, c_int, c_void};
use std::fmt::{self, Write};
use std::os::fd::RawFd;

use connect::Urgent;
use connect::channel::URGENT_OVERHEAD;

use crate::wire::escape_byte;

/// `PMIx_Abort`.
pub(crate) type AbortFunction = unsafe extern "C" fn(c_int, *const c_char, *mut c_void, usize) -> c_int;

/// What ending the job needs. Plain data, so that it can be read without a lock.
#[derive(Clone, Copy, Debug)]
pub struct Abort {
    /// The launcher's connection, which stays open as long as the process lives; -1: there is none.
    pub(crate) launcher: RawFd,
    /// Seals what is sent to the launcher, where the connection is protected.
    pub(crate) urgent: Option<Urgent>,
    /// The function that informs a PMIx launcher.
    pub(crate) pmix: Option<AbortFunction>,
    /// The launcher is our own, which shows the message, once for all ranks that send the same.
    pub(crate) native: bool,
    /// Rank of this process in `MPI_COMM_WORLD`, if it has joined a job.
    pub(crate) rank: Option<u32>,
}

/// Most bytes of a message that are kept.
const ROOM: usize = 3072;

/// Text in memory of its own; what does not fit is left out.
struct Text {
    bytes: [u8; ROOM],
    len: usize,
}

impl Text {
    const fn new() -> Text {
        Text { bytes: [0; ROOM], len: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        let taken = bytes.len().min(ROOM - self.len);
        self.bytes[self.len..self.len + taken].copy_from_slice(&bytes[..taken]);
        self.len += taken;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// The first line names the rank behind this word.
const OURS: &str = "alhena:";

impl Abort {
    /// That of a process that has joined no job.
    pub const ALONE: Abort = Abort { launcher: -1, urgent: None, native: false, pmix: None, rank: None };

    /// Has the launcher end all ranks and report `code` and `message`, writes that to stderr where the launcher does not
    /// show it, and ends this process. What the C library still buffers for stdout is written first; if a signal has
    /// interrupted that very library, the process ends all the same, two seconds later.
    pub fn run(&self, code: i32, message: fmt::Arguments<'_>) -> ! {
        let mut text = Text::new();
        // `Text` takes what fits and never fails.
        let _ = text.write_fmt(message);
        if !(self.tell_launcher(code, text.bytes()) && self.native) {
            self.write_to_stderr(text.bytes());
        }
        if let Some(abort) = self.pmix {
            limit_time();
            // SAFETY: the library's function; a null list means all ranks. Should the interrupted code hold one of its
            // locks, the alarm ends this process.
            unsafe { abort(exit_status(code), c"MPI_Abort".as_ptr(), std::ptr::null_mut(), 0) };
        }
        leave(code)
    }

    /// Whether the launcher took it.
    fn tell_launcher(&self, code: i32, message: &[u8]) -> bool {
        if self.launcher < 0 {
            return false;
        }
        let mut command = Text::new();
        let _ = write!(command, "cmd=abort exitcode={code} message=");
        for &byte in message {
            let (escaped, len) = escape_byte(byte);
            // The newline that ends the command must fit.
            if command.len + len < ROOM {
                command.push(&escaped[..len]);
            }
        }
        command.push(b"\n");
        let mut space = [0; ROOM + URGENT_OVERHEAD];
        let said = match &self.urgent {
            Some(urgent) => {
                let [nonce @ .., _, _, _, _] = platform::random::nonce().to_ne_bytes();
                urgent.seal(nonce, command.bytes(), &mut space)
            }
            None => command.bytes(),
        };
        write_all(said, |bytes| {
            // SAFETY: the bytes are readable for their length; a closed descriptor gives an error, and a launcher that is
            // gone raises no signal.
            unsafe { libc::send(self.launcher, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) }
        })
    }

    fn write_to_stderr(&self, message: &[u8]) {
        let mut said = Text::new();
        match (self.rank, message.strip_prefix(OURS.as_bytes())) {
            (Some(rank), Some(rest)) => {
                let _ = write!(said, "{OURS} rank {rank}:");
                said.push(rest);
            }
            _ => said.push(message),
        }
        said.push(b"\n");
        write_all(said.bytes(), |bytes| {
            // SAFETY: as in `tell_launcher`.
            unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) }
        });
    }
}

/// Ends this process with `code`; what the C library still buffers is written first.
pub(crate) fn leave(code: i32) -> ! {
    limit_time();
    // SAFETY: plain values; fflush(NULL) flushes all output streams, _exit ends the process.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(exit_status(code))
    }
}

/// Ends this process two seconds later: SIGALRM's default action does, should what follows wait for a lock that the
/// interrupted code holds.
fn limit_time() {
    // SAFETY: plain values.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(2);
    }
}

/// Writes all of `bytes` by `write`, and returns whether that took them.
fn write_all(mut bytes: &[u8], write: impl Fn(&[u8]) -> isize) -> bool {
    while !bytes.is_empty() {
        let written = write(bytes);
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written.min(bytes.len())..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

/// An error code as a process can return it: never 0, for `MPI_Abort` is no success.
pub fn exit_status(code: i32) -> i32 {
    if code & 0xff == 0 { 1 } else { code & 0xff }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_takes_what_fits() {
        let mut text = Text::new();
        text.push(&[b'a'; ROOM - 1]);
        let _ = write!(text, "bc");
        assert_eq!(text.bytes().len(), ROOM);
        assert_eq!(text.bytes()[ROOM - 1], b'b');
    }

    #[test]
    fn an_abort_is_never_a_success() {
        assert_eq!(exit_status(0), 1);
        assert_eq!(exit_status(256), 1);
        assert_eq!(exit_status(7), 7);
    }
}
