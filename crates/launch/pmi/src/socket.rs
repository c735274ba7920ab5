//! The proxy's Unix socket, for programs in a rank's place that have not inherited the rank's connection: a Python script
//! starts them with all descriptors closed, for instance.
//!
//! The socket is in the abstract namespace: nothing in the file system, and nothing to clean up. Its name is random,
//! and the ranks' environment holds it; knowing the name therefore earns no trust. Each side asks the kernel for the
//! user at the other end (`SO_PEERCRED`), and the proxy takes only processes that descend from it.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The address of the socket with this random number.
pub(crate) fn address(name: u64) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("alhena-{name:016x}"))
}

/// Opens the socket `name`.
///
/// # Errors
/// The system's errors.
pub fn listen(name: u64) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&address(name)?)
}

/// Connects to the socket `name` if its owner is a process of this user. Returns its process id, too.
///
/// # Errors
/// The system's; `PermissionDenied`: another user's.
pub fn connect(name: u64) -> io::Result<(UnixStream, i32)> {
    let stream = UnixStream::connect_addr(&address(name)?)?;
    let pid = peer_of_same_user(stream.as_fd())?;
    Ok((stream, pid))
}

/// Process id at the other end of `socket`, if it ran as this user when it connected, by the kernel's word.
///
/// # Errors
/// The system's; `PermissionDenied`: another user's.
pub fn peer_of_same_user(socket: BorrowedFd<'_>) -> io::Result<i32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = mem::size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `credentials` is writable and `length` holds its size.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: geteuid has no arguments and cannot fail.
    if credentials.uid != unsafe { libc::geteuid() } {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(credentials.pid)
}
