//! Messages over Unix sockets with the two things only the kernel can vouch for: open descriptors
//! (`SCM_RIGHTS`) and the sender's process id (`SCM_CREDENTIALS`). See unix(7), cmsg(3).

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// What one `recvmsg` brought.
pub struct Received {
    /// Bytes written to the front of the buffer; 0 means that the other side has closed.
    pub bytes: usize,
    /// The descriptors that came along (close-on-exec), [`MOST_DESCRIPTORS`] at most. Further ones are closed at once.
    pub fds: Vec<OwnedFd>,
    /// The sender's process id as the kernel saw it, in our pid namespace; needs [`want_credentials`].
    pub pid: Option<i32>,
}

/// Descriptors that go with one message.
pub const MOST_DESCRIPTORS: usize = 2;

/// Room for one descriptor list and one credential, aligned as `cmsghdr` wants.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// Asks the kernel to attach the sender's credentials to everything that `socket` receives from now on.
pub fn want_credentials(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: `on` is a live c_int and its size is passed with it.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PASSCRED,
            (&raw const on).cast(),
            mem::size_of_val(&on) as libc::socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends `bytes`, with `fds` attached to the first of them, [`MOST_DESCRIPTORS`] at most. Returns how many bytes were
/// taken. Never raises `SIGPIPE`.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let fds = &fds[..fds.len().min(MOST_DESCRIPTORS)];
    let mut control = Control([0; 128]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: an all-zero msghdr is a valid value (null pointers with zero lengths).
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !fds.is_empty() {
        let payload = mem::size_of_val(fds) as u32;
        message.msg_control = (&raw mut control).cast();
        // SAFETY: CMSG_SPACE and CMSG_LEN only compute; the space for two ints is far below 128 bytes, so
        // the first header and what follows it lie inside `control`, which is aligned for it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(payload) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(payload) as _;
            let data = libc::CMSG_DATA(header).cast::<libc::c_int>();
            fds.iter().enumerate().for_each(|(index, fd)| data.add(index).write_unaligned(fd.as_raw_fd()));
        }
    }
    loop {
        // SAFETY: `message` points to `part`, `bytes` and `control`, all alive during the call.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        if let Some(outcome) = finished(sent) {
            return outcome;
        }
    }
}

/// Sends all of `bytes` over a socket that blocks.
///
/// # Errors
/// The socket's.
pub(crate) fn send_all(socket: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        bytes = &bytes[send(socket, bytes, &[])?..];
    }
    Ok(())
}

/// Receives into `buffer`; blocks unless the socket is nonblocking.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = MaybeUninit::<Control>::zeroed();
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: an all-zero msghdr is a valid value (null pointers with zero lengths).
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = mem::size_of::<Control>() as _;
    let bytes = loop {
        // SAFETY: `message` points to `part`, `buffer` and `control`, all alive and writable during the call.
        let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if let Some(outcome) = finished(got) {
            break outcome?;
        }
    };
    let mut received = Received { bytes, fds: Vec::new(), pid: None };
    // SAFETY: the kernel has filled `control` and set `msg_controllen`; CMSG_FIRSTHDR checks it.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: `header` is inside `control`, written by the kernel.
        unsafe { take_control(header, &mut received) };
        // SAFETY: `header` came from this very message.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    // The kernel drops a descriptor for which the process has none free.
    if message.msg_flags & libc::MSG_CTRUNC != 0 && received.fds.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    Ok(received)
}

/// Takes over what one control header carries.
///
/// # Safety
/// `header` points to a control header that the kernel wrote for a message received just now, whose
/// descriptors have no owner yet.
unsafe fn take_control(header: *const libc::cmsghdr, received: &mut Received) {
    // SAFETY: the caller promises a valid header; its length field is the kernel's.
    let (level, kind, data, bytes) = unsafe {
        let start = libc::CMSG_LEN(0) as usize;
        let bytes = (*header).cmsg_len.saturating_sub(start);
        ((*header).cmsg_level, (*header).cmsg_type, libc::CMSG_DATA(header), bytes)
    };
    if level != libc::SOL_SOCKET {
        return;
    }
    if kind == libc::SCM_RIGHTS {
        for i in 0..bytes / mem::size_of::<libc::c_int>() {
            // SAFETY: the kernel put that many descriptors here, and each becomes ours exactly once.
            let fd = unsafe { OwnedFd::from_raw_fd(data.cast::<libc::c_int>().add(i).read_unaligned()) };
            if received.fds.len() < MOST_DESCRIPTORS {
                received.fds.push(fd);
            }
        }
    } else if kind == libc::SCM_CREDENTIALS && bytes >= mem::size_of::<libc::ucred>() {
        // SAFETY: the length was checked; ucred is plain data.
        let credentials = unsafe { data.cast::<libc::ucred>().read_unaligned() };
        received.pid = (credentials.pid > 0).then_some(credentials.pid);
    }
}

/// The outcome of a system call that returns a length; `None` when a signal interrupted it.
fn finished(rc: isize) -> Option<io::Result<usize>> {
    match usize::try_from(rc) {
        Ok(n) => Some(Ok(n)),
        Err(_) => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => None,
            e => Some(Err(e)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn descriptors_and_the_senders_pid_arrive() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        want_credentials(theirs.as_fd()).unwrap();
        let (mut end, other) = UnixStream::pair().unwrap();
        let fds = [other.as_fd(), ours.as_fd(), theirs.as_fd()];
        assert_eq!(send(ours.as_fd(), b"here", &fds).unwrap(), 4);
        let mut buffer = [0; 16];
        let received = receive(theirs.as_fd(), &mut buffer).unwrap();
        assert_eq!(&buffer[..received.bytes], b"here");
        assert_eq!(received.pid, Some(std::process::id() as i32));
        drop(other);
        let [first, _]: [OwnedFd; MOST_DESCRIPTORS] = received.fds.try_into().unwrap();
        UnixStream::from(first).write_all(b"x").unwrap();
        let mut byte = [0];
        end.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
    }

    #[test]
    fn a_closed_socket_gives_zero_bytes_or_an_error_but_no_signal() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(send(ours.as_fd(), b"x", &[]).is_err());
        assert_eq!(receive(ours.as_fd(), &mut [0; 4]).unwrap().bytes, 0);
    }
}
