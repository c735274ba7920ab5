//! Connections just accepted, whose callers have not said who they are.
//!
//! Anybody who reaches the port can connect, say nothing, or say anything: a port scan does all of that. So hellos are
//! read as their bytes come and never waited for. A caller has [`PATIENCE`] for its hello. At most [`MOST`] callers are
//! kept; one more replaces the one that has been silent for longest. The first caller that is turned away is reported,
//! and no other.

use super::sockets::Stream;
use super::wire::{HELLO, Hello};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a caller may take for its hello. Those who belong to the job send it as soon as they are connected.
const PATIENCE: Duration = Duration::from_secs(2);
/// Callers that are kept at a time: far more than belong to the job and have a hello on its way.
const MOST: usize = 256;
/// Bytes of a wrong hello that are shown.
const SHOWN: usize = 16;

pub(super) struct Strangers {
    /// The oldest first.
    waiting: VecDeque<Stranger>,
    /// Takes the report; `None` once it was made.
    report: Option<fn(&str)>,
}

struct Stranger {
    stream: Stream,
    hello: [u8; HELLO],
    read: usize,
    since: Instant,
}

/// What a caller has said so far.
enum Heard {
    NotAll,
    Hello(Hello),
    Nonsense(String),
}

impl Strangers {
    pub(super) fn new(report: Option<fn(&str)>) -> Strangers {
        Strangers { waiting: VecDeque::new(), report }
    }

    /// A caller that was accepted at `now`.
    pub(super) fn add(&mut self, stream: Stream, now: Instant) {
        if self.waiting.len() == MOST {
            self.give_one_up();
        }
        self.waiting.push_back(Stranger { stream, hello: [0; HELLO], read: 0, since: now });
    }

    /// Gives up the caller that has been silent for longest, which frees a descriptor; `false`: there is none.
    pub(super) fn give_one_up(&mut self) -> bool {
        let Some(oldest) = self.waiting.pop_front() else { return false };
        let others = self.waiting.len();
        self.turn_away(&oldest.stream, format_args!("it sent no hello, like {others} other callers"));
        true
    }

    /// Reads what has come by `now`, and gives each whole hello to `admit`, which answers why it admits its caller
    /// not, if so.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        mut admit: impl FnMut(Stream, &Hello) -> Result<(), Refused>,
    ) {
        for _ in 0..self.waiting.len() {
            let Some(mut stranger) = self.waiting.pop_front() else { return };
            match stranger.read() {
                Heard::NotAll if now.duration_since(stranger.since) < PATIENCE => {
                    self.waiting.push_back(stranger);
                }
                Heard::NotAll => {
                    self.turn_away(&stranger.stream, format_args!("it sent no hello for {PATIENCE:?}"));
                }
                Heard::Nonsense(seen) => self.turn_away(&stranger.stream, format_args!("{seen}")),
                Heard::Hello(hello) => {
                    if let Err(Refused { stream, why }) = admit(stranger.stream, &hello) {
                        self.turn_away(&stream, format_args!("{why}"));
                    }
                }
            }
        }
    }

    /// What to sleep on, and when the first caller's time is over.
    pub(super) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.waiting.iter().map(|stranger| &stranger.stream)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.front().map(|oldest| oldest.since + PATIENCE)
    }

    /// Reports a caller that is turned away, the first time.
    pub(super) fn turn_away(&mut self, stream: &Stream, seen: std::fmt::Arguments<'_>) {
        if let Some(report) = self.report.take() {
            let caller = stream.caller();
            report(&format!(
                "a stranger called at the Gemini NIC: {caller}: {seen}\n\
                 it was turned away, the job goes on, and further strangers are not reported\n\
                 if strangers reach the ports of a job, look at the network's port scanners and firewall"
            ));
        }
    }
}

/// A caller that is not admitted.
pub(super) struct Refused {
    pub(super) stream: Stream,
    pub(super) why: &'static str,
}

impl Stranger {
    fn read(&mut self) -> Heard {
        while self.read < HELLO {
            match self.stream.read_some(&mut self.hello[self.read..]) {
                Ok(None) => return Heard::NotAll,
                Ok(Some(0)) | Err(_) if self.read == 0 => {
                    return Heard::Nonsense("it closed the connection without a hello".into());
                }
                Ok(Some(0)) | Err(_) => return self.nonsense(),
                Ok(Some(bytes)) => self.read += bytes,
            }
            // What begins otherwise need not be waited for.
            if !Hello::can_begin_with(&self.hello[..self.read]) {
                return self.nonsense();
            }
        }
        Hello::from_bytes(&self.hello).map_or_else(|| self.nonsense(), Heard::Hello)
    }

    fn nonsense(&self) -> Heard {
        let shown = self.hello[..self.read.min(SHOWN)].escape_ascii();
        Heard::Nonsense(format!("it sent \"{shown}\", which begins no hello"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::wire::Purpose;
    use gni::{InstId, JobKey, PeAddr};
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn pair() -> (UnixStream, Stream) {
        let (caller, ours) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (caller, Stream::Unix(ours))
    }

    fn hello() -> Hello {
        let key = JobKey::for_job(7);
        Hello { purpose: Purpose::Data, key, pe: PeAddr(1), inst: InstId(2), secret: 3 }
    }

    fn heard(strangers: &mut Strangers, now: Instant) -> Vec<Hello> {
        let mut all = Vec::new();
        strangers.hear(now, |_, hello| {
            all.push(*hello);
            Ok(())
        });
        all
    }

    #[test]
    fn a_hello_is_read_as_its_bytes_come() {
        let mut strangers = Strangers::new(None);
        let (mut caller, stream) = pair();
        let now = Instant::now();
        strangers.add(stream, now);
        for (at, byte) in hello().to_bytes().into_iter().enumerate() {
            assert!(heard(&mut strangers, now).is_empty(), "after {at} bytes");
            caller.write_all(&[byte]).unwrap();
        }
        assert_eq!(heard(&mut strangers, now), [hello()]);
        assert_eq!(strangers.deadline(), None);
    }

    #[test]
    fn silence_ends_at_the_deadline() {
        let mut strangers = Strangers::new(None);
        let (mut caller, stream) = pair();
        let now = Instant::now();
        strangers.add(stream, now);
        assert!(heard(&mut strangers, now + PATIENCE / 2).is_empty());
        assert_eq!(strangers.streams().count(), 1);
        let deadline = strangers.deadline().unwrap();
        assert!(heard(&mut strangers, deadline).is_empty());
        assert_eq!(strangers.streams().count(), 0);
        assert_eq!(caller.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_crowd_of_silent_callers_does_not_keep_others_out() {
        static REPORTS: AtomicUsize = AtomicUsize::new(0);
        let report = |text: &str| {
            assert!(text.contains("no hello"), "{text}");
            REPORTS.fetch_add(1, Ordering::Relaxed);
        };
        let mut strangers = Strangers::new(Some(report));
        let now = Instant::now();
        let mut callers = Vec::new();
        for _ in 0..MOST + 100 {
            let (caller, stream) = pair();
            callers.push(caller);
            strangers.add(stream, now);
        }
        assert_eq!(strangers.streams().count(), MOST);
        let (mut caller, stream) = pair();
        strangers.add(stream, now);
        caller.write_all(&hello().to_bytes()).unwrap();
        assert_eq!(heard(&mut strangers, now), [hello()]);
        assert_eq!(REPORTS.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn nonsense_is_turned_away_at_once() {
        let mut strangers = Strangers::new(None);
        let now = Instant::now();
        for words in [&b"G"[..], b"GET / HTTP/1.1\r\n\r\n", &[0; HELLO], &[0xff; 4 * HELLO]] {
            let (mut caller, stream) = pair();
            caller.write_all(words).unwrap();
            strangers.add(stream, now);
            assert!(heard(&mut strangers, now).is_empty());
            assert_eq!(strangers.streams().count(), 0, "{words:?}");
        }
    }
}
