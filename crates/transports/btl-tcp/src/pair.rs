//! How two processes come to one connection. No sockets and no clock here: [`Wires`] acts and passes the time in.
//!
//! ```text
//!   the process that wants to send                        the other one
//!     connects to an address, and after some time
//!     to the next one, too
//!     ── hello ────────────────────────────────────────►
//!     ◄─────────────────────────────────── challenge ──
//!     ── proof ────────────────────────────────────────►  keeps the caller as a candidate
//!     ◄──────────────────────────────────── accepted ──
//!     takes this connection, closes its others
//!     ── confirmed, frames … ──────────────────────────►  takes this candidate, drops the others
//! ```
//!
//! No process knows which of a peer's addresses lead to it: a bridge that exists in both hosts leads to oneself, a
//! firewall swallows what is sent. So an address is right once a hello was answered over it by the peer's own proof.
//! A process that computes answers nothing, so silence means little: an attempt ends only when its connection breaks.
//!
//! Where both connect at once, both see the other's proof while their own is on its way. **The connection of the lower
//! rank wins**: the lower one answers "yield", the higher one accepts and gives its own attempts up. An attempt without
//! a proof is no candidate of the peer's, so its owner gives it up for a caller, whatever its rank.

use crate::hello::Verdict;
use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

/// How soon a process without room tries again.
pub(crate) const SOON: Duration = connect::GRACE;

/// How long a process that yielded waits for the other's connection, and one whose attempts failed for the next round. The
/// higher rank waits longer: two that rest alike would call each other at the same times again and again, and where the
/// lower rank's addresses all lead elsewhere, the other one would yield to it each time.
const REST: Duration = Duration::from_millis(500);
/// Rounds of attempts to make a broken connection anew: a process that has ended refuses them.
const ROUNDS_ANEW: u32 = 2;
/// Rounds that a process of another job may refuse: it listened before its address was known here. Of a process of this job mpiexec
/// knows whether it has ended.
pub(crate) const FOREIGN_REFUSALS: u32 = 2;
/// Candidates that are kept: as many as a peer has addresses.
const MOST_CANDIDATES: usize = 16;

/// What a [`Pair`] has done to connections, which it names by numbers that [`Wires`] gives out.
pub(crate) trait Wires {
    /// Begins to connect to the peer's address `place`; the connection, or why there is none. `Ok(None)`: there is no
    /// room for one now.
    fn connect(&mut self, peer: u32, place: usize) -> Result<Option<u32>, Failure>;
    /// Sends a hello.
    fn hello(&mut self, wire: u32);
    /// Answers the call that came over a wire.
    fn answer(&mut self, wire: u32, verdict: Verdict);
    /// Reports to the peer that this connection is the one.
    fn confirm(&mut self, wire: u32);
    /// Closes it.
    fn close(&mut self, wire: u32);
}

/// Why an attempt or a connection is over.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// The peer's host has answered that no process listens there.
    pub(crate) is_refusal: bool,
}

impl Failure {
    /// What the system has reported, for people in `why`.
    pub(crate) fn new(why: String, error: &io::Error) -> Failure {
        Failure { why, is_refusal: error.kind() == io::ErrorKind::ConnectionRefused }
    }
}

/// How often and how long to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectLimits {
    /// After this the next address is tried, too.
    pub(crate) address: Duration,
    /// Rounds of attempts that may all fail.
    pub(crate) rounds: u32,
    /// Rounds in a row in which every address may refuse.
    pub(crate) refusals: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Nothing is known of the peer's wish, and we have none.
    Idle,
    /// Attempts are under way.
    Connecting,
    /// It is the peer's turn, or neither side's, until then.
    Resting(Instant),
    /// This is the connection.
    Open(u32),
    /// The peer is given up.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Attempt {
    wire: u32,
    /// Our proof is on its way.
    proven: bool,
}

/// One side of a pair of processes.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The conversation.
    at: u32,
    /// The peer is the lower rank, or comes first otherwise: both sides see it alike.
    comes_second: bool,
    /// Addresses of the peer.
    places: usize,
    connect_limits: ConnectLimits,
    /// A connection that breaks is made anew, since what was lost with it is sent again ([`crate::rails`]).
    is_rail: bool,
    state: State,
    attempts: Vec<Attempt>,
    candidates: Vec<u32>,
    /// The address to try next in this round, and when.
    next: (usize, Instant),
    failed_rounds: u32,
    /// Rounds in a row in which every address has refused, and whether all have in this one so far, or the process has ended.
    refused_rounds: u32,
    is_refused: bool,
    /// Why the attempts of the last round failed.
    failures: String,
}

impl Pair {
    pub(crate) fn new(
        at: u32,
        comes_second: bool,
        places: usize,
        connect_limits: ConnectLimits,
        now: Instant,
    ) -> Pair {
        Pair {
            at,
            comes_second,
            places,
            connect_limits,
            is_rail: false,
            state: State::Idle,
            attempts: Vec::new(),
            candidates: Vec::new(),
            next: (0, now),
            failed_rounds: 0,
            refused_rounds: 0,
            is_refused: false,
            failures: String::new(),
        }
    }

    /// The same, of a connection that is made anew where it breaks.
    pub(crate) fn into_rail(self) -> Pair {
        Pair { is_rail: true, ..self }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Whether the peer may take a connection for the one with this process.
    pub(crate) fn is_known_to_peer(&self) -> bool {
        matches!(self.state, State::Open(_)) || !self.candidates.is_empty() && self.state != State::Lost
    }

    /// The connections by which it is tried.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = u32> {
        self.attempts.iter().map(|attempt| attempt.wire)
    }

    /// Whether the process of a peer that is lost may be there: its host has refused no attempt, and its end is not known.
    pub(crate) fn may_be_there(&self) -> bool {
        !self.is_refused
    }

    /// Why the peer was given up while connecting.
    pub(crate) fn failures(&self) -> &str {
        &self.failures
    }

    /// There is something to send.
    pub(crate) fn want(&mut self, now: Instant, wires: &mut impl Wires) {
        if self.state == State::Idle && self.candidates.is_empty() {
            self.begin(now, wires);
        }
    }

    fn begin(&mut self, now: Instant, wires: &mut impl Wires) {
        self.state = State::Connecting;
        self.failures.clear();
        self.is_refused = self.places > 0;
        self.next = (0, now);
        self.tick(now, false, wires);
    }

    /// Does what is due; `wanted`: there is something to send.
    pub(crate) fn tick(&mut self, now: Instant, wanted: bool, wires: &mut impl Wires) {
        match self.state {
            State::Resting(until) if now >= until => {
                self.state = State::Idle;
                if wanted {
                    self.want(now, wires);
                }
            }
            State::Connecting => {
                while self.next.0 < self.places && (self.attempts.is_empty() || now >= self.next.1) {
                    let place = self.next.0;
                    self.next = (place + 1, now + self.connect_limits.address);
                    match wires.connect(self.at, place) {
                        Ok(Some(wire)) => self.attempts.push(Attempt { wire, proven: false }),
                        Ok(None) => {
                            self.next = (place, now + SOON);
                            return;
                        }
                        Err(failure) => self.fail(&failure),
                    }
                }
                if self.attempts.is_empty() {
                    self.failed_rounds += 1;
                    self.refused_rounds = if self.is_refused { self.refused_rounds + 1 } else { 0 };
                    let lost = self.failed_rounds >= self.connect_limits.rounds
                        || self.refused_rounds >= self.connect_limits.refusals;
                    self.state = if lost { State::Lost } else { State::Resting(now + self.rest()) };
                }
            }
            _ => {}
        }
    }

    /// When [`Pair::tick`] has something to do that no connection reports.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Resting(until) => Some(until),
            State::Connecting if self.next.0 < self.places => Some(self.next.1),
            _ => None,
        }
    }

    fn rest(&self) -> Duration {
        if self.comes_second { REST.mul_f32(1.7) } else { REST }
    }

    /// An attempt of this round has failed.
    fn fail(&mut self, failure: &Failure) {
        self.is_refused &= failure.is_refusal;
        self.note(&failure.why);
    }

    fn note(&mut self, why: &str) {
        let separator = if self.failures.is_empty() { "" } else { "; " };
        // Writing to a string cannot fail.
        let _ = write!(self.failures, "{separator}{why}");
    }

    /// The connection of an attempt stands.
    pub(crate) fn connected(&mut self, wire: u32, wires: &mut impl Wires) {
        if self.attempts.iter().any(|attempt| attempt.wire == wire) {
            wires.hello(wire);
        }
    }

    /// The hello of an attempt was answered by the peer's proof; whether ours is to be sent.
    pub(crate) fn challenged(&mut self, wire: u32) -> bool {
        let attempt = self.attempts.iter_mut().find(|attempt| attempt.wire == wire);
        attempt.map(|attempt| attempt.proven = true).is_some()
    }

    /// The peer has judged an attempt.
    pub(crate) fn answered(&mut self, wire: u32, verdict: Verdict, now: Instant, wires: &mut impl Wires) {
        if !self.attempts.iter().any(|attempt| attempt.wire == wire) {
            return;
        }
        match verdict {
            Verdict::Accepted => {
                self.attempts.retain(|attempt| attempt.wire != wire);
                self.close_attempts(wires);
                self.open(wire);
                wires.confirm(wire);
            }
            Verdict::Yield => {
                self.close_attempts(wires);
                self.state = State::Resting(now + self.rest());
            }
        }
    }

    /// A connection is broken, for this reason. Whether it was the one.
    pub(crate) fn broke(
        &mut self,
        wire: u32,
        failure: &Failure,
        now: Instant,
        wanted: bool,
        wires: &mut impl Wires,
    ) -> bool {
        if self.state == State::Open(wire) && self.is_rail {
            self.failed_rounds = self.connect_limits.rounds.saturating_sub(ROUNDS_ANEW);
            self.begin(now, wires);
            return true;
        }
        if self.state == State::Open(wire) {
            self.note(&failure.why);
            self.state = State::Lost;
            return true;
        }
        if let Some(at) = self.attempts.iter().position(|attempt| attempt.wire == wire) {
            self.attempts.remove(at);
            self.fail(failure);
            self.tick(now, wanted, wires);
        } else if let Some(at) = self.candidates.iter().position(|&candidate| candidate == wire) {
            self.candidates.remove(at);
            if wanted {
                self.want(now, wires);
            }
        }
        false
    }

    /// Both sides have closed the connection, and nothing was lost.
    pub(crate) fn closed(&mut self) {
        self.state = State::Idle;
        (self.failed_rounds, self.refused_rounds) = (0, 0);
    }

    /// The peer calls by a connection of its own, and has proven that it is the peer; whether it is kept.
    pub(crate) fn called(&mut self, wire: u32, wires: &mut impl Wires) -> bool {
        let ours_is_known = self.attempts.iter().any(|attempt| attempt.proven);
        let accepts = match self.state {
            State::Idle | State::Resting(_) => true,
            State::Connecting => !ours_is_known || self.comes_second,
            // The peer has lost the connection, or is back: it decides by its confirmation.
            State::Open(_) | State::Lost => self.is_rail,
        };
        if !accepts {
            wires.answer(wire, Verdict::Yield);
            return false;
        }
        self.close_attempts(wires);
        if !matches!(self.state, State::Open(_)) {
            self.state = State::Idle;
        }
        if self.candidates.len() == MOST_CANDIDATES {
            wires.close(self.candidates.remove(0));
        }
        self.candidates.push(wire);
        wires.answer(wire, Verdict::Accepted);
        true
    }

    /// The peer confirms that this candidate is the connection.
    pub(crate) fn confirmed(&mut self, wire: u32, wires: &mut impl Wires) {
        if self.candidates.contains(&wire) {
            self.candidates.retain(|&candidate| candidate != wire);
            self.candidates.drain(..).for_each(|other| wires.close(other));
            if let State::Open(before) = self.state {
                wires.close(before);
            }
            self.open(wire);
        }
    }

    fn open(&mut self, wire: u32) {
        self.state = State::Open(wire);
        self.failed_rounds = 0;
    }

    /// The peer's process has ended.
    pub(crate) fn ended(&mut self, wires: &mut impl Wires) {
        self.failures.clear();
        self.note("its process has ended");
        self.is_refused = true;
        self.abandon(wires);
    }

    /// There is to be no connection: closes those that could become one.
    pub(crate) fn abandon(&mut self, wires: &mut impl Wires) {
        self.close_attempts(wires);
        self.candidates.drain(..).for_each(|candidate| wires.close(candidate));
        self.state = State::Lost;
    }

    fn close_attempts(&mut self, wires: &mut impl Wires) {
        self.attempts.drain(..).for_each(|attempt| wires.close(attempt.wire));
    }
}

#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
