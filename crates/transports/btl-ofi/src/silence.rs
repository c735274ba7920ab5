//! Hosts that answer no more, where the provider's messages go through the kernel's TCP.
//!
//! A provider over TCP reports a network that is cut in silence after a quarter of an hour. But the sockets are this process's, and the
//! kernel knows what the other host has not answered, whether the peer's process reads or not. So while a thread waits and
//! gets nothing, each silent host is suspected ([`btl::Suspects`]), and the launcher finds out. An adapter has no such sockets; it
//! tries as often as its own limit allows, and then its operation fails.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use btl::{Peer, Suspects, Suspicion};
use platform::tcp_hosts::{host_and_port, silent_hosts};

/// A host that has answered nothing for so long is suspected.
const MOMENT: Duration = Duration::from_secs(1);
/// What was seen before a process was away for so long proves nothing.
const AWAY: Duration = Duration::from_secs(2);

/// The watch over the hosts of the job.
pub(crate) struct Silence {
    suspects: Box<dyn Suspects>,
    /// By host: the first process there, and where it is called.
    hosts: BTreeMap<IpAddr, (Peer, SocketAddr)>,
    /// Since when a host was seen silent at each look.
    since: BTreeMap<IpAddr, Instant>,
    looked: Option<Instant>,
}

impl Silence {
    /// A watch that reports to `suspects`, over the hosts of other nodes than the process's own; `None`: the addresses are not those
    /// of sockets.
    pub(crate) fn new<'a>(
        suspects: Box<dyn Suspects>,
        others: impl Iterator<Item = (Peer, &'a [u8])>,
    ) -> Option<Silence> {
        let mut hosts = BTreeMap::new();
        for (peer, address) in others {
            let (host, port) = host_and_port(address)?;
            hosts.entry(host).or_insert((peer, SocketAddr::new(host, port)));
        }
        Some(Silence { suspects, hosts, since: BTreeMap::new(), looked: None })
            .filter(|it| !it.hosts.is_empty())
    }

    /// Looks at the connections of this process.
    pub(crate) fn look(&mut self) {
        self.judge(Instant::now(), &silent_hosts());
    }

    fn judge(&mut self, now: Instant, silent: &[(IpAddr, Duration)]) {
        let looked = self.looked.replace(now);
        if looked.is_none_or(|looked| now.duration_since(looked) > AWAY) {
            self.since.clear();
        }
        self.since.retain(|host, _| silent.iter().any(|(one, _)| one == host));
        for (host, last) in silent {
            let Some(&(peer, place)) = self.hosts.get(host) else { continue };
            // Where nothing was sent, no answer was due.
            let seen = now.duration_since(*self.since.entry(*host).or_insert(now));
            let silent = seen.min(*last);
            if silent >= MOMENT {
                let (patience, places, greeting) = (Duration::ZERO, vec![place], Vec::new());
                self.suspects.suspect(Suspicion { peer, silent, patience, places, greeting });
            }
        }
    }
}

impl fmt::Debug for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Silence")
            .field("hosts", &self.hosts)
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    #[derive(Debug)]
    struct Noted(Sender<Suspicion>);

    impl Suspects for Noted {
        fn suspect(&mut self, suspicion: Suspicion) {
            self.0.send(suspicion).unwrap();
        }
    }

    fn address(host: u8) -> Vec<u8> {
        [&2u16.to_ne_bytes()[..], &[0x12, 0x34, 192, 0, 2, host], &[0; 8]].concat()
    }

    #[test]
    fn a_host_is_suspected_that_stays_silent_for_a_moment() {
        let (noted, suspicions) = channel();
        let addresses = [address(1), address(1), address(2)];
        let others =
            addresses.iter().enumerate().map(|(peer, address)| (Peer(peer as u32 + 4), &address[..]));
        let mut silence = Silence::new(Box::new(Noted(noted)), others).unwrap();
        let begin = Instant::now();
        let [first, second, stranger]: [IpAddr; 3] = [1, 2, 9].map(|host| [192, 0, 2, host].into());
        let long = Duration::from_secs(100);
        let mut judge = |ms: u64, silent: &[(IpAddr, Duration)]| {
            silence.judge(begin + Duration::from_millis(ms), silent);
            let peers =
                suspicions.try_iter().map(|it| (it.peer.0, it.silent.as_millis(), it.places[0].port()));
            peers.collect::<Vec<_>>()
        };
        // An old answer is no silence where something was sent only now, nor is what was seen before an absence.
        assert_eq!(judge(0, &[(second, long), (stranger, long)]), []);
        assert_eq!(judge(900, &[(second, long), (stranger, long)]), []);
        assert_eq!(judge(9000, &[(second, long), (first, long)]), []);
        assert_eq!(judge(9900, &[(first, long)]), []);
        assert_eq!(judge(10_400, &[(first, long), (second, long)]), [(4, 1400, 0x1234)]);
        assert_eq!(judge(10_900, &[(first, Duration::from_millis(300))]), []);
    }

    #[test]
    fn adapters_have_no_watch() {
        let (noted, _suspicions) = channel();
        assert!(Silence::new(Box::new(Noted(noted)), [(Peer(1), &[77u8; 32][..])].into_iter()).is_none());
    }
}
