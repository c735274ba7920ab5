//! Hosts that do not answer the ranks of this one: whether the network between the two takes nothing.
//!
//! ```text
//!   a rank ── suspicion, repeated while it lasts ──► its proxy calls that host, again and again
//!                                                     ├─ an answer, or a refusal: the host is there, and the rank waits on
//!                                                     └─ none for as long as hosts may be silent: reported to mpiexec
//!   mpiexec ── asks both hosts what has happened there; if both answer, the network between them is at fault
//! ```
//!
//! So two things must agree: what a rank has sent is not acknowledged, and a new call gets no answer. A connection
//! alone shows less: after an outage the kernel waits long before it tries again. The proxy calls a port at which
//! nothing listens: the other kernel refuses at once, and no process of the job takes the proxy for a stranger.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use pmi::lost::Suspicion;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Nothing has listened at the port `discard` for decades. If something does, that is an answer, too.
const PORT: u16 = 9;
/// Time between two looks, each of which calls anew.
pub(super) const LOOK: Duration = Duration::from_millis(400);
/// A host is called for so long at least.
const TRIED: Duration = Duration::from_secs(2);
/// A rank that has not repeated its suspicion for so long has none.
const STALE: Duration = Duration::from_secs(2);
/// Calls under way to one host at most.
const MOST: usize = 64;

/// A host that a rank of this one does not reach.
pub(super) struct Suspect {
    host: u32,
    /// The rank of this host that suspects, and the rank that it suspects.
    pub by: usize,
    pub rank: u32,
    /// When something came from the other host last.
    pub silent_since: Instant,
    /// When it was called first.
    called: Instant,
    /// When the rank has reported its suspicion last.
    said: Instant,
    patience: Duration,
    pub places: Vec<IpAddr>,
    calls: Vec<TcpStream>,
}

/// The hosts that are suspected.
#[derive(Default)]
pub(super) struct Suspects(Vec<Suspect>);

impl Suspects {
    /// Rank `by` of this host suspects `host`. Addresses that this host has, too, lead nowhere.
    pub fn add(&mut self, by: usize, host: u32, suspicion: Suspicion, now: Instant) {
        if let Some(known) = self.0.iter_mut().find(|suspect| suspect.host == host) {
            known.said = now;
            return;
        }
        let Suspicion { rank, silent, patience, mut places } = suspicion;
        let own = platform::interfaces::addresses().unwrap_or_default();
        places.retain(|place| !place.is_loopback() && own.iter().all(|one| one.address != *place));
        if !places.is_empty() {
            let silent_since = now.checked_sub(silent).unwrap_or(now);
            let calls = Vec::new();
            let suspect =
                Suspect { host, by, rank, silent_since, called: now, said: now, patience, places, calls };
            self.0.push(suspect);
        }
    }

    /// Whether no host is suspected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls the hosts anew. Returns one that has not answered for `limit`.
    pub fn look(&mut self, limit: Duration, now: Instant) -> Option<Suspect> {
        self.0.retain_mut(|suspect| now.duration_since(suspect.said) < STALE && !suspect.answers());
        let is_over = |suspect: &Suspect| {
            let silent = now.duration_since(suspect.silent_since);
            silent >= limit.max(suspect.patience) && now.duration_since(suspect.called) >= TRIED.min(limit)
        };
        self.0.iter().position(is_over).map(|found| self.0.remove(found))
    }
}

impl Suspect {
    /// Whether a call was answered; calls anew if not.
    fn answers(&mut self) -> bool {
        let mut is_heard = false;
        self.calls.retain(|call| match outcome(call) {
            Outcome::None => true,
            Outcome::Unreached => false,
            Outcome::Answered => {
                is_heard = true;
                false
            }
        });
        if is_heard {
            return true;
        }
        for &place in &self.places {
            if self.calls.len() < MOST {
                // Without a descriptor or a route there is no call.
                self.calls.extend(platform::tcp::connect(SocketAddr::new(place, PORT)));
            }
        }
        false
    }
}

/// What has come of a call.
enum Outcome {
    /// Nothing yet.
    None,
    /// The network reports that it does not lead there.
    Unreached,
    /// The other host has taken or refused it.
    Answered,
}

fn outcome(call: &TcpStream) -> Outcome {
    let mut fds = [PollFd::new(call, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if !matches!(poll(&mut fds, Some(&at_once)), Ok(ready) if ready > 0) {
        return Outcome::None;
    }
    match call.take_error() {
        Ok(None) => Outcome::Answered,
        Ok(Some(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => Outcome::Answered,
        _ => Outcome::Unreached,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(4);

    /// Of a second of silence until now.
    fn suspicion(patience: Duration, place: &str) -> Suspicion {
        Suspicion { rank: 3, silent: Duration::from_secs(1), patience, places: vec![place.parse().unwrap()] }
    }

    /// Rank 0 has suspected host 1, which no call reaches.
    fn suspects(patience: Duration, now: Instant) -> Suspects {
        let mut suspects = Suspects::default();
        suspects.add(0, 1, suspicion(patience, "192.0.2.1"), now);
        suspects.0[0].places.clear();
        suspects
    }

    #[test]
    fn a_host_is_reported_after_the_time_that_is_allowed_and_only_while_a_rank_says_so() {
        let begin = Instant::now();
        let mut silent = suspects(Duration::ZERO, begin);
        assert!(silent.look(LIMIT, begin + Duration::from_secs(1)).is_none());
        silent.add(5, 1, suspicion(Duration::ZERO, "192.0.2.1"), begin + Duration::from_millis(2500));
        assert!(silent.look(LIMIT, begin + Duration::from_millis(2600)).is_none());
        let found = silent.look(LIMIT, begin + Duration::from_secs(3)).unwrap();
        assert_eq!((found.by, found.rank, found.host), (0, 3, 1));
        let mut heard = suspects(Duration::ZERO, begin);
        assert!(heard.look(LIMIT, begin + Duration::from_secs(9)).is_none() && heard.is_empty());
    }

    #[test]
    fn a_user_who_asks_for_more_time_gets_it() {
        let begin = Instant::now();
        let mut suspects = suspects(Duration::from_secs(30), begin);
        for second in 1..29 {
            let now = begin + Duration::from_secs(second);
            suspects.add(0, 1, suspicion(Duration::ZERO, "192.0.2.1"), now);
            assert!(suspects.look(LIMIT, now).is_none());
        }
        assert!(suspects.look(LIMIT, begin + Duration::from_secs(29)).is_some());
    }

    #[test]
    fn a_host_that_refuses_a_call_is_there() {
        let now = Instant::now();
        let mut suspects = suspects(Duration::ZERO, now);
        suspects.0[0].places = vec!["127.0.0.1".parse().unwrap()];
        while !suspects.is_empty() {
            assert!(suspects.look(LIMIT, now).is_none());
        }
    }

    #[test]
    fn addresses_of_the_own_host_are_not_called() {
        let mut suspects = Suspects::default();
        suspects.add(0, 1, suspicion(Duration::ZERO, "127.0.0.1"), Instant::now());
        assert!(suspects.is_empty());
    }
}
