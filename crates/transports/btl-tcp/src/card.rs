//! How a process can be reached: its port and addresses.

use core::fmt::Write;
use platform::interfaces::Interface;
use std::net::{IpAddr, SocketAddr};

/// Addresses in a card at most, so that it fits a launcher's key space.
const MOST: usize = 16;

/// What a process publishes for its peers in the launcher's key space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    pub(crate) port: u16,
    pub(crate) addresses: Box<[IpAddr]>,
}

impl Card {
    pub(crate) fn new(port: u16, mut addresses: Vec<IpAddr>) -> Card {
        addresses.truncate(MOST);
        Card { port, addresses: addresses.into() }
    }

    /// As text: `4711 10.0.0.1 fd00::1`.
    pub fn encode(&self) -> String {
        let mut text = self.port.to_string();
        for address in &self.addresses {
            // Writing to a string cannot fail.
            let _ = write!(text, " {address}");
        }
        text
    }

    /// What [`Card::encode`] wrote.
    pub fn parse(text: &str) -> Option<Card> {
        let mut words = text.split(' ');
        let port = words.next()?.parse().ok()?;
        let addresses: Option<Box<[IpAddr]>> = words.map(|word| word.parse().ok()).collect();
        let addresses = addresses.filter(|all| !all.is_empty() && all.len() <= MOST)?;
        Some(Card { port, addresses })
    }

    /// Where to call: its port, and all its addresses.
    pub fn parts(&self) -> (u16, &[IpAddr]) {
        (self.port, &self.addresses)
    }

    /// Where to call, in the order in which a process that has the addresses `own` tries it. An address that both have
    /// is that of a bridge within each host, unless both are on one host; so it comes last.
    pub(crate) fn places(&self, own: &[Interface]) -> Vec<SocketAddr> {
        let mut addresses = self.addresses.to_vec();
        addresses.sort_by_key(|address| own.iter().any(|one| one.address == *address));
        addresses.into_iter().map(|address| SocketAddr::new(address, self.port)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Card;
    use platform::interfaces::Interface;
    use std::net::IpAddr;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_card_is_read_as_it_was_written() {
        let card = Card::new(4711, vec![ip("10.0.0.1"), ip("fd00::1")]);
        assert_eq!(card.encode(), "4711 10.0.0.1 fd00::1");
        assert_eq!(Card::parse(&card.encode()), Some(card));
        for text in ["", "4711", "x 10.0.0.1", "70000 10.0.0.1", "1 10.0.0", "1  10.0.0.1"] {
            assert_eq!(Card::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_address_of_both_hosts_comes_last() {
        let card = Card::new(1, vec![ip("172.17.0.1"), ip("10.0.0.2")]);
        let own = [("eth0", "10.0.0.1"), ("docker0", "172.17.0.1")];
        let own = own.map(|(name, address)| Interface { name: name.into(), address: ip(address) });
        let places = card.places(&own);
        assert_eq!(
            places.iter().map(|place| place.ip()).collect::<Vec<_>>(),
            [ip("10.0.0.2"), ip("172.17.0.1")]
        );
    }
}
