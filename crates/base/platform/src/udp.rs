//! Datagrams, many with one system call.

use core::mem::{size_of, zeroed};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::ports::first_free;
use crate::socket::{Name, address, name, set};

/// Datagrams that one call takes at most.
pub const BATCH: usize = 32;

/// A socket at an address of this host and a free port of `ports` (0: any), which never blocks. The kernel cuts what is longer than
/// the network takes, so that no length vanishes; its buffers are of `buffer` bytes each, as far as the system allows.
///
/// # Errors
/// The system's, for the last of the ports.
pub fn bind(address: IpAddr, ports: impl IntoIterator<Item = u16>, buffer: usize) -> io::Result<UdpSocket> {
    let socket = first_free(ports, |port| UdpSocket::bind((address, port)))?;
    socket.set_nonblocking(true)?;
    let bytes = i32::try_from(buffer).unwrap_or(i32::MAX);
    let fd = socket.as_fd();
    // Less than was asked for is no error.
    let _ = set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes);
    let _ = set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes);
    match address {
        IpAddr::V4(_) => set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT)?,
        IpAddr::V6(_) => set(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DONT)?,
    }
    Ok(socket)
}

/// Sends the first of `datagrams`, up to [`BATCH`], each to its place; how many the kernel has taken.
///
/// # Errors
/// The system's, about the first of them; `WouldBlock` where there is no room.
pub fn send_many<'a>(
    socket: BorrowedFd<'_>,
    datagrams: impl Iterator<Item = (&'a [u8], SocketAddr)>,
) -> io::Result<usize> {
    let mut places = [Name::default(); BATCH];
    // SAFETY: structures of C without references, for which all zeros are a value.
    let mut pieces: [libc::iovec; BATCH] = unsafe { zeroed() };
    // SAFETY: as above.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
    let mut count = 0;
    for (bytes, to) in datagrams.take(BATCH) {
        let length;
        (places[count], length) = name(to);
        pieces[count] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let header = &mut messages[count].msg_hdr;
        header.msg_name = (&raw mut places[count]).cast();
        header.msg_namelen = length;
        header.msg_iov = &raw mut pieces[count];
        header.msg_iovlen = 1;
        count += 1;
    }
    // SAFETY: the first `count` messages name places and pieces on this stack frame, and bytes that are borrowed for the call; the
    // kernel only reads them.
    let sent = unsafe {
        libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count as _, libc::MSG_NOSIGNAL as _)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Memory for what one call receives.
#[derive(Debug)]
pub struct Received {
    memory: Box<[u8]>,
    each: usize,
    /// Length and sender of each.
    got: Vec<(usize, SocketAddr)>,
}

impl Received {
    /// Memory for [`BATCH`] datagrams of `each` bytes. What is longer arrives as one of length 0.
    pub fn new(each: usize) -> Received {
        Received { memory: vec![0; each * BATCH].into(), each, got: Vec::with_capacity(BATCH) }
    }

    /// How many datagrams there are.
    pub fn len(&self) -> usize {
        self.got.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.got.is_empty()
    }

    /// One of them, and who sent it, as it claims.
    pub fn datagram(&mut self, at: usize) -> (&mut [u8], SocketAddr) {
        let (length, from) = self.got[at];
        (&mut self.memory[at * self.each..at * self.each + length], from)
    }

    /// Replaces what is there by what has come.
    ///
    /// # Errors
    /// The system's; nothing is there then. Nothing that has come is no error.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.got.clear();
        let mut places = [Name::default(); BATCH];
        // SAFETY: structures of C without references, for which all zeros are a value.
        let mut pieces: [libc::iovec; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        for (at, space) in self.memory.chunks_exact_mut(self.each).enumerate() {
            pieces[at] = libc::iovec { iov_base: space.as_mut_ptr().cast(), iov_len: space.len() };
            let header = &mut messages[at].msg_hdr;
            header.msg_name = (&raw mut places[at]).cast();
            header.msg_namelen = size_of::<Name>() as _;
            header.msg_iov = &raw mut pieces[at];
            header.msg_iovlen = 1;
        }
        // SAFETY: every message names a place on this stack frame and space of `memory`, which is borrowed for the call.
        let got = unsafe {
            let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT as _);
            libc::recvmmsg(fd, messages.as_mut_ptr(), BATCH as _, flags, core::ptr::null_mut())
        };
        if got < 0 {
            let error = io::Error::last_os_error();
            let passes = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if passes { Ok(()) } else { Err(error) };
        }
        for (message, place) in messages.iter().zip(&places).take(got as usize) {
            let is_cut = message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            let length = if is_cut { 0 } else { (message.msg_len as usize).min(self.each) };
            self.got.push((length, address(place).unwrap_or(NOWHERE)));
        }
        Ok(())
    }
}

/// In place of an address that is neither IPv4 nor IPv6.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

#[cfg(test)]
mod tests {
    use super::{BATCH, Received, bind, send_many};
    use std::net::IpAddr;
    use std::os::fd::AsFd;

    #[test]
    fn many_datagrams_go_and_come_at_once() {
        for address in ["127.0.0.1", "::1"] {
            let address: IpAddr = address.parse().unwrap();
            let Ok(one) = bind(address, [0], 1 << 20) else { continue };
            let other = bind(address, [0], 1 << 20).unwrap();
            let to = other.local_addr().unwrap();
            let bodies: Vec<Vec<u8>> = (0..2 * BATCH).map(|at| vec![at as u8; at * 10]).collect();
            let mut sent = 0;
            while sent < bodies.len() {
                let rest = bodies[sent..].iter().map(|body| (body.as_slice(), to));
                sent += send_many(one.as_fd(), rest).unwrap();
            }
            let mut received = Received::new(400);
            let mut seen = 0;
            while seen < bodies.len() {
                received.receive(other.as_fd()).unwrap();
                for at in 0..received.len() {
                    let (bytes, from) = received.datagram(at);
                    assert_eq!(from, one.local_addr().unwrap());
                    // What does not fit is empty.
                    assert_eq!(bytes.len(), if seen * 10 > 400 { 0 } else { seen * 10 });
                    assert!(bytes.iter().all(|&byte| byte == seen as u8));
                    seen += 1;
                }
            }
            received.receive(other.as_fd()).unwrap();
            assert!(received.is_empty());
        }
    }
}
