//! What the engine asks of the state: progress, which threads to wake, what is due with the state unlocked.

use std::time::Instant;

use btl::{Btl, Sleep};
use engine::{
    Classes, Domain, How, Interest, LOOK, Linked, News, Owner, P2p, Progress, Reason, Requesting, Requests,
    Threads,
};
use platform::waiter::Policy;
use pml::{Done, ReqId};

use crate::domain::{DOMAIN, Token};
use crate::reason;
use crate::shown;
use crate::state::State;

impl Owner for State {
    fn domain() -> &'static Domain<State> {
        &DOMAIN
    }

    fn create() -> State {
        State::new()
    }

    fn news(&mut self) -> Option<News> {
        let State { threads, requests, p2p, seen_changes, failures, .. } = self;
        if !threads.is_awaited() {
            return None;
        }
        if requests.has_grown() | (std::mem::replace(seen_changes, p2p.changes()) != p2p.changes()) {
            threads.changed();
        }
        let has_news = std::mem::take(&mut failures.has_news);
        let over = |interest: &Interest| match *interest {
            Interest::Request(id) => has_news || p2p.is_complete(id) != Some(false),
            Interest::Change => true,
        };
        threads.news(over).map(|wakes| News { wakes, bell: p2p.bml.bell() })
    }
}

impl Progress for State {
    #[inline(always)]
    fn threads(&mut self) -> &mut Threads<Interest> {
        &mut self.threads
    }

    fn policy(&self) -> Policy {
        self.params.waiting
    }

    /// Advances everything once; whether anything happened.
    #[inline]
    fn progress(&mut self) -> bool {
        if observe::is_asked() {
            self.answer();
        }
        if self.timers == 0 { self.advance() } else { self.advance_timed() }
    }

    fn call_is_due(&self) -> bool {
        !self.due.is_empty()
    }

    fn call(t: &mut Token) {
        let due = t.lock().due.pop_front();
        if let Some(due) = due {
            due(t);
        }
    }

    fn wants_turn(&self) -> bool {
        self.p2p.needs_turn()
    }

    fn arm(&mut self) -> Option<Sleep> {
        self.sleeps = self.sleeps.wrapping_add(1);
        self.p2p.arm()
    }

    fn must_arm_again(&self) -> bool {
        self.p2p.bml.must_arm_again()
    }

    fn disarm(&mut self) {
        self.p2p.bml.disarm();
    }

    fn must_look_for_losses(&self) -> bool {
        self.node.is_some() || self.p2p.must_look_for_losses()
    }

    fn look_for_losses(&mut self) -> bool {
        self.look_at_launcher();
        let State { node, p2p, .. } = self;
        p2p.look_for_losses(|peer| node.as_ref().is_some_and(|node| node.has_ended(peer)))
    }

    fn is_settled(&self) -> bool {
        self.p2p.is_settled()
    }

    fn show(&self, section: &observe::Section) {
        shown::show(self, section);
    }

    fn request(&self, id: ReqId) -> Reason {
        reason::of_request(self, id)
    }

    fn begun(&self) -> Vec<observe::Part> {
        self.requests.iter().filter_map(|operation| operation.lacks(self)).collect()
    }
}

impl Linked for State {
    #[inline(always)]
    fn p2p(&mut self) -> &mut P2p {
        &mut self.p2p
    }

    #[inline(always)]
    fn links(&self) -> &P2p {
        &self.p2p
    }

    fn classes(&self) -> &Classes<State> {
        &self.classes
    }

    fn poll(&mut self) -> usize {
        engine::poll(self)
    }
}

impl Requesting for State {
    fn requests(&mut self) -> &mut Requests<State> {
        &mut self.requests
    }
}

impl State {
    /// As [`State::progress`], while a tool measures the time that it takes.
    #[cold]
    fn advance_timed(&mut self) -> bool {
        let start = Instant::now();
        let happened = self.advance();
        self.progress_time += start.elapsed().as_nanos() as u64;
        happened
    }

    #[inline]
    fn advance(&mut self) -> bool {
        let mut happened = Linked::poll(self) > 0;
        // Threads that wait for what a lost peer was to bring about learn of it, too.
        happened |= self.take_losses();
        if self.requests.has_work() {
            happened |= engine::advance_all(self);
        }
        if happened {
            self.threads.changed();
        }
        happened
    }
}

/// Polls the slot of the process that is waited for between two polls of everything.
const POLLS: u32 = 32;

impl State {
    /// How often one process is polled between two polls of everything. Where ranks share a core, the sender needs it
    /// more than a second poll does.
    #[inline(always)]
    pub fn polls(&self) -> u32 {
        if self.params.waiting.spin.is_zero() { 1 } else { POLLS }
    }

    /// The result of a request of the PML, if it is complete or becomes so by some polls of its sender.
    #[inline]
    pub fn take_awaited(&mut self, id: ReqId) -> Option<Done> {
        let polls = self.polls();
        let done = self.p2p.take_awaited(id, polls);
        if done.is_some_and(|done| done.error == abi::ERR_PROC_ABORTED) {
            self.take_losses();
        }
        done
    }

    /// Acts on the peers that were lost: what ends the job reports why, which the error of a request does not know. Whether
    /// there were any.
    #[inline]
    pub fn take_losses(&mut self) -> bool {
        let mut any = false;
        while let Some(peer) = self.p2p.next_lost() {
            self.lost.push(peer);
            self.note_lost(peer);
            (self.on_loss)(self, peer);
            any = true;
        }
        if any {
            // Threads that are parked look at the lost, whichever call has taken them.
            self.threads.changed();
        }
        any
    }
}

/// Waits until `ready` gives a result that any thread's progress may bring, making progress meanwhile. Others do not see what it is for, and
/// take it for one that may end: no other rank's program alone brings its end about. An agreement ends also when the launcher announces a
/// failure, an access to a file by a thread of the library, a meeting by another job.
#[inline]
pub fn wait_for<R>(t: &mut Token, ready: impl FnMut(&mut State) -> Option<R>) -> R {
    wait(t, How::Parked(Interest::Change), unknown, ready)
}

/// As [`wait_for`], of which others see what it is for once it has lasted for long: `why`.
#[inline]
pub fn wait_for_seen<R>(
    t: &mut Token,
    why: impl FnMut(&mut State) -> Reason,
    ready: impl FnMut(&mut State) -> Option<R>,
) -> R {
    wait(t, How::Parked(Interest::Change), why, ready)
}

/// As [`wait_for`], for the end of a request of the message layer.
#[inline]
pub fn wait_for_request<R>(t: &mut Token, id: ReqId, ready: impl FnMut(&mut State) -> Option<R>) -> R {
    wait_for_request_seen(t, id, |state| reason::of_request(state, id), ready)
}

/// As [`wait_for_request`], of which others see what it is for once it has lasted for long: `why`.
#[inline]
pub fn wait_for_request_seen<R>(
    t: &mut Token,
    id: ReqId,
    why: impl FnMut(&mut State) -> Reason,
    ready: impl FnMut(&mut State) -> Option<R>,
) -> R {
    wait(t, How::Parked(Interest::Request(id)), why, ready)
}

/// As [`wait_for`], for what only `ready` itself moves forward.
#[inline]
pub fn wait_actively<R>(t: &mut Token, ready: impl FnMut(&mut State) -> Option<R>) -> R {
    wait(t, How::Active, unknown, ready)
}

/// As [`wait_actively`], of which others see what it is for once it has lasted for long: `why`.
#[inline]
pub fn wait_actively_seen<R>(
    t: &mut Token,
    why: impl FnMut(&mut State) -> Reason,
    ready: impl FnMut(&mut State) -> Option<R>,
) -> R {
    wait(t, How::Active, why, ready)
}

/// As [`wait_actively_seen`], with a look of the caller's own: see [`engine::wait_checked`].
pub fn wait_actively_checked<R>(
    t: &mut Token,
    check: &mut dyn FnMut(&mut State) -> bool,
    why: impl FnMut(&mut State) -> Reason,
    ready: impl FnMut(&mut State) -> Option<R>,
) -> R {
    let result = engine::wait_checked(t, How::Active, check, why, ready);
    follow(t);
    result
}

/// Whom a wait is for is not known: anything may end it.
#[cold]
fn unknown(_: &mut State) -> Reason {
    Reason::outside()
}

/// As [`wait_actively`], until `deadline` at the latest; `None`: it passed.
pub fn wait_actively_until<R>(
    t: &mut Token,
    deadline: Instant,
    ready: impl FnMut(&mut State) -> Option<R>,
) -> Option<R> {
    let result = engine::wait_until(t, How::Active, deadline, unknown, ready);
    follow(t);
    result
}

/// Does what follows every wait.
fn follow(t: &mut Token) {
    let after = t.lock().after_wait;
    if let Some(after) = after {
        after(t);
    }
}

/// Waits, then does what follows every wait.
#[inline(always)]
fn wait<R>(
    t: &mut Token,
    how: How<Interest>,
    why: impl FnMut(&mut State) -> Reason,
    mut ready: impl FnMut(&mut State) -> Option<R>,
) -> R {
    let mut after = None;
    let result = engine::wait(t, how, why, |state: &mut State| {
        let result = ready(state);
        if result.is_some() {
            after = state.after_wait;
        }
        result
    });
    if let Some(after) = after {
        after(t);
    }
    result
}

/// Polls in a row that find nothing, after which a program that polls yields on an oversubscribed node: a loop
/// around `MPI_Iprobe` or `MPI_Test` would otherwise hold the core that the awaited rank needs.
const FRUITLESS_POLLS: u32 = 3;

/// Polls after which a program that polls sees whether it is time to look for losses, as a wait does, whatever they find. Few, as a
/// program may compute or yield for long between two of them.
const POLLS_FOR_THE_CLOCK: u32 = 1 << 7;

/// Makes progress once, runs callbacks that became due, and returns; yields where polls in a row find nothing.
pub fn poll(t: &mut Token) {
    advance(t, true);
}

/// As [`poll`], for a program that has work: it does not yield.
pub fn make_progress(t: &mut Token) {
    advance(t, false);
}

/// Has the transports look for peers that have ended without a word, where there may be such and it is time for that.
#[cold]
fn look_for_losses(state: &mut State) {
    let now = Instant::now();
    if state.next_look.is_some_and(|at| now < at) {
        return;
    }
    let is_first = state.next_look.replace(now + LOOK).is_none();
    if !is_first && state.must_look_for_losses() {
        state.look_for_losses();
    }
}

fn advance(t: &mut Token, polls: bool) {
    let (due, yields, after) = {
        let mut state = t.lock();
        if state.progress() {
            state.fruitless_polls = 0;
        } else if polls {
            state.fruitless_polls = state.fruitless_polls.checked_add(1).unwrap_or(FRUITLESS_POLLS);
        }
        state.polls = state.polls.wrapping_add(1);
        if state.polls.is_multiple_of(POLLS_FOR_THE_CLOCK) {
            look_for_losses(&mut state);
        }
        let yields =
            polls && state.fruitless_polls > FRUITLESS_POLLS && state.params.waiting.is_oversubscribed();
        (state.call_is_due(), yields, state.after_wait)
    };
    engine::see_to_connections(t);
    if yields {
        platform::waiter::give_way();
    }
    if due {
        State::call(t);
    }
    if let Some(after) = after {
        after(t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bml::Bml;
    use btl::Peer;
    use engine::{Layer, Peers};
    use mem::UserMem;
    use pml::{Data, Pattern, Receives};
    use pml_ob1::{Config, Ob1};

    /// A call that gets the error of its own request takes the loss away from progress, and must announce it in its place.
    #[test]
    fn a_loss_that_a_request_brings_is_announced_to_threads_that_wait_for_it() {
        let (mut bml, mut ob1) = (Bml::solo(), Ob1::new(Config::new(2)));
        let pattern = Pattern { context: 0, source: 1, tag: 3, peer: Some(Peer(1)), owner: 0 };
        let id = ob1.irecv(&mut bml, &pattern, Data::Contiguous(UserMem::EMPTY)).expect("a receive");
        // Another thread's send has polled: the peer is lost, and nothing of that was taken yet.
        ob1.peer_lost(&mut bml, Peer(1));
        let mut state = State::new();
        state.p2p = P2p::new(bml, Layer::ob1(ob1), Peers::of_job(0, 2));
        assert!(!state.threads.has_changed());
        let done = state.take_awaited(id).expect("the receive has ended");
        assert_eq!(done.error, abi::ERR_PROC_ABORTED);
        assert_eq!(state.lost, [Peer(1)]);
        assert!(state.threads.has_changed(), "threads that wait for the peer are not woken");
    }
}
