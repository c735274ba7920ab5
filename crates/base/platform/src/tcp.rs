//! TCP sockets that never block, and what goes between them and memory that Rust has no reference to.

use core::mem::zeroed;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::ports::first_free;
use crate::socket::{name, set};

/// Begins a connection to `address` without waiting for it: the stream becomes writable once it stands, or
/// `take_error` returns why it does not. Its small messages are sent at once (TCP_NODELAY).
///
/// # Errors
/// The system's, for instance that no route leads there.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers alone and touches no memory of ours.
    let fd = unsafe { libc::socket(family, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor.
    let stream = unsafe { TcpStream::from_raw_fd(fd) };
    stream.set_nodelay(true)?;
    let (to, length) = name(address);
    // SAFETY: the address lives, and its length is the one given.
    let begun = unsafe { libc::connect(fd, to.as_ptr().cast(), length) };
    let error = io::Error::last_os_error();
    if begun != 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
        return Err(error);
    }
    Ok(stream)
}

/// Listens on a free port of `ports` (0: any), of all addresses, of both families where the host has both, without
/// blocking. A port is free where no process has it at any address: a listener that had it at some of them alone would leave
/// the others to whatever process takes them, of whatever user.
///
/// # Errors
/// The system's, for the last of the ports; `AddrInUse` names the port.
pub fn listen(ports: impl IntoIterator<Item = u16>) -> io::Result<TcpListener> {
    first_free(ports, listen_at)
}

/// Listens on this port. Two sockets may be bound to one port as long as neither listens: the second one to listen is refused.
fn listen_at(port: u16) -> io::Result<TcpListener> {
    let socket = bind(port)?;
    // All peers may call at once, before the owner accepts one; the system cuts this to its own limit.
    // SAFETY: no pointers.
    let listens = unsafe { libc::listen(socket.as_raw_fd(), i32::MAX) };
    succeeded(listens).map_err(|error| in_use(port, error))?;
    Ok(TcpListener::from(socket))
}

/// Names the port that another process has.
fn in_use(port: u16, error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => io::Error::new(
            error.kind(),
            format!("another process has port {port}, at one address of this host at least"),
        ),
        _ => error,
    }
}

/// A socket with a port of all addresses.
fn bind(port: u16) -> io::Result<OwnedFd> {
    bind_in(libc::AF_INET6, port).or_else(|error| match error.raw_os_error() {
        // The host has no IPv6, or no address of it.
        Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => bind_in(libc::AF_INET, port),
        _ => Err(in_use(port, error)),
    })
}

fn bind_in(family: i32, port: u16) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers alone and touches no memory of ours.
    let fd = unsafe { libc::socket(family, kind, 0) };
    succeeded(fd)?;
    // SAFETY: the kernel has just given us this descriptor.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // A port whose last connections are closed is free; one at which a socket listens is not, by this either.
    set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    let all: IpAddr = if family == libc::AF_INET6 {
        // Whatever the system's default is (net.ipv6.bindv6only).
        set(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 0)?;
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    let (all, length) = name((all, port).into());
    // SAFETY: the address lives, and its length is the one given.
    let bound = unsafe { libc::bind(fd, all.as_ptr().cast(), length) };
    succeeded(bound)?;
    Ok(socket)
}

fn succeeded(returned: i32) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has the kernel probe `socket`'s idle connection, which breaks with `TimedOut` when the other host has answered
/// nothing for `silence`. Probes are answered by the other kernel, whether its process reads or not.
///
/// # Errors
/// The system's error.
pub fn keep_alive(socket: BorrowedFd<'_>, silence: Duration) -> io::Result<()> {
    // Half of the time without probes, then six of them, since single packets get lost.
    let seconds = |part: u32| (silence.as_secs_f64() / f64::from(part)).ceil().clamp(1.0, 32767.0) as i32;
    set(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds(2))?;
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, seconds(12))?;
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 6)
}

/// Breaks `socket`'s connection with `TimedOut` when what was sent, a connection request too, is not taken for
/// `silence`; zero: only after the system's own time. A process that does not read takes nothing once its window is
/// full.
///
/// # Errors
/// The system's error.
pub fn give_up_after(socket: BorrowedFd<'_>, silence: Duration) -> io::Result<()> {
    let milliseconds = i32::try_from(silence.as_millis()).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, milliseconds)
}

/// What the other host has answered of what was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answered {
    /// The other host has all of it.
    All,
    /// Some is on its way or waits for the other process to read, and the other host answers as far as is known.
    Some,
    /// The other host has not answered what was sent again; its last answer is so long ago.
    Not(Duration),
}

/// Whether the other host answers. Its kernel does, whether its process reads or not.
pub fn answered(socket: BorrowedFd<'_>) -> Answered {
    let mut left: i32 = 0;
    // SAFETY: the place for the answer lives.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut left) };
    if asked == 0 && left == 0 {
        return Answered::All;
    }
    unanswered(socket).map_or(Answered::Some, Answered::Not)
}

/// How long ago the other host's last answer was, where something that was sent again or a probe ([`keep_alive`]) has
/// none yet.
pub fn unanswered(socket: BorrowedFd<'_>) -> Option<Duration> {
    // The front of `struct tcp_info`, which only grows at its end.
    let mut info = [0u32; 26];
    let mut len = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the place for the answer lives, and its length is the one given.
    let asked = unsafe {
        let to = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut len)
    };
    if asked != 0 {
        return None;
    }
    // Bytes 2 and 3: retransmissions, and probes of a window that is closed, without answer.
    let [_, _, again, probes] = info[0].to_ne_bytes();
    // Word 14: milliseconds since the last acknowledgement.
    (again > 0 || probes > 0).then(|| Duration::from_millis(info[14].into()))
}

/// A run of memory that is to be sent.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Piece(libc::iovec);

impl Piece {
    /// `len` bytes at `address`.
    pub const fn new(address: usize, len: usize) -> Piece {
        Piece(libc::iovec { iov_base: address as *mut _, iov_len: len })
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.0.iov_base as usize
    }

    /// Its bytes.
    #[expect(clippy::len_without_is_empty, reason = "it is a place, no collection")]
    pub const fn len(&self) -> usize {
        self.0.iov_len
    }
}

impl Default for Piece {
    fn default() -> Piece {
        Piece::new(0, 0)
    }
}

/// Sends what there is room for of `pieces`, in order, without blocking or a signal; the bytes that were taken.
///
/// # Safety
/// The pieces are readable during the call. Others may write to them meanwhile.
///
/// # Errors
/// The system's; `WouldBlock`: there is no room.
pub unsafe fn send_pieces(socket: BorrowedFd<'_>, pieces: &[Piece]) -> io::Result<usize> {
    // SAFETY: plain data, for which zeros mean nothing.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = pieces.as_ptr() as *mut libc::iovec;
    message.msg_iovlen = pieces.len() as _;
    // SAFETY: the pieces are an array of iovecs of that length, which the call only reads; the rest by the caller's promise.
    let sent =
        unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives what is there into `len` bytes at `address`, without blocking; 0: the other side has closed.
///
/// # Safety
/// The bytes are writable during the call. Others may use them meanwhile.
///
/// # Errors
/// The system's; `WouldBlock`: nothing is there.
pub unsafe fn receive_into(socket: BorrowedFd<'_>, address: usize, len: usize) -> io::Result<usize> {
    // SAFETY: the caller's promise.
    let received = unsafe { libc::recv(socket.as_raw_fd(), address as *mut _, len, libc::MSG_DONTWAIT) };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::{Piece, connect, listen, receive_into, send_pieces};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::os::fd::{AsFd, AsRawFd};

    #[test]
    fn a_port_that_another_socket_has_at_one_address_is_not_free() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            // A host without IPv6 has one kind alone.
            let Ok(other) = std::net::TcpListener::bind(place) else { continue };
            let port = other.local_addr().unwrap().port();
            let error = listen([port]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
            assert!(error.to_string().contains(&format!("another process has port {port}")), "{error}");
        }
        let ours = listen([0]).unwrap();
        let port = ours.local_addr().unwrap().port();
        for address in ["127.0.0.1", "::1"] {
            // Nor can another socket take it from us there.
            assert!(std::net::TcpListener::bind((address, port)).is_err());
            assert!(address == "::1" || std::net::TcpStream::connect((address, port)).is_ok());
        }
    }

    #[test]
    fn sockets_that_look_for_a_port_at_once_get_one_each() {
        // Above the ports that the system gives.
        let (threads, rounds) = (8, 50);
        let start = std::sync::Barrier::new(threads);
        for round in 0..rounds {
            let first = 61_000 + 64 * round;
            let look = || {
                start.wait();
                listen(first..first + 64)
            };
            std::thread::scope(|scope| {
                let looking: Vec<_> = (0..threads).map(|_| scope.spawn(look)).collect();
                let got: Vec<_> = looking.into_iter().map(|thread| thread.join().unwrap()).collect();
                assert!(got.iter().all(Result::is_ok), "{got:?}");
            });
        }
    }

    #[test]
    fn what_connects_is_accepted() {
        let listener = listen([0]).unwrap();
        let port = listener.local_addr().unwrap().port();
        // One that is taken is passed over; another test may take the next ones.
        assert!(listen([port]).is_err());
        assert_ne!(listen([port, 0]).unwrap().local_addr().unwrap().port(), port);
        assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        let stream = connect(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)).unwrap();
        assert!(stream.nodelay().unwrap());
        listener.set_nonblocking(false).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!(accepted.peer_addr().unwrap().port(), stream.local_addr().unwrap().port());
        let (one, two, mut got) = ([1u8, 2], [3u8], [0u8; 8]);
        let pieces = [Piece::new(one.as_ptr() as usize, 2), Piece::new(two.as_ptr() as usize, 1)];
        // SAFETY: both arrays live.
        assert_eq!(unsafe { send_pieces(stream.as_fd(), &pieces) }.unwrap(), 3);
        crate::descriptor::wait_readable(accepted.as_raw_fd(), None);
        // SAFETY: the array lives and has eight bytes.
        let received = unsafe { receive_into(accepted.as_fd(), got.as_mut_ptr() as usize, 8) };
        assert_eq!((received.unwrap(), got), (3, [1, 2, 3, 0, 0, 0, 0, 0]));
    }
}
