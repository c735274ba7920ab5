//! How a process can be reached: its port and addresses, and which of a host's addresses are used.

use core::fmt::Write;
use platform::interfaces::Interface;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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

/// Those of `all` whose addresses a process offers: those of the parameters, else all, the loopback's only where there is
/// no other.
///
/// # Errors
/// The word of the parameters that is neither the name of an interface nor a network, or that nothing is left.
pub(crate) fn offered(all: &[Interface], include: &str, exclude: &str) -> Result<Vec<Interface>, String> {
    let words = |text: &str| -> Result<Vec<Network>, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(|word| Network::parse(word, all)).collect()
    };
    let (include, exclude) = (words(include)?, words(exclude)?);
    let wanted = |one: &&Interface| match include.is_empty() {
        true => !exclude.iter().any(|network| network.has(one)),
        false => include.iter().any(|network| network.has(one)),
    };
    let mut chosen: Vec<Interface> = all.iter().filter(wanted).cloned().collect();
    if include.is_empty() && chosen.iter().any(|one| !one.address.is_loopback()) {
        chosen.retain(|one| !one.address.is_loopback());
    }
    if chosen.is_empty() {
        let names: Vec<String> = all.iter().map(|one| format!("{} ({})", one.name, one.address)).collect();
        return Err(format!("no address is left of {}", names.join(", ")));
    }
    Ok(chosen)
}

/// A word of `if_include` or `if_exclude`.
enum Network {
    Name(String),
    Prefix(IpAddr, u32),
}

impl Network {
    fn parse(word: &str, all: &[Interface]) -> Result<Network, String> {
        if all.iter().any(|one| one.name == word) {
            return Ok(Network::Name(word.into()));
        }
        let (address, bits) =
            word.split_once('/').map_or((word, None), |(address, bits)| (address, Some(bits)));
        let network = address.parse::<IpAddr>().ok().and_then(|address| {
            let whole = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Some(whole), |bits| bits.parse().ok()).filter(|&bits| bits <= whole)?;
            Some(Network::Prefix(address, bits))
        });
        // An interface that other hosts have is no mistake.
        Ok(network.unwrap_or_else(|| Network::Name(word.into()))).and_then(|network| match network {
            Network::Name(name) if name.contains(['/', ':']) || name.parse::<Ipv4Addr>().is_ok() => {
                Err(format!("\"{name}\" is neither an interface nor a network"))
            }
            network => Ok(network),
        })
    }

    fn has(&self, one: &Interface) -> bool {
        match (self, one.address) {
            (Network::Name(name), _) => *name == one.name,
            (Network::Prefix(IpAddr::V4(network), bits), IpAddr::V4(address)) => {
                (network.to_bits() ^ address.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (Network::Prefix(IpAddr::V6(network), bits), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Card, offered};
    use platform::interfaces::Interface;
    use std::net::IpAddr;

    fn host() -> Vec<Interface> {
        let one = |(name, address): (&str, &str)| Interface { name: name.into(), address: ip(address) };
        [
            ("lo", "127.0.0.1"),
            ("eth0", "10.1.2.3"),
            ("docker0", "172.17.0.1"),
            ("eth0", "fd00::3"),
            ("lo", "::1"),
        ]
        .map(one)
        .into()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn chosen(include: &str, exclude: &str) -> String {
        match offered(&host(), include, exclude) {
            Ok(all) => all.iter().map(|one| one.address.to_string()).collect::<Vec<_>>().join(" "),
            Err(error) => error,
        }
    }

    #[test]
    fn networks_are_chosen_by_name_and_by_prefix() {
        assert_eq!(chosen("", ""), "10.1.2.3 172.17.0.1 fd00::3");
        assert_eq!(chosen("", "docker0"), "10.1.2.3 fd00::3");
        assert_eq!(chosen("", "172.16.0.0/12, fd00::/8"), "10.1.2.3");
        assert_eq!(chosen("eth0", "eth0"), "10.1.2.3 fd00::3");
        assert_eq!(chosen("lo", ""), "127.0.0.1 ::1");
        assert_eq!(chosen("10.1.2.3,::1/128", ""), "10.1.2.3 ::1");
        assert_eq!(chosen("", "eth0,docker0"), "127.0.0.1 ::1");
        assert_eq!(chosen("", "0.0.0.0/0,::/0").split(' ').next(), Some("no"));
        assert_eq!(chosen("ib0", "").split(' ').next(), Some("no"));
        assert!(chosen("10.0.0.0/33", "").contains("neither"));
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
