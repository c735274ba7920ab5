//! Which of a host's addresses are used, and which of two hosts' belong together.

use super::Interface;
use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr};

/// Those of `all` whose addresses a process offers: those of the parameters, else all, the loopback's only where there is
/// no other.
///
/// # Errors
/// The word of the parameters that is neither the name of an interface nor a network, or that nothing is left.
pub fn offered(all: &[Interface], include: &str, exclude: &str) -> Result<Vec<Interface>, String> {
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

/// The networks that this process has in common with a peer: for each, which of its own addresses and which of the peer's. Both
/// sides find the same networks in the same order if one of them `comes_first`, and the other one does not. Addresses belong
/// together that begin alike, those that are most alike first; each address is used once. An address that both have is that
/// of a bridge within each host, and counts only where there is nothing else. IPv6 is used where IPv4 leads nowhere, since
/// the same cables carry both.
pub fn common_networks(own: &[IpAddr], peers: &[IpAddr], comes_first: bool) -> Vec<(usize, usize)> {
    match comes_first {
        true => networks_of_two(own, peers),
        false => networks_of_two(peers, own).into_iter().map(|(theirs, ours)| (ours, theirs)).collect(),
    }
}

/// The same, of one process and another one, in the order of the first one's addresses.
fn networks_of_two(one: &[IpAddr], other: &[IpAddr]) -> Vec<(usize, usize)> {
    let pairs = |is_fit: fn(IpAddr, IpAddr) -> bool| {
        let all = one.iter().enumerate().flat_map(|(at, &a)| {
            other
                .iter()
                .enumerate()
                .filter(move |&(_, &b)| is_fit(a, b))
                .map(move |(there, &b)| (at, there, alike(a, b)))
        });
        let mut all: Vec<(usize, usize, u32)> = all.collect();
        all.sort_by_key(|&(at, there, bits)| (Reverse(bits), at, there));
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for (at, there, _) in all {
            if taken.iter().all(|&(a, b)| a != at && b != there) {
                taken.push((at, there));
            }
        }
        taken.sort_unstable();
        taken
    };
    let kinds: [fn(IpAddr, IpAddr) -> bool; 3] = [
        |a, b| a.is_ipv4() && b.is_ipv4() && a != b,
        |a, b| a.is_ipv6() && b.is_ipv6() && a != b,
        |a, b| a == b,
    ];
    kinds.into_iter().map(pairs).find(|pairs| !pairs.is_empty()).unwrap_or_default()
}

/// How many bits two addresses of one family have in common at the beginning.
fn alike(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{common_networks, networks_of_two, offered};
    use crate::interfaces::Interface;
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
    fn addresses_of_one_network_belong_together() {
        let ips = |all: &[&str]| all.iter().map(|text| ip(text)).collect::<Vec<_>>();
        let one = ips(&["10.1.0.1", "172.17.0.1", "10.2.0.1", "fd00::1"]);
        let other = ips(&["10.2.0.2", "10.1.0.2", "fd00::2", "172.17.0.1"]);
        let both = networks_of_two(&one, &other);
        assert_eq!(both[0], (0, 1));
        assert!(both.contains(&(2, 0)) && !both.contains(&(1, 3)));
        let of_other = common_networks(&other, &one, false);
        assert_eq!(common_networks(&one, &other, true), both);
        assert_eq!(of_other.into_iter().map(|(a, b)| (b, a)).collect::<Vec<_>>(), both);
        let mut back: Vec<_> = networks_of_two(&other, &one).into_iter().map(|(a, b)| (b, a)).collect();
        back.sort_unstable();
        assert_eq!(back, both);
        assert_eq!(networks_of_two(&ips(&["127.0.0.1"]), &ips(&["127.0.0.1"])), [(0, 0)]);
        assert_eq!(networks_of_two(&ips(&["fd00::1"]), &ips(&["10.0.0.1", "fd00::2"])), [(0, 1)]);
        assert_eq!(networks_of_two(&ips(&["10.0.0.2"]), &[]), []);
    }
}
