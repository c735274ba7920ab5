//! How a process can be reached: addresses with ports, and the longest packet that all of them take.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

/// Addresses in a card at most, so that it fits a launcher's key space.
pub(crate) const MOST: usize = 16;

/// What a process publishes for its peers in the launcher's key space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    pub(crate) mtu: usize,
    pub(crate) places: Box<[SocketAddr]>,
}

impl Card {
    /// As text: `1500 10.0.0.1:4711 [fd00::1]:4712`.
    pub fn encode(&self) -> String {
        let mut text = self.mtu.to_string();
        for place in &self.places {
            // Writing to a string cannot fail.
            let _ = write!(text, " {place}");
        }
        text
    }

    /// What [`Card::encode`] wrote.
    pub fn parse(text: &str) -> Option<Card> {
        let mut words = text.split(' ');
        let mtu = words.next()?.parse().ok().filter(|mtu| (576..=65535).contains(mtu))?;
        let places: Option<Box<[SocketAddr]>> = words.map(|word| word.parse().ok()).collect();
        let places = places.filter(|all| !all.is_empty() && all.len() <= MOST)?;
        Some(Card { mtu, places })
    }

    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.places.iter().map(SocketAddr::ip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Card;

    #[test]
    fn a_card_is_read_as_it_was_written() {
        let places = ["10.0.0.1:4711", "[fd00::1]:4712"].map(|text| text.parse().unwrap());
        let card = Card { mtu: 1500, places: places.into() };
        assert_eq!(card.encode(), "1500 10.0.0.1:4711 [fd00::1]:4712");
        assert_eq!(Card::parse(&card.encode()), Some(card));
        for text in [
            "",
            "1500",
            "x 10.0.0.1:1",
            "100 10.0.0.1:1",
            "1500 10.0.0.1",
            "1500  10.0.0.1:1",
            "70000 10.0.0.1:1",
        ] {
            assert_eq!(Card::parse(text), None, "{text}");
        }
    }
}
