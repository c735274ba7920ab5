//! Sockets: names, descriptors as messages, connections that do not block.

use super::wire::Hello;
use connect::{Caller, Ends};
use core::mem::zeroed;
use gni::{InstId, PeAddr};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream};
use std::time::Duration;

/// How long a peer may take to answer a question that is asked with a call.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Abstract name of a NIC's service: nothing in the file system, gone with its owner, one name space per
/// network namespace. Every user can read it, so the job's key is not in it.
pub(super) fn nic_name(job: u32, pe: PeAddr, inst: InstId) -> io::Result<UnixAddr> {
    UnixAddr::from_abstract_name(format!("alhena-gni/{job:08x}/{}/{}", pe.0, inst.0))
}

/// Abstract name under which one of a node's NICs gives out the node's segment.
pub(super) fn node_name(job: u32, pe: PeAddr) -> io::Result<UnixAddr> {
    UnixAddr::from_abstract_name(format!("alhena-gni/{job:08x}/{}/node", pe.0))
}

/// Repeats a call that was interrupted: io_uring interrupts its own thread to say that a copy is done.
pub(super) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Asks the service at `name` for a memory file. Returns it with the process id of the service.
pub(super) fn fetch_file(name: &UnixAddr, hello: &Hello) -> io::Result<(OwnedFd, i32)> {
    uninterrupted(|| ask_for_file(name, hello))
}

fn ask_for_file(name: &UnixAddr, hello: &Hello) -> io::Result<(OwnedFd, i32)> {
    let mut stream = UnixStream::connect_addr(name)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let pid = peer_of_same_user(&stream)?;
    stream.write_all(&hello.to_bytes())?;
    Ok((receive_file(&stream)?, pid))
}

/// Process id at the other end of a local connection, if it runs as the same user.
fn peer_of_same_user(stream: &UnixStream) -> io::Result<i32> {
    // SAFETY: plain data that the call fills.
    let mut credentials: libc::ucred = unsafe { zeroed() };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let to = (&raw mut credentials).cast();
    // SAFETY: the place and its length match.
    if unsafe { libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, to, &mut len) } != 0
    {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: geteuid cannot fail.
    if credentials.uid != unsafe { libc::geteuid() } {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(credentials.pid)
}

/// Room for one descriptor as ancillary data, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Ancillary([u8; 24]);

/// Sends one byte and, with it, `file`.
pub(super) fn send_file(stream: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
    uninterrupted(|| send_file_once(stream, file))
}

fn send_file_once(stream: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = 1u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut ancillary = Ancillary([0; 24]);
    // SAFETY: a structure of C without references, for which all zeros are a value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.0.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE and CMSG_LEN compute sizes; the first header lies in `ancillary`, which has
    // CMSG_SPACE(4) = 24 bytes; the data of one descriptor follows it.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(file.as_raw_fd());
    }
    // SAFETY: the message's parts are alive.
    if unsafe { libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL) } != 1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Receives what [`send_file`] sent.
fn receive_file(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut ancillary = Ancillary([0; 24]);
    // SAFETY: a structure of C without references, for which all zeros are a value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.0.as_mut_ptr().cast();
    message.msg_controllen = 24;
    // SAFETY: the message's parts are alive and writable.
    let got = unsafe { libc::recvmsg(stream.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has set the length of what it wrote into `ancillary`; a header is only looked at when
    // it is there, and carries one descriptor by its length, which is ours from now on.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(&message);
        if got == 1
            && !head.is_null()
            && (*head).cmsg_level == libc::SOL_SOCKET
            && (*head).cmsg_type == libc::SCM_RIGHTS
            && (*head).cmsg_len as usize == libc::CMSG_LEN(4) as usize
        {
            return Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<i32>().read_unaligned()));
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// A connection of either kind.
#[derive(Debug)]
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_nonblocking(true),
            Stream::Tcp(stream) => stream.set_nonblocking(true),
        }
    }

    /// Has a connection just accepted never block.
    pub(super) fn prepare(&self) -> io::Result<()> {
        if let Stream::Tcp(stream) = self {
            stream.set_nodelay(true)?;
        }
        self.set_nonblocking()
    }

    /// Whether it comes from another user's process, as the kernel sees it.
    pub(super) fn is_of_other_user(&self) -> bool {
        matches!(self, Stream::Unix(stream) if peer_of_same_user(stream).is_err())
    }

    /// Reads what is there; `Ok(None)`: nothing now. `Ok(Some(0))`: the other side has closed.
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match self {
            Stream::Unix(stream) => (&*stream).read(into),
            Stream::Tcp(stream) => (&*stream).read(into),
        };
        would_block(read)
    }

    /// Writes what there is room for; `Ok(None)`: no room now.
    pub(super) fn write_some(&self, from: &[u8]) -> io::Result<Option<usize>> {
        let written = match self {
            Stream::Unix(stream) => (&*stream).write(from),
            Stream::Tcp(stream) => (&*stream).write(from),
        };
        would_block(written)
    }
}

impl Caller for Stream {
    fn read_some(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.read(into)
    }

    fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.write_some(bytes)? {
            Some(written) if written == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn name(&self) -> String {
        match self {
            Stream::Unix(_) => "a process of this host".into(),
            Stream::Tcp(stream) => {
                stream.peer_addr().map_or_else(|_| "by TCP".into(), |address| address.to_string())
            }
        }
    }

    fn ends(&self) -> Ends {
        match self {
            Stream::Unix(_) => Ends::UNKNOWN,
            Stream::Tcp(stream) => Ends::of_owner(stream),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

fn would_block(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        // A connection still being made.
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes the next connection of a listener that does not block; `None`: there is none.
pub(super) fn accept_unix(listener: &UnixListener) -> io::Result<Option<Stream>> {
    accepted(listener.accept().map(|(stream, _)| Stream::Unix(stream)))
}

/// As [`accept_unix`], of callers over TCP.
pub(super) fn accept_tcp(listener: &TcpListener) -> io::Result<Option<Stream>> {
    accepted(listener.accept().map(|(stream, _)| Stream::Tcp(stream)))
}

fn accepted(stream: io::Result<Stream>) -> io::Result<Option<Stream>> {
    match stream {
        Ok(stream) => Ok(Some(stream)),
        // None, or one that has gone already: the next poll reports the one after it.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
