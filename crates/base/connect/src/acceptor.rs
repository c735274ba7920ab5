//! The callers at the ports of one owner, until they have proven that they are of its job.
//!
//! No sockets here: a [`Caller`] is read and written without blocking by whatever it is; the time and random numbers are
//! arguments.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use crate::exchange::{Answering, HELLO, PROOF, Who};
use crate::{Ends, Protection, Secret, Session};

/// How long a caller may take for the exchange. Callers of the job begin as soon as they are connected.
pub const TIMEOUT: Duration = Duration::from_secs(2);
/// Callers that are kept at a time, of those without a hello so far, and of those with one: far more than belong to the
/// job and have not done the exchange yet.
pub const MOST: usize = 256;
/// How long a caller may send nothing where there is no room for others. A hello is mostly there before its caller is
/// accepted.
pub const GRACE: Duration = Duration::from_millis(5);
/// Bytes of a wrong hello that are shown.
const SHOWN: usize = 16;

/// The connection of a caller.
pub trait Caller {
    /// Reads what is there; `Ok(None)`: nothing now. `Ok(Some(0))`: the other side has closed.
    ///
    /// # Errors
    /// The connection is broken.
    fn read_some(&mut self, into: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes all of these few bytes; a new connection has room for them.
    ///
    /// # Errors
    /// The connection is broken or has no room.
    fn write_now(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Where the other side is, for people.
    fn name(&self) -> String;

    /// Where both ends of the connection are, as this side sees it.
    fn ends(&self) -> Ends;
}

/// The callers that have not proven yet who they are.
#[derive(Debug)]
pub struct Acceptor<C> {
    secret: Secret,
    /// The oldest first.
    waiting: VecDeque<Waiting<C>>,
    /// Whose ports these are, for people.
    called: &'static str,
    /// Takes the report; `None` once it was made.
    report: Option<fn(&str)>,
    /// How connections are protected at least.
    wish: Protection,
    /// The callers are processes, which may compute, or lose their network, for long ([`Acceptor::for_processes`]).
    of_processes: bool,
}

#[derive(Debug)]
struct Waiting<C> {
    caller: C,
    bytes: [u8; HELLO],
    read: usize,
    since: Instant,
    /// Its hello was answered.
    stage: Option<(Who, Answering)>,
}

enum Heard {
    NotAll,
    Proven(Who, Box<Session>),
    Turned(String),
    NotForUs,
}

impl<C: Caller> Acceptor<C> {
    /// For the ports of `called`, open to callers that know `secret`, whose connections are protected at least as
    /// `wish` asks. `report` takes the lines about the first caller that is turned away.
    pub fn new(
        called: &'static str,
        secret: Secret,
        wish: Protection,
        report: Option<fn(&str)>,
    ) -> Acceptor<C> {
        Acceptor { secret, waiting: VecDeque::new(), called, report, wish, of_processes: false }
    }

    /// The same for callers that may be busy for long after their hello: processes that compute. They have as long as
    /// there is room; a caller that sends a hello knows the job's number, so the many port scanners do not take it. One
    /// whose hello does not come in time is given up without a report: where its network fails for seconds, a process is as
    /// silent, and it calls again.
    pub fn for_processes(self) -> Acceptor<C> {
        Acceptor { of_processes: true, ..self }
    }

    /// A caller that was accepted at `now`.
    pub fn add(&mut self, caller: C, now: Instant) {
        self.keep_few(|waiting| waiting.stage.is_none());
        self.waiting.push_back(Waiting { caller, bytes: [0; HELLO], read: 0, since: now, stage: None });
    }

    /// Gives up the caller that waits for longest, which frees a descriptor; `false`: there is none.
    pub fn give_one_up(&mut self) -> bool {
        // Those whose hello was answered are less likely to be strangers.
        self.give_up_first(|waiting| waiting.stage.is_none()) || self.give_up_first(|_| true)
    }

    /// Where callers keep others from coming: gives up one that has sent nothing for [`GRACE`], or proven nothing for
    /// [`TIMEOUT`]; `false`: there is none. It may be one of the job that is slow, and calls again; so it is not
    /// reported.
    pub fn make_room(&mut self, now: Instant) -> bool {
        self.remove_first(|waiting| waiting.stage.is_none() && now >= waiting.since + GRACE)
            .or_else(|| self.remove_first(|waiting| now >= waiting.since + TIMEOUT))
            .is_some()
    }

    /// Makes room for one more caller of a `kind`. Each kind has room of its own, so that neither the silent ones nor
    /// those that repeat a hello which they have overheard turn all others out.
    fn keep_few(&mut self, kind: impl Fn(&Waiting<C>) -> bool) {
        if self.waiting.iter().filter(|waiting| kind(waiting)).count() >= MOST {
            self.give_up_first(kind);
        }
    }

    fn remove_first(&mut self, kind: impl Fn(&Waiting<C>) -> bool) -> Option<Waiting<C>> {
        let oldest = self.waiting.iter().position(kind)?;
        self.waiting.remove(oldest)
    }

    /// Gives up the oldest caller of a kind; `false`: there is none.
    fn give_up_first(&mut self, kind: impl Fn(&Waiting<C>) -> bool) -> bool {
        let Some(oldest) = self.remove_first(kind) else { return false };
        let others = self.waiting.len();
        self.turn_away(&oldest.caller, format_args!("it proved nothing, like {others} other callers"));
        true
    }

    /// Reads what has come by `now`. `expect` judges each hello before it is answered, and returns what is wrong with
    /// it; `None`: it is no stranger's, but not for this owner, and not reported. Returns the callers that have proven
    /// that they know the secret, and what protects their connections from now on.
    pub fn hear(
        &mut self,
        now: Instant,
        nonce: impl FnMut() -> u128,
        expect: impl Fn(&Who) -> Result<(), Option<&'static str>>,
    ) -> Vec<(C, Who, Session)> {
        let secret = self.secret;
        self.hear_by(now, nonce, |who| expect(who).map(|()| secret))
    }

    /// As [`Acceptor::hear`], for an owner that knows several groups of callers: `expect` returns the secret that a caller
    /// of this kind has to know.
    pub fn hear_by(
        &mut self,
        now: Instant,
        mut nonce: impl FnMut() -> u128,
        expect: impl Fn(&Who) -> Result<Secret, Option<&'static str>>,
    ) -> Vec<(C, Who, Session)> {
        let mut admitted = Vec::new();
        for _ in 0..self.waiting.len() {
            let Some(mut waiting) = self.waiting.pop_front() else { break };
            let was_answered = waiting.stage.is_some();
            match waiting.read(self.wish, &mut nonce, &expect) {
                Heard::NotAll if self.deadline_of(&waiting).is_none_or(|until| now < until) => {
                    if !was_answered && waiting.stage.is_some() {
                        self.keep_few(|waiting| waiting.stage.is_some());
                    }
                    self.waiting.push_back(waiting);
                }
                Heard::NotAll if self.of_processes => {}
                Heard::NotAll => {
                    self.turn_away(&waiting.caller, format_args!("it proved nothing for {TIMEOUT:?}"));
                }
                Heard::Turned(why) => self.turn_away(&waiting.caller, format_args!("{why}")),
                Heard::NotForUs => {}
                Heard::Proven(who, session) => admitted.push((waiting.caller, who, *session)),
            }
        }
        admitted
    }

    /// What to sleep on.
    pub fn callers(&self) -> impl Iterator<Item = &C> {
        self.waiting.iter().map(|waiting| &waiting.caller)
    }

    /// When the first caller's time is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().filter_map(|waiting| self.deadline_of(waiting)).min()
    }

    fn deadline_of(&self, waiting: &Waiting<C>) -> Option<Instant> {
        let has_time = self.of_processes && waiting.stage.is_some();
        (!has_time).then(|| waiting.since + TIMEOUT)
    }

    /// Callers are turned away without a report from here on: where a job ends, its own processes may be among them.
    pub fn report_no_more(&mut self) {
        self.report = None;
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

impl<C: Caller> Waiting<C> {
    fn read(
        &mut self,
        wish: Protection,
        nonce: &mut impl FnMut() -> u128,
        expect: &impl Fn(&Who) -> Result<Secret, Option<&'static str>>,
    ) -> Heard {
        loop {
            let wanted = if self.stage.is_some() { PROOF } else { HELLO };
            while self.read < wanted {
                match self.caller.read_some(&mut self.bytes[self.read..wanted]) {
                    Ok(None) => return Heard::NotAll,
                    Ok(Some(0)) | Err(_) if self.read == 0 && self.stage.is_none() => {
                        return Heard::Turned("it closed the connection without a hello".into());
                    }
                    // It has named the job, and does not need this connection any more.
                    Ok(Some(0)) | Err(_) if self.stage.is_some() => return Heard::NotForUs,
                    Ok(Some(0)) | Err(_) => return Heard::Turned("it closed the connection".into()),
                    Ok(Some(bytes)) => self.read += bytes,
                }
                // What begins otherwise need not be waited for.
                if self.stage.is_none() && !Answering::can_begin_with(&self.bytes[..self.read]) {
                    return self.nonsense();
                }
            }
            match &self.stage {
                Some((who, answering)) => {
                    let proof = self.bytes.first_chunk::<PROOF>().expect("a proof is shorter than a hello");
                    return match answering.check(proof) {
                        Ok(session) => Heard::Proven(*who, Box::new(session)),
                        Err(refusal) => Heard::Turned(refusal.to_string()),
                    };
                }
                None => {
                    let who = match Answering::read(&self.bytes) {
                        Ok(who) => who,
                        Err(refusal) => return Heard::Turned(refusal.to_string()),
                    };
                    let secret = match expect(&who) {
                        Ok(secret) => secret,
                        Err(why) => {
                            return why.map_or(Heard::NotForUs, |why| Heard::Turned(why.to_owned()));
                        }
                    };
                    let answering = Answering::new(secret, self.bytes, &self.caller.ends(), wish, nonce());
                    if self.caller.write_now(answering.challenge()).is_err() {
                        return Heard::NotForUs;
                    }
                    self.stage = Some((who, answering));
                    self.read = 0;
                }
            }
        }
    }

    fn nonsense(&self) -> Heard {
        let shown = self.bytes[..self.read.min(SHOWN)].escape_ascii();
        Heard::Turned(format!("it sent \"{shown}\", which begins no hello"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{CHALLENGE, Calling, Role};
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SECRET: Secret = Secret::new(0x5eed);
    const WHO: Who = Who { role: Role::Daemon, job: 7, from: 1, to: 0 };

    impl Caller for UnixStream {
        fn read_some(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
            crate::tcp::unless_empty(self.read(into))
        }

        fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.write_all(bytes)
        }

        fn name(&self) -> String {
            "a test".into()
        }

        fn ends(&self) -> Ends {
            Ends::UNKNOWN
        }
    }

    fn calling(nonce: u128) -> Calling {
        Calling::new(SECRET, WHO, &Ends::UNKNOWN, Protection::None, nonce)
    }

    fn pair() -> (UnixStream, UnixStream) {
        let (caller, ours) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (caller, ours)
    }

    fn heard(acceptor: &mut Acceptor<UnixStream>, now: Instant) -> Vec<Who> {
        let expect = |who: &Who| if who.job == 7 { Ok(()) } else { Err(Some("it is of another job")) };
        acceptor.hear(now, || 3, expect).into_iter().map(|(_, who, _)| who).collect()
    }

    #[test]
    fn an_exchange_is_read_as_its_bytes_come() {
        let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, None);
        let (mut caller, stream) = pair();
        let now = Instant::now();
        acceptor.add(stream, now);
        let calling = calling(1);
        for byte in calling.hello() {
            assert!(heard(&mut acceptor, now).is_empty());
            caller.write_all(&[*byte]).unwrap();
        }
        assert!(heard(&mut acceptor, now).is_empty());
        let mut challenge = [0; CHALLENGE];
        caller.read_exact(&mut challenge).unwrap();
        for byte in calling.prove(&challenge).unwrap().0 {
            assert!(heard(&mut acceptor, now).is_empty());
            caller.write_all(&[byte]).unwrap();
        }
        assert_eq!(heard(&mut acceptor, now), [WHO]);
        assert_eq!(acceptor.deadline(), None);
    }

    #[test]
    fn silence_ends_at_the_deadline_also_in_the_middle_of_the_exchange() {
        for begun in [false, true] {
            let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, None);
            let (mut caller, stream) = pair();
            let now = Instant::now();
            acceptor.add(stream, now);
            if begun {
                caller.write_all(calling(1).hello()).unwrap();
            }
            assert!(heard(&mut acceptor, now + TIMEOUT / 2).is_empty());
            assert_eq!(acceptor.callers().count(), 1);
            let deadline = acceptor.deadline().unwrap();
            assert!(heard(&mut acceptor, deadline).is_empty());
            assert_eq!(acceptor.callers().count(), 0);
        }
    }

    #[test]
    fn a_process_that_computes_may_be_late_with_its_proof() {
        let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, None).for_processes();
        let (mut caller, stream) = pair();
        let now = Instant::now();
        acceptor.add(stream, now);
        let calling = calling(1);
        caller.write_all(calling.hello()).unwrap();
        assert!(heard(&mut acceptor, now).is_empty());
        assert_eq!(acceptor.deadline(), None);
        assert!(heard(&mut acceptor, now + 100 * TIMEOUT).is_empty());
        let mut challenge = [0; CHALLENGE];
        caller.read_exact(&mut challenge).unwrap();
        caller.write_all(&calling.prove(&challenge).unwrap().0).unwrap();
        assert_eq!(heard(&mut acceptor, now + 200 * TIMEOUT), [WHO]);
    }

    #[test]
    fn those_who_hold_others_up_are_given_up_the_silent_ones_soon() {
        let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, None).for_processes();
        let now = Instant::now();
        let (mut said, stream) = pair();
        said.write_all(calling(1).hello()).unwrap();
        acceptor.add(stream, now);
        let (_silent, stream) = pair();
        acceptor.add(stream, now);
        assert!(heard(&mut acceptor, now).is_empty());
        assert!(!acceptor.make_room(now));
        assert!(acceptor.make_room(now + GRACE) && !acceptor.make_room(now + GRACE));
        assert!(acceptor.make_room(now + TIMEOUT));
        assert_eq!(acceptor.callers().count(), 0);
    }

    #[test]
    fn repeated_hellos_turn_no_caller_out_that_answers() {
        let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, None).for_processes();
        let now = Instant::now();
        let overheard = *calling(1).hello();
        let mut callers = Vec::new();
        let mut repeat = |acceptor: &mut Acceptor<UnixStream>, times| {
            for _ in 0..times {
                let (mut caller, stream) = pair();
                caller.write_all(&overheard).unwrap();
                callers.push(caller);
                acceptor.add(stream, now);
                assert!(heard(acceptor, now).is_empty());
            }
        };
        repeat(&mut acceptor, MOST + 100);
        assert_eq!(acceptor.callers().count(), MOST);
        // A caller of the job is late with its hello, and again with its proof.
        let (mut caller, stream) = pair();
        acceptor.add(stream, now);
        repeat(&mut acceptor, MOST);
        let calling = calling(2);
        caller.write_all(calling.hello()).unwrap();
        assert!(heard(&mut acceptor, now).is_empty());
        repeat(&mut acceptor, MOST / 2);
        let mut challenge = [0; CHALLENGE];
        caller.read_exact(&mut challenge).unwrap();
        caller.write_all(&calling.prove(&challenge).unwrap().0).unwrap();
        assert_eq!(heard(&mut acceptor, now), [WHO]);
    }

    #[test]
    fn those_of_another_job_are_not_even_answered() {
        let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, None);
        let (mut caller, stream) = pair();
        let now = Instant::now();
        acceptor.add(stream, now);
        let other = Who { job: 8, ..WHO };
        let calling = Calling::new(SECRET, other, &Ends::UNKNOWN, Protection::None, 1);
        caller.write_all(calling.hello()).unwrap();
        assert!(heard(&mut acceptor, now).is_empty());
        assert_eq!(caller.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_crowd_of_silent_callers_does_not_keep_others_out() {
        static REPORTS: AtomicUsize = AtomicUsize::new(0);
        let report = |text: &str| {
            assert!(text.contains("proved nothing"), "{text}");
            REPORTS.fetch_add(1, Ordering::Relaxed);
        };
        let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, Some(report));
        let now = Instant::now();
        let mut callers = Vec::new();
        for _ in 0..MOST + 100 {
            let (caller, stream) = pair();
            callers.push(caller);
            acceptor.add(stream, now);
        }
        assert_eq!(acceptor.callers().count(), MOST);
        let (mut caller, stream) = pair();
        acceptor.add(stream, now);
        let calling = calling(1);
        caller.write_all(calling.hello()).unwrap();
        heard(&mut acceptor, now);
        let mut challenge = [0; CHALLENGE];
        caller.read_exact(&mut challenge).unwrap();
        caller.write_all(&calling.prove(&challenge).unwrap().0).unwrap();
        assert_eq!(heard(&mut acceptor, now), [WHO]);
        assert_eq!(REPORTS.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn nonsense_is_turned_away_at_once() {
        let mut acceptor = Acceptor::new("the test", SECRET, Protection::None, None);
        let now = Instant::now();
        for words in [&b"G"[..], b"GET / HTTP/1.1\r\n\r\n", &[0; HELLO], &[0xff; 4 * HELLO]] {
            let (mut caller, stream) = pair();
            caller.write_all(words).unwrap();
            acceptor.add(stream, now);
            assert!(heard(&mut acceptor, now).is_empty());
            assert_eq!(acceptor.callers().count(), 0, "{words:?}");
        }
    }
}
