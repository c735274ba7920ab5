//! What a NIC publishes about where peers reach it beyond its own host.

use gni::limits::PE_BITS;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::linux::fs::MetadataExt;

/// Addresses that fit into a locator.
const ADDRESSES: usize = 8;
const VERSION: u8 = 2;

/// Bytes before the addresses.
const HEAD: usize = 28;

const _: () = assert!(HEAD + ADDRESSES * 4 <= 64 && PE_BITS <= 32);

/// ```text
///   0        1        2..4      4..12      12..28     28 ...
///   version  count    port      host       secret     count IPv4 addresses
/// ```
/// It travels through the launcher's key space alone, which only the job reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Locator {
    /// Equal for processes that can meet by abstract socket names: one boot, one network namespace.
    pub(super) host: u64,
    pub(super) port: u16,
    /// What a caller over TCP must prove that it knows.
    pub(super) secret: u128,
    pub(super) addresses: Vec<Ipv4Addr>,
}

impl Locator {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let count = self.addresses.len().min(ADDRESSES);
        let mut bytes = vec![VERSION, count as u8];
        bytes.extend(self.port.to_be_bytes());
        bytes.extend(self.host.to_be_bytes());
        bytes.extend(self.secret.to_be_bytes());
        bytes.extend(self.addresses[..count].iter().flat_map(Ipv4Addr::octets));
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Locator> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let (addresses, []) = rest.as_chunks::<4>() else { return None };
        if head[0] != VERSION || usize::from(head[1]) != addresses.len() || addresses.len() > ADDRESSES {
            return None;
        }
        let host = u64::from_be_bytes(head[4..12].try_into().ok()?);
        let secret = u128::from_be_bytes(head[12..28].try_into().ok()?);
        let addresses = addresses.iter().map(|&octets| octets.into()).collect();
        Some(Locator { host, port: u16::from_be_bytes([head[2], head[3]]), secret, addresses })
    }

    /// The address to try: one in a network that this host is in too, else the first.
    pub(super) fn address(&self, own: &[Ipv4Addr]) -> Option<SocketAddr> {
        let near = |address: &&Ipv4Addr| own.iter().any(|ours| ours.octets()[..3] == address.octets()[..3]);
        let address = self.addresses.iter().find(near).or(self.addresses.first())?;
        Some(SocketAddrV4::new(*address, self.port).into())
    }
}

/// Names this boot and network namespace.
pub(super) fn host() -> u64 {
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::metadata("/proc/self/ns/net").map_or(0, |namespace| namespace.st_ino());
    // FNV-1a: any function that differs for different hosts will do.
    let bytes = boot.into_iter().chain(namespace.to_ne_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// IPv4 addresses of this host's interfaces that are up, the loopback only when there is no other.
pub(super) fn own_addresses() -> Vec<Ipv4Addr> {
    let found = platform::interfaces::addresses().unwrap_or_default();
    let others = found.iter().filter_map(|interface| match interface.address {
        IpAddr::V4(address) if !address.is_loopback() => Some(address),
        _ => None,
    });
    let others: Vec<Ipv4Addr> = others.collect();
    if others.is_empty() { vec![Ipv4Addr::LOCALHOST] } else { others }
}

#[cfg(test)]
mod tests {
    use super::{Locator, host, own_addresses};
    use std::net::Ipv4Addr;

    #[test]
    fn locators_survive_the_wire() {
        let locator =
            Locator { host: host(), port: 40_000, secret: 1 << 127 | 5, addresses: own_addresses() };
        assert_eq!(Locator::from_bytes(&locator.to_bytes()), Some(locator.clone()));
        assert!(locator.to_bytes().len() <= 64);
        assert_eq!(Locator::from_bytes(&locator.to_bytes()[1..]), None);
        assert_eq!(Locator::from_bytes(b""), None);
    }

    #[test]
    fn a_near_address_is_preferred() {
        let far = Ipv4Addr::new(10, 0, 0, 1);
        let near = Ipv4Addr::new(192, 168, 7, 2);
        let locator = Locator { host: 0, port: 1, secret: 0, addresses: vec![far, near] };
        assert_eq!(locator.address(&[Ipv4Addr::new(192, 168, 7, 9)]).unwrap().ip(), near);
        assert_eq!(locator.address(&[]).unwrap().ip(), far);
    }
}
