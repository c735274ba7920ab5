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
}

impl Port {
    pub(crate) fn open(interface: Interface, ports: &RangeInclusive<u16>, buffer: usize) -> io::Result<Port> {
        let socket = bind(interface.address, ports.clone(), buffer)?;
        Ok(Port { socket, interface, outgoing: Outgoing::default() })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The address of this socket is gone: opens one at the address that its interface has now, if it has another. Whether it did.
    pub(crate) fn open_anew(&mut self, set: &Epoll, token: u64, buffer: usize) -> bool {
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
        let Ok(port) = Port::open(interface, &(0..=0), buffer) else { return false };
        set.remove(self.fd());
        if set.add(port.fd(), token, false).is_err() {
            return false;
        }
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
