//! Hosts that do not answer the ranks of this one: whether the network between the two takes nothing.
//!
//! ```text
//!   a rank ── suspicion, repeated while it lasts ──► its proxy calls that host, again and again
//!                                                     ├─ an answer, or a refusal: the host was there at that moment
//!                                                     └─ none for as long as hosts may be silent: reported to mpiexec
//!   mpiexec ── asks both hosts what has happened there; if both answer, the network between them is at fault
//! ```
//!
//! So two things must agree: what a rank has sent is not acknowledged, and a new call gets no answer. A connection
//! alone shows less: after an outage the kernel waits long before it tries again. A call alone shows less, too: a firewall
//! may let none through. So only the silence counts that the rank reports, and only while the rank repeats it.
//!
//! The proxy calls the port at which the suspected rank listens, since what filters packets between the hosts of a job lets
//! those through. And it calls a port at which nothing listens: the other kernel refuses at once, even where the rank is gone
//! or its port has no room.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pmi::lost::Suspicion;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Nothing has listened at the port `discard` for decades. If something does, that is an answer, too.
const DISCARD: u16 = 9;
/// Time between two looks, each of which calls anew.
pub(super) const LOOK: Duration = Duration::from_millis(400);
/// A host is called for so long at least.
const TRIED: Duration = Duration::from_secs(2);
/// A rank repeats its suspicion twice in this time, unless it is busy. What it has said before counts no more.
const FRESH: Duration = Duration::from_secs(1);
/// A host that no rank has suspected for so long is called no more.
const STALE: Duration = Duration::from_secs(2);
/// Calls under way to one host at most. The oldest are given up: the kernel tries them ever more rarely.
const MOST: usize = 64;

/// A host that ranks of this one do not reach.
pub(super) struct Suspect {
    host: u32,
    /// The rank of this host that has suspected for longest, and the rank that it suspects.
    pub by: usize,
    pub rank: u32,
    /// For so long that one had no answer when it reported that.
    pub silent: Duration,
    /// When that was.
    said: Instant,
    /// When the host was called first.
    called: Instant,
    /// When it has answered a call last.
    heard: Option<Instant>,
    patience: Duration,
    pub places: Vec<SocketAddr>,
    greeting: Arc<[u8]>,
    calls: Vec<Call>,
}

/// The hosts that are suspected.
#[derive(Default)]
pub(super) struct Suspects(Vec<Suspect>);

impl Suspects {
    /// Rank `by` of this host suspects `host`. Addresses that this host has, too, lead nowhere.
    pub fn add(&mut self, by: usize, host: u32, suspicion: Suspicion, now: Instant) {
        let Suspicion { rank, silent, patience, mut places, greeting } = suspicion;
        let at = self.0.iter().position(|suspect| suspect.host == host);
        if let Some(known) = at.map(|at| &mut self.0[at]) {
            known.patience = known.patience.max(patience);
            if (known.by, known.rank) == (by, rank) {
                (known.silent, known.said) = (silent, now);
                return;
            }
            if !known.yields_to(silent, now) {
                return;
            }
        }
        let own = platform::interfaces::addresses().unwrap_or_default();
        let leads_away =
            |place: &SocketAddr| !place.ip().is_loopback() && own.iter().all(|one| one.address != place.ip());
        places.retain(leads_away);
        if places.is_empty() {
            return;
        }
        let greeting = greeting.into();
        match at.map(|at| &mut self.0[at]) {
            Some(known) => {
                (known.by, known.rank, known.silent, known.said) = (by, rank, silent, now);
                (known.places, known.greeting) = (places, greeting);
            }
            None => {
                let (said, called, heard, calls) = (now, now, None, Vec::new());
                self.0.push(Suspect {
                    host,
                    by,
                    rank,
                    silent,
                    said,
                    called,
                    heard,
                    patience,
                    places,
                    greeting,
                    calls,
                });
            }
        }
    }

    /// Whether no host is suspected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls the hosts anew. Returns one that has not answered for `limit`.
    pub fn look(&mut self, limit: Duration, now: Instant) -> Option<Suspect> {
        self.0.retain(|suspect| now.duration_since(suspect.said) < STALE);
        self.0.iter_mut().for_each(|suspect| suspect.call(now));
        let found = self.0.iter().position(|suspect| suspect.is_over(limit, now))?;
        Some(self.0.remove(found))
    }
}

impl Suspect {
    /// Whether another rank that had no answer for so long is the better witness.
    fn yields_to(&self, silent: Duration, now: Instant) -> bool {
        let passed = now.duration_since(self.said);
        passed > FRESH || silent > self.silent + passed
    }

    /// Whether neither the rank nor a call had an answer for `limit`.
    fn is_over(&self, limit: Duration, now: Instant) -> bool {
        let unheard = self.heard.map_or(self.silent, |heard| self.silent.min(now.duration_since(heard)));
        now.duration_since(self.said) <= FRESH
            && unheard >= limit.max(self.patience)
            && now.duration_since(self.called) >= TRIED.min(limit)
    }

    /// Looks whether a call was answered, and calls anew.
    fn call(&mut self, now: Instant) {
        let mut is_heard = false;
        self.calls.retain(|call| {
            let outcome = call.outcome();
            is_heard |= matches!(outcome, Outcome::Answered);
            matches!(outcome, Outcome::None)
        });
        if is_heard {
            self.heard = Some(now);
        }
        for place in &self.places {
            // Without a descriptor or a route there is no call.
            self.calls.extend(Call::begin(*place, &self.greeting));
            self.calls.extend(Call::begin(SocketAddr::new(place.ip(), DISCARD), &Arc::default()));
        }
        self.calls.drain(..self.calls.len().saturating_sub(MOST));
    }
}

/// A call. Where it was answered, it ends with the greeting.
struct Call {
    stream: TcpStream,
    greeting: Arc<[u8]>,
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

impl Call {
    fn begin(place: SocketAddr, greeting: &Arc<[u8]>) -> Option<Call> {
        let stream = platform::tcp::connect(place).ok()?;
        Some(Call { stream, greeting: Arc::clone(greeting) })
    }

    fn outcome(&self) -> Outcome {
        let mut fds = [PollFd::new(&self.stream, PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if !matches!(poll(&mut fds, Some(&at_once)), Ok(ready) if ready > 0) {
            return Outcome::None;
        }
        match self.stream.take_error() {
            Ok(None) => Outcome::Answered,
            Ok(Some(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => Outcome::Answered,
            _ => Outcome::Unreached,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.greeting.is_empty() {
            // Fails where the connection does not stand: then the rank there has not seen a caller.
            let _ = self.stream.write(&self.greeting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    const LIMIT: Duration = Duration::from_secs(4);
    /// Time between two checks of a rank.
    const CHECK: u64 = 500;

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    fn suspicion(silent: Duration, patience: Duration) -> Suspicion {
        let places = vec!["192.0.2.1:4711".parse().unwrap()];
        Suspicion { rank: 3, silent, patience, places, greeting: vec![7; 84] }
    }

    /// Rank `by` suspects rank 3 on host 1, where no call is answered: a firewall filters the ports.
    fn suspects(suspects: &mut Suspects, by: usize, silent: Duration, now: Instant) {
        suspects.add(by, 1, suspicion(silent, Duration::ZERO), now);
        suspects.0[0].places.clear();
    }

    /// Milliseconds at which host 1 is reported where rank 0 has no answer in these times: it checks twice a second.
    fn reported(outages: &[(u64, u64)]) -> Option<u64> {
        let begin = Instant::now();
        let mut all = Suspects::default();
        (0..30_000).step_by(100).find(|&time| {
            let now = begin + ms(time);
            let outage = outages.iter().find(|(from, to)| (from + 1000..*to).contains(&time));
            if let Some((from, _)) = outage.filter(|_| time % CHECK == 0) {
                suspects(&mut all, 0, ms(time - from), now);
            }
            time % LOOK.as_millis() as u64 == 0 && all.look(LIMIT, now).is_some()
        })
    }

    #[test]
    fn a_cut_is_reported_after_the_time_that_is_allowed() {
        let at = reported(&[(200, 60_000)]).unwrap();
        assert!((4200..=5200).contains(&at), "{at}");
    }

    #[test]
    fn an_outage_of_seconds_is_none_although_no_call_is_answered() {
        assert_eq!(reported(&[(200, 2200)]), None);
        assert_eq!(reported(&[(200, 4100)]), None);
    }

    #[test]
    fn outages_do_not_add_up() {
        assert_eq!(reported(&[(0, 2600), (2700, 5400), (5500, 8000)]), None);
        let at = reported(&[(0, 2600), (2700, 5400), (5500, 60_000)]).unwrap();
        assert!((9500..=10_500).contains(&at), "{at}");
    }

    #[test]
    fn an_answered_call_begins_the_silence_anew() {
        let begin = Instant::now();
        let mut all = Suspects::default();
        // The rank's kernel pauses between two tries, while the network works at four seconds.
        for time in (1000..7900).step_by(100) {
            suspects(&mut all, 0, ms(time), begin + ms(time));
            if time == 4000 {
                all.0[0].heard = Some(begin + ms(time));
            }
            assert!(all.look(LIMIT + ms(100), begin + ms(time)).is_none(), "{time}");
        }
        suspects(&mut all, 0, ms(8100), begin + ms(8100));
        assert!(all.look(LIMIT + ms(100), begin + ms(8100)).is_some());
    }

    #[test]
    fn the_rank_that_suspects_for_longest_is_the_witness() {
        let begin = Instant::now();
        let mut all = Suspects::default();
        suspects(&mut all, 0, ms(1000), begin);
        suspects(&mut all, 5, ms(1500), begin);
        suspects(&mut all, 0, ms(1500), begin + ms(500));
        assert_eq!((all.0[0].by, all.0[0].silent), (5, ms(1500)));
        // That one waits no more.
        suspects(&mut all, 0, ms(4500), begin + ms(3500));
        let found = all.look(LIMIT, begin + ms(3500)).unwrap();
        assert_eq!((found.by, found.rank, found.host, found.silent), (0, 3, 1, ms(4500)));
        assert!(all.is_empty());
    }

    #[test]
    fn what_a_rank_repeats_no_more_is_forgotten() {
        let begin = Instant::now();
        let mut all = Suspects::default();
        suspects(&mut all, 0, ms(60_000), begin);
        assert!(all.look(LIMIT, begin).is_none(), "not called for long enough");
        assert!(all.look(LIMIT, begin + ms(1900)).is_none() && !all.is_empty());
        assert!(all.look(LIMIT, begin + ms(9000)).is_none() && all.is_empty());
    }

    #[test]
    fn a_user_who_asks_for_more_time_gets_it() {
        let begin = Instant::now();
        let mut all = Suspects::default();
        all.add(0, 1, suspicion(ms(1000), ms(30_000)), begin);
        for second in 1..29 {
            let now = begin + ms(1000 * second);
            suspects(&mut all, 0, ms(1000 * (second + 1)), now);
            assert!(all.look(LIMIT, now).is_none());
        }
        suspects(&mut all, 0, ms(30_000), begin + ms(29_000));
        assert!(all.look(LIMIT, begin + ms(29_000)).is_some());
    }

    #[test]
    fn a_host_is_there_that_takes_or_refuses_a_call() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap();
        let refused = "127.0.0.1:9".parse().unwrap();
        for place in [taken, refused] {
            let now = Instant::now();
            let mut all = Suspects::default();
            suspects(&mut all, 0, ms(60_000), now);
            all.0[0].places = vec![place];
            while all.0[0].heard.is_none() {
                assert!(all.look(LIMIT, now).is_none());
            }
            suspects(&mut all, 0, ms(60_000), now + ms(3900));
            assert!(all.look(LIMIT, now + ms(3900)).is_none());
        }
        // A rank that is called knows why.
        let mut greeting = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut greeting).unwrap();
        assert_eq!(greeting, vec![7; 84]);
    }

    #[test]
    fn addresses_of_the_own_host_are_not_called() {
        let mut all = Suspects::default();
        let own = Suspicion {
            places: vec!["127.0.0.1:4711".parse().unwrap()],
            ..suspicion(ms(1000), Duration::ZERO)
        };
        all.add(0, 1, own, Instant::now());
        assert!(all.is_empty());
    }
}
