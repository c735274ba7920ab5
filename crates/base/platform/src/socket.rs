//! Addresses and options of sockets, as the kernel has them.

use core::mem::size_of;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// An address in the kernel's form, a `sockaddr_in` or `sockaddr_in6`. The kernel needs no alignment of it.
pub(crate) type Name = [u8; LONGEST];

const LONGEST: usize = size_of::<libc::sockaddr_in6>();
const SHORTEST: usize = size_of::<libc::sockaddr_in>();

/// An address in the kernel's form, and the length of that.
pub(crate) fn name(address: SocketAddr) -> (Name, libc::socklen_t) {
    let mut name = [0; LONGEST];
    name[2..4].copy_from_slice(&address.port().to_be_bytes());
    let (family, length) = match address {
        SocketAddr::V4(address) => {
            name[4..8].copy_from_slice(&address.ip().octets());
            (libc::AF_INET, SHORTEST)
        }
        SocketAddr::V6(address) => {
            name[8..24].copy_from_slice(&address.ip().octets());
            name[24..].copy_from_slice(&address.scope_id().to_ne_bytes());
            (libc::AF_INET6, LONGEST)
        }
    };
    name[..2].copy_from_slice(&(family as libc::sa_family_t).to_ne_bytes());
    (name, length as _)
}

/// The address that has this form; `None`: it is of another family, or cut.
pub(crate) fn address(name: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(part(name, 2)?);
    match i32::from(libc::sa_family_t::from_ne_bytes(part(name, 0)?)) {
        libc::AF_INET => Some(SocketAddrV4::new(Ipv4Addr::from(part::<4>(name, 4)?), port).into()),
        libc::AF_INET6 => {
            let ip = Ipv6Addr::from(part::<16>(name, 8)?);
            let scope = u32::from_ne_bytes(part(name, 24)?);
            Some(SocketAddrV6::new(ip, port, 0, scope).into())
        }
        _ => None,
    }
}

fn part<const N: usize>(name: &[u8], at: usize) -> Option<[u8; N]> {
    name.get(at..)?.first_chunk().copied()
}

/// Sets an option that is a number.
pub(crate) fn set(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    let len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value lives, and its length is the one given.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), len) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::{address, name};
    use std::net::SocketAddr;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        for text in ["192.0.2.7:4660", "[fd00::7]:9", "[fe80::1%3]:1"] {
            let one: SocketAddr = text.parse().unwrap();
            let (bytes, length) = name(one);
            assert_eq!(address(&bytes[..length as usize]), Some(one));
            assert_eq!(address(&bytes[..length as usize / 4]), None);
        }
        assert_eq!(address(&[0; 28]), None);
    }
}
