//! Where the two ends of a connection are, as one side sees it.

use std::net::{IpAddr, SocketAddr, TcpStream};

/// Bytes of one end: an address of IPv6, or one of IPv4 mapped to that, and a port.
const END: usize = 18;

/// The caller's end and the owner's, as one side sees them. Both sides see the same, unless a relay or a translation of
/// addresses is between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends([u8; 2 * END]);

impl Ends {
    /// Of a connection without addresses, within a host.
    pub const UNKNOWN: Ends = Ends([0; 2 * END]);

    /// The ends of a connection.
    pub fn new(caller: SocketAddr, owner: SocketAddr) -> Ends {
        let mut bytes = [0; 2 * END];
        for (space, end) in bytes.chunks_exact_mut(END).zip([caller, owner]) {
            // A socket of both families shows addresses of IPv4 as mapped ones.
            let address = match end.ip().to_canonical() {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            space[..16].copy_from_slice(&address.octets());
            space[16..].copy_from_slice(&end.port().to_le_bytes());
        }
        Ends(bytes)
    }

    /// As the caller sees them.
    pub fn of_caller(stream: &TcpStream) -> Ends {
        Ends::seen(stream).map_or(Ends::UNKNOWN, |(own, other)| Ends::new(own, other))
    }

    /// As the owner of the port sees them.
    pub fn of_owner(stream: &TcpStream) -> Ends {
        Ends::seen(stream).map_or(Ends::UNKNOWN, |(own, other)| Ends::new(other, own))
    }

    fn seen(stream: &TcpStream) -> Option<(SocketAddr, SocketAddr)> {
        stream.local_addr().ok().zip(stream.peer_addr().ok())
    }

    pub(crate) fn bytes(&self) -> &[u8; 2 * END] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Ends;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_sides_see_the_same() {
        for place in ["127.0.0.1:0", "[::]:0"] {
            // A host without IPv6 has one kind alone.
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let port = listener.local_addr().unwrap().port();
            let caller = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            assert_eq!(Ends::of_caller(&caller), Ends::of_owner(&accepted));
            let other = TcpStream::connect(("127.0.0.1", port)).unwrap();
            assert_ne!(Ends::of_caller(&other), Ends::of_owner(&accepted));
            assert_ne!(Ends::of_caller(&caller), Ends::UNKNOWN);
        }
    }
}
