//! Hosts that do not answer the TCP connections of this process, whatever library has made these.

use std::fs;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::socket::{Name, address};
use crate::tcp::unanswered;

/// Each host to which something was sent again on a connection and not answered yet, and how long its last answer there was ago.
/// Its kernel answers, whether its process reads or not. A descriptor that another thread closes meanwhile, or opens anew, is
/// only asked.
pub fn silent_hosts() -> Vec<(IpAddr, Duration)> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // SAFETY: the descriptor is used for two questions, which a closed one refuses.
    let sockets =
        numbers.filter(|&number| number >= 0).map(|number| unsafe { BorrowedFd::borrow_raw(number) });
    sockets
        .filter_map(|socket| unanswered(socket).and_then(|silent| Some((other_host(socket)?, silent))))
        .collect()
}

/// The host at the other end of a connection.
fn other_host(socket: BorrowedFd<'_>) -> Option<IpAddr> {
    let mut name = [0; size_of::<Name>()];
    let mut len = name.len() as libc::socklen_t;
    // SAFETY: the place for the answer lives, and its length is the one given; the kernel needs no alignment of it.
    let asked = unsafe { libc::getpeername(socket.as_raw_fd(), name.as_mut_ptr().cast(), &raw mut len) };
    if asked == 0 { Some(host_and_port(&name)?.0) } else { None }
}

/// The host and the port of an address as sockets have it; `None`: it is of another kind.
pub fn host_and_port(name: &[u8]) -> Option<(IpAddr, u16)> {
    let address = address(name)?;
    Some((address.ip().to_canonical(), address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_host_that_answers_is_not_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.write_all(b"bytes that the other kernel takes").unwrap();
        assert_eq!(other_host(stream.as_fd()), Some(Ipv4Addr::LOCALHOST.into()));
        assert!(silent_hosts().iter().all(|(host, _)| !host.is_loopback()));
    }

    #[test]
    fn addresses_are_read_as_sockets_have_them() {
        let family = |family: i32| (family as u16).to_ne_bytes();
        let four = [&family(libc::AF_INET)[..], &[0x12, 0x34, 192, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(host_and_port(&four), Some((Ipv4Addr::new(192, 0, 2, 7).into(), 0x1234)));
        let mapped = Ipv4Addr::new(192, 0, 2, 7).to_ipv6_mapped().octets();
        let six = [&family(libc::AF_INET6)[..], &[0, 9, 0, 0, 0, 0], &mapped, &[0; 4]].concat();
        assert_eq!(host_and_port(&six), Some((Ipv4Addr::new(192, 0, 2, 7).into(), 9)));
        for wrong in [&four[..7], &six[..23], &[7, 0, 0, 9, 1, 2, 3, 4], &[]] {
            assert_eq!(host_and_port(wrong), None);
        }
    }
}
