//! The network interfaces of this host.

mod chosen;

pub use chosen::{common_networks, offered};

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// An address of an interface that is up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The interface's name: `eth0`.
    pub name: String,
    /// Its address; addresses of one link alone (IPv6 `fe80::`) are left out.
    pub address: IpAddr,
}

/// The addresses of all interfaces that are up, in the system's order.
///
/// # Errors
/// The system's error.
pub fn addresses() -> io::Result<Vec<Interface>> {
    let mut list = core::ptr::null_mut();
    // SAFETY: the place for the list is valid.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut at = list;
    while !at.is_null() {
        // SAFETY: `at` walks the list that getifaddrs made, until its null end.
        let interface = unsafe { &*at };
        at = interface.ifa_next;
        if interface.ifa_flags & libc::IFF_UP as u32 == 0 {
            continue;
        }
        // SAFETY: an entry of the list, whose address is null or valid.
        let Some(address) = (unsafe { address_of(interface.ifa_addr) }) else { continue };
        // SAFETY: the name is a string that ends with zero, as long as the list lives.
        let name = unsafe { CStr::from_ptr(interface.ifa_name) }.to_string_lossy().into_owned();
        found.push(Interface { name, address });
    }
    // SAFETY: exactly what getifaddrs returned, and no longer used.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// The address that this host puts on what it sends to `place`: it identifies the interface. Nothing is sent.
///
/// # Errors
/// The system's, for instance that no route leads there.
pub fn source_towards(place: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr =
        if place.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(place)?;
    Ok(socket.local_addr()?.ip())
}

/// The speed that an interface reports, in Mbit/s, where it does.
pub fn speed(name: &str) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?;
    text.trim().parse().ok().filter(|&speed| speed > 0)
}

/// The longest packet that an interface takes whole, in bytes, where it reports that.
pub fn mtu(name: &str) -> Option<usize> {
    std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?.trim().parse().ok()
}

/// # Safety
/// `address` is null or points to an address that begins with its family and has that family's length.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: an address of this family is a `sockaddr_in`.
            let inet = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(inet.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family is a `sockaddr_in6`.
            let inet = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            let address = Ipv6Addr::from(inet.sin6_addr.s6_addr);
            (!address.is_unicast_link_local()).then_some(address.into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_host_has_a_loopback() {
        let all = super::addresses().unwrap();
        assert!(all.iter().any(|interface| interface.name == "lo" && interface.address.is_loopback()));
    }
}
