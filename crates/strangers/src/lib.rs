//! Connections just accepted, whose callers have not said who they are.
//!
//! Anybody who reaches the port can connect, say nothing, or say anything: a port scan does all of that. So hellos are
//! read as their bytes come and never waited for. A caller has [`PATIENCE`] for its hello. At most [`MOST`] callers are
//! kept; one more replaces the one that has been silent for longest. The first caller that is turned away is reported,
//! and no other.
//!
//! No sockets here: a [`Caller`] is read without blocking by whatever it is, and the time is an argument.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// How long a caller may take for its hello. Those who belong to the job send it as soon as they are connected.
const PATIENCE: Duration = Duration::from_secs(2);
/// Callers that are kept at a time: far more than belong to the job and have a hello on its way.
const MOST: usize = 256;
/// Bytes of a wrong hello that are shown.
const SHOWN: usize = 16;

/// The connection of a caller.
pub trait Caller {
    /// Reads what is there; `Ok(None)`: nothing now. `Ok(Some(0))`: the other side has closed.
    ///
    /// # Errors
    /// The connection is broken.
    fn read_some(&self, into: &mut [u8]) -> io::Result<Option<usize>>;

    /// Where the other side is, for people.
    fn name(&self) -> String;
}

/// What a caller must say first.
pub trait Hello: Sized {
    /// Its length in bytes, at most [`LONGEST`].
    const BYTES: usize;

    /// Whether a hello can begin with these bytes.
    fn can_begin_with(bytes: &[u8]) -> bool;

    /// The hello that these [`Hello::BYTES`] bytes are, if they are one.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// Bytes of the longest hello.
pub const LONGEST: usize = 64;

/// The callers at the sockets of one owner.
#[derive(Debug)]
pub struct Strangers<C, H> {
    /// The oldest first.
    waiting: VecDeque<Stranger<C>>,
    /// Whose sockets these are, for people.
    called: &'static str,
    /// Takes the report; `None` once it was made.
    report: Option<fn(&str)>,
    hello: PhantomData<fn() -> H>,
}

#[derive(Debug)]
struct Stranger<C> {
    caller: C,
    hello: [u8; LONGEST],
    read: usize,
    since: Instant,
}

/// What a caller has said so far.
enum Heard<H> {
    NotAll,
    Hello(H),
    Nonsense(String),
}

impl<C: Caller, H: Hello> Strangers<C, H> {
    /// For the sockets of `called`; `report` takes the lines about the first caller that is turned away.
    pub fn new(called: &'static str, report: Option<fn(&str)>) -> Strangers<C, H> {
        const { assert!(H::BYTES <= LONGEST) };
        Strangers { waiting: VecDeque::new(), called, report, hello: PhantomData }
    }

    /// A caller that was accepted at `now`.
    pub fn add(&mut self, caller: C, now: Instant) {
        if self.waiting.len() == MOST {
            self.give_one_up();
        }
        self.waiting.push_back(Stranger { caller, hello: [0; LONGEST], read: 0, since: now });
    }

    /// Gives up the caller that has been silent for longest, which frees a descriptor; `false`: there is none.
    pub fn give_one_up(&mut self) -> bool {
        let Some(oldest) = self.waiting.pop_front() else { return false };
        let others = self.waiting.len();
        self.turn_away(&oldest.caller, format_args!("it sent no hello, like {others} other callers"));
        true
    }

    /// Reads what has come by `now`, and gives each whole hello to `admit`, which answers why it admits its caller
    /// not, if so.
    pub fn hear(&mut self, now: Instant, mut admit: impl FnMut(C, &H) -> Result<(), Refused<C>>) {
        for _ in 0..self.waiting.len() {
            let Some(mut stranger) = self.waiting.pop_front() else { return };
            match stranger.read::<H>() {
                Heard::NotAll if now.duration_since(stranger.since) < PATIENCE => {
                    self.waiting.push_back(stranger);
                }
                Heard::NotAll => {
                    self.turn_away(&stranger.caller, format_args!("it sent no hello for {PATIENCE:?}"));
                }
                Heard::Nonsense(seen) => self.turn_away(&stranger.caller, format_args!("{seen}")),
                Heard::Hello(hello) => {
                    if let Err(Refused { caller, why: Some(why) }) = admit(stranger.caller, &hello) {
                        self.turn_away(&caller, format_args!("{why}"));
                    }
                }
            }
        }
    }

    /// What to sleep on.
    pub fn callers(&self) -> impl Iterator<Item = &C> {
        self.waiting.iter().map(|stranger| &stranger.caller)
    }

    /// When the first caller's time is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.front().map(|oldest| oldest.since + PATIENCE)
    }

    /// Reports a caller that is turned away, the first time.
    pub fn turn_away(&mut self, caller: &C, seen: fmt::Arguments<'_>) {
        if let Some(report) = self.report.take() {
            let (called, name) = (self.called, caller.name());
            report(&format!(
                "a stranger called at {called}: {name}: {seen}\n\
                 it was turned away, the job goes on, and further strangers are not reported\n\
                 if strangers reach the ports of a job, look at the network's port scanners and firewall"
            ));
        }
    }
}

/// A caller that is not admitted.
#[derive(Debug)]
pub struct Refused<C> {
    /// The caller.
    pub caller: C,
    /// Why it is not: "it is of another job". `None`: it is no stranger, and not reported.
    pub why: Option<&'static str>,
}

impl<C: Caller> Stranger<C> {
    fn read<H: Hello>(&mut self) -> Heard<H> {
        while self.read < H::BYTES {
            match self.caller.read_some(&mut self.hello[self.read..H::BYTES]) {
                Ok(None) => return Heard::NotAll,
                Ok(Some(0)) | Err(_) if self.read == 0 => {
                    return Heard::Nonsense("it closed the connection without a hello".into());
                }
                Ok(Some(0)) | Err(_) => return self.nonsense(),
                Ok(Some(bytes)) => self.read += bytes,
            }
            // What begins otherwise need not be waited for.
            if !H::can_begin_with(&self.hello[..self.read]) {
                return self.nonsense();
            }
        }
        H::from_bytes(&self.hello[..H::BYTES]).map_or_else(|| self.nonsense(), Heard::Hello)
    }

    fn nonsense<H>(&self) -> Heard<H> {
        let shown = self.hello[..self.read.min(SHOWN)].escape_ascii();
        Heard::Nonsense(format!("it sent \"{shown}\", which begins no hello"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const HELLO: usize = 20;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Words([u8; HELLO]);

    impl Hello for Words {
        const BYTES: usize = HELLO;

        fn can_begin_with(bytes: &[u8]) -> bool {
            bytes.iter().zip(b"hello").all(|(byte, right)| byte == right)
        }

        fn from_bytes(bytes: &[u8]) -> Option<Words> {
            Some(Words(bytes.try_into().ok()?))
        }
    }

    impl Caller for UnixStream {
        fn read_some(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
            let mut stream = self;
            match stream.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                read => read.map(Some),
            }
        }

        fn name(&self) -> String {
            "a test".into()
        }
    }

    fn pair() -> (UnixStream, UnixStream) {
        let (caller, ours) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (caller, ours)
    }

    fn hello() -> Words {
        Words(*b"hello, i am rank one")
    }

    fn nobody(report: Option<fn(&str)>) -> Strangers<UnixStream, Words> {
        Strangers::new("the test", report)
    }

    fn heard(strangers: &mut Strangers<UnixStream, Words>, now: Instant) -> Vec<Words> {
        let mut all = Vec::new();
        strangers.hear(now, |_, hello| {
            all.push(*hello);
            Ok(())
        });
        all
    }

    #[test]
    fn a_hello_is_read_as_its_bytes_come() {
        let mut strangers = nobody(None);
        let (mut caller, stream) = pair();
        let now = Instant::now();
        strangers.add(stream, now);
        for (at, byte) in hello().0.into_iter().enumerate() {
            assert!(heard(&mut strangers, now).is_empty(), "after {at} bytes");
            caller.write_all(&[byte]).unwrap();
        }
        assert_eq!(heard(&mut strangers, now), [hello()]);
        assert_eq!(strangers.deadline(), None);
    }

    #[test]
    fn silence_ends_at_the_deadline() {
        let mut strangers = nobody(None);
        let (mut caller, stream) = pair();
        let now = Instant::now();
        strangers.add(stream, now);
        assert!(heard(&mut strangers, now + PATIENCE / 2).is_empty());
        assert_eq!(strangers.callers().count(), 1);
        let deadline = strangers.deadline().unwrap();
        assert!(heard(&mut strangers, deadline).is_empty());
        assert_eq!(strangers.callers().count(), 0);
        assert_eq!(caller.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_crowd_of_silent_callers_does_not_keep_others_out() {
        static REPORTS: AtomicUsize = AtomicUsize::new(0);
        let report = |text: &str| {
            assert!(text.contains("no hello"), "{text}");
            REPORTS.fetch_add(1, Ordering::Relaxed);
        };
        let mut strangers = nobody(Some(report));
        let now = Instant::now();
        let mut callers = Vec::new();
        for _ in 0..MOST + 100 {
            let (caller, stream) = pair();
            callers.push(caller);
            strangers.add(stream, now);
        }
        assert_eq!(strangers.callers().count(), MOST);
        let (mut caller, stream) = pair();
        strangers.add(stream, now);
        caller.write_all(&hello().0).unwrap();
        assert_eq!(heard(&mut strangers, now), [hello()]);
        assert_eq!(REPORTS.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn nonsense_is_turned_away_at_once() {
        let mut strangers = nobody(None);
        let now = Instant::now();
        for words in [&b"G"[..], b"GET / HTTP/1.1\r\n\r\n", &[0; HELLO], &[0xff; 4 * HELLO]] {
            let (mut caller, stream) = pair();
            caller.write_all(words).unwrap();
            strangers.add(stream, now);
            assert!(heard(&mut strangers, now).is_empty());
            assert_eq!(strangers.callers().count(), 0, "{words:?}");
        }
    }
}
