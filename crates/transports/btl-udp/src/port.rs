//! A socket of a process.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};

use platform::epoll::Epoll;
use platform::interfaces::{Interface, addresses};
use platform::udp::bind;

use crate::outgoing::Outgoing;

/// A socket at one address of this host.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) socket: UdpSocket,
    pub(crate) interface: Interface,
    pub(crate) outgoing: Outgoing,
    /// Of which its number is one.
    ports: RangeInclusive<u16>,
    /// Bytes that the kernel buffers, each way.
    buffer: usize,
}

impl Port {
    pub(crate) fn open(interface: Interface, ports: RangeInclusive<u16>, buffer: usize) -> io::Result<Port> {
        let socket = bind(interface.address, ports.clone(), buffer)?;
        Ok(Port { socket, interface, outgoing: Outgoing::default(), ports, buffer })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The address of this socket is gone: opens one at the address that its interface has now, if it has another. Whether it did.
    pub(crate) fn open_anew(&mut self, set: &Epoll, token: u64) -> bool {
        let is_new = |one: &Interface| {
            one.name == self.interface.name
                && one.address.is_ipv4() == self.interface.address.is_ipv4()
                && one.address != self.interface.address
        };
        let now = addresses().unwrap_or_default();
        if now.contains(&self.interface) {
            return false;
        }
        let Some(interface) = now.into_iter().find(is_new) else { return false };
        let Ok(port) = Port::open(interface, self.ports.clone(), self.buffer) else { return false };
        if set.add(port.fd(), token, false).is_err() {
            return false;
        }
        set.remove(self.fd());
        *self = port;
        true
    }
}

/// Bytes of a packet before what UDP carries.
pub(crate) fn packet_overhead(place: SocketAddr) -> usize {
    match place.ip() {
        IpAddr::V4(_) => 28,
        IpAddr::V6(_) => 48,
    }
}

#[cfg(test)]
mod tests {
    use super::Port;
    use platform::epoll::Epoll;
    use platform::interfaces::Interface;

    #[test]
    fn a_socket_at_a_new_address_has_one_of_the_ports() {
        let lo = |address: [u8; 4]| Interface { name: "lo".into(), address: address.into() };
        // The loopback has all of these, and lists the first.
        let any = Port::open(lo([127, 0, 0, 1]), 0..=0, 4096).unwrap();
        let free = any.socket.local_addr().unwrap().port();
        let mut port = Port::open(lo([127, 0, 0, 9]), free..=free, 4096).unwrap();
        let set = Epoll::new().unwrap();
        set.add(port.fd(), 0, false).unwrap();
        assert!(!port.open_anew(&set, 0), "another socket has the only port");
        drop(any);
        assert!(port.open_anew(&set, 0));
        assert_eq!(port.socket.local_addr().unwrap(), ([127, 0, 0, 1], free).into());
        assert!(!port.open_anew(&set, 0), "the address is there");
    }
}
