//! Locks between nodes: the target acquires its own lock for a rank of another node.
//!
//! ```text
//!   origin                  target
//!   LOCK, token          ─► queues an `osc::Acquire` of the words of its node, in the order of all that want the lock;
//!                           FAILED if the origin wants or holds one already (`osc::Holders`), GONE if there is no such window
//!   lock, or first          polls it whenever a rank of its node rings, or a message comes
//!   operation, returns   ◄─ GRANTED, or REFUSED if a process that may hold the lock is lost
//!   CHECK, now and then  ─► finds out whether such a process has ended
//!   UNLOCK               ─► gives it back if the origin holds it, and rings those of its node that wait
//! ```
//! `MPI_Win_lock_all` sends nothing. It locks each rank of another node, shared, at the first operation on it. The
//! first such lock of an epoch queues behind writers that wait, since they would starve otherwise; those that follow go
//! past them, since two epochs that share locks crosswise behind two writers would wait for each other. The first one,
//! too, may close such a circle, by way of the lock of the own node. So whatever waits long goes past as well: a CHECK
//! gives it a second `Acquire`, one that holds a lock.

use std::time::{Duration, Instant};

use abi::{Error, Result};
use osc::{Acquire, Wish};

use super::far::{CHECK, LOCK, UNLOCK, begun, request};
use super::locks::HOLDER_ENDED;
use super::{WINDOWS, Window, Windows, await_window};
use objects::domain::Token;
use objects::state::State;
use objects::wait::wait_actively_until;

/// Ranks of other nodes that an epoch of `MPI_Win_lock_all` has locked.
#[derive(Default)]
pub struct Joined {
    /// By rank; empty before the first one.
    steps: Vec<FarLockState>,
    /// Those that are not [`FarLockState::None`].
    ranks: Vec<u32>,
}

/// How far such a lock is.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum FarLockState {
    #[default]
    None,
    Wanted,
    Granted,
}

impl Joined {
    fn step(&self, rank: u32) -> FarLockState {
        self.steps.get(rank as usize).copied().unwrap_or_default()
    }

    fn want(&mut self, rank: u32, ranks: usize) {
        self.steps.resize(ranks, FarLockState::None);
        self.steps[rank as usize] = FarLockState::Wanted;
        self.ranks.push(rank);
    }

    /// The lock was granted, or cannot be had.
    fn decide(&mut self, rank: u32, granted: bool) {
        let Some(step) = self.steps.get_mut(rank as usize) else { return };
        *step = if granted { FarLockState::Granted } else { FarLockState::None };
        if !granted {
            self.ranks.retain(|&one| one != rank);
        }
    }
}

/// A lock of this process that a rank of another node wants.
pub struct Waiting {
    rank: u32,
    token: u64,
    wish: Wish,
    lock: Acquire,
    /// The way past those that wait.
    past: Option<Acquire>,
    /// It was granted by that way. The other still has a ticket, so its turn has to come.
    granted: bool,
}

/// What has become of a lock that a rank wanted, with its token.
pub(super) struct Decided {
    pub rank: u32,
    pub token: u64,
    pub granted: bool,
}

/// Waits until a rank of another node has granted its lock.
pub(super) fn lock(t: &mut Token, win: abi::Win, target: u32, exclusive: bool) -> Result<()> {
    let holds = WINDOWS.get(&t.lock().tables).held > 0;
    acquire(t, win, target, exclusive, holds)
}

/// How long a process waits for a lock before it asks whether a process that may hold it has ended: long enough for a look for losses, that
/// of the target itself among them.
const TIMEOUT: Duration = engine::LOOK.saturating_add(Duration::from_millis(100));

/// As [`lock`]; `holds`: past those that wait.
fn acquire(t: &mut Token, win: abi::Win, target: u32, exclusive: bool, holds: bool) -> Result<()> {
    let (token, rank) = {
        let mut state = t.lock();
        let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
        let rank = window.rank;
        let Some(far) = &mut window.far else { return Ok(()) };
        (far.operations.begin_lock(target)?, rank)
    };
    let sent = request(t, win, target, LOCK, &[token, exclusive.into(), holds.into(), rank.into()], &[]);
    begun(t, win, token, sent)?;
    // Each turn is one more question to the target: its answer, or its loss, ends this. Others do not see whom this waits for: the questions
    // wake the target, so none of its waits would stay the same from one look at dead-locks to the next.
    loop {
        let deadline = Instant::now() + TIMEOUT;
        let outcome = wait_actively_until(t, deadline, |State { tables, p2p, .. }| {
            match WINDOWS.get_mut(tables).get_mut(win) {
                Err(error) => Some(Err(error)),
                Ok(window) => window.take(p2p, token),
            }
        });
        match outcome {
            Some(outcome) => return outcome,
            None => {
                let asked = has_ended(t, win, target).and_then(|()| request(t, win, target, CHECK, &[], &[]));
                begun(t, win, token, asked)?
            }
        };
    }
}

/// # Errors
/// `MPI_ERR_PROC_ABORTED` if the process of a rank has ended, though no transport has reported that yet.
fn has_ended(t: &mut Token, win: abi::Win, target: u32) -> Result<()> {
    if WINDOWS.get(&t.lock().tables).get(win)?.has_ended(target) { Err(HOLDER_ENDED) } else { Ok(()) }
}

/// The error of a lock that its target has no place for.
pub(super) const NOT_GRANTED: Error = Error::new(
    abi::ERR_RMA_SYNC,
    "the target does not grant the lock: this process wants or holds one of it already",
);

/// Gives a lock back to a rank of another node.
pub(super) fn unlock(t: &mut Token, win: abi::Win, target: u32) -> Result<()> {
    let rank = WINDOWS.get(&t.lock().tables).get(win)?.rank;
    request(t, win, target, UNLOCK, &[rank.into()], &[])
}

/// Locks a rank of another node at the first operation on it in an epoch of `MPI_Win_lock_all`. Other threads wait for
/// that.
pub(super) fn join(t: &mut Token, win: abi::Win, target: u32) -> Result<()> {
    let is_first = await_window(t, win, |window, _| {
        let (joins, ranks) = (window.epochs.locks_all(), window.ranks());
        let Some(far) = window.far.as_mut().filter(|_| joins) else { return Some(Ok(false)) };
        match far.joined.step(target) {
            FarLockState::Granted => Some(Ok(false)),
            FarLockState::Wanted => None,
            FarLockState::None => {
                far.joined.want(target, ranks);
                Some(Ok(true))
            }
        }
    })?;
    if !is_first {
        return Ok(());
    }
    let holds = {
        let state = t.lock();
        let has_joined = |far: &super::far::Far| far.joined.ranks.len() > 1;
        // One lock is that of this epoch.
        WINDOWS.get(&state.tables).held > 1
            || WINDOWS.get(&state.tables).get(win)?.far.as_ref().is_some_and(has_joined)
    };
    let locked = acquire(t, win, target, false, holds);
    let mut state = t.lock();
    if let Some(far) = &mut WINDOWS.get_mut(&mut state.tables).get_mut(win)?.far {
        far.joined.decide(target, locked.is_ok());
    }
    state.threads.changed();
    locked
}

/// Gives the locks back that operations in an epoch of `MPI_Win_lock_all` have taken.
pub(super) fn leave(t: &mut Token, win: abi::Win) -> Result<()> {
    let joined = {
        let mut state = t.lock();
        let far = WINDOWS.get_mut(&mut state.tables).get_mut(win)?.far.as_mut();
        far.map(|far| std::mem::take(&mut far.joined)).unwrap_or_default()
    };
    joined.ranks.into_iter().map(|target| unlock(t, win, target)).fold(Ok(()), Result::and)
}

impl Windows {
    /// Queues a lock of a window's own rank for another one; `false`: that wants or holds one already.
    pub(super) fn enqueue(
        &mut self,
        number: u64,
        rank: u32,
        token: u64,
        exclusive: bool,
        holds: bool,
    ) -> bool {
        let Some(window) = self.numbered(number) else { return false };
        let wish = window.own_wish(exclusive);
        let Some(far) = window.far.as_mut() else { return false };
        if !far.holders.want(rank) {
            return false;
        }
        // A place that is left from a lock which went past those that wait serves the next one: so a rank has one place
        // of each kind at most.
        let left = far.queue.iter_mut().find(|one| one.rank == rank && one.wish == wish);
        if let Some(waiting) = left {
            (waiting.token, waiting.granted) = (token, false);
            waiting.past = holds.then(|| Acquire::new(wish, rank, true));
            return true;
        }
        let lock = Acquire::new(wish, rank, holds);
        far.queue.push(Waiting { rank, token, wish, lock, past: None, granted: false });
        self.waiting += 1;
        true
    }

    /// What has become of the locks of a window that others want and that can be had now, or, if that is to be found
    /// out, not any more since a process has ended.
    pub(super) fn decide(&mut self, number: u64, checks: bool) -> Vec<Decided> {
        let Some(window) = self.numbered(number) else { return Vec::new() };
        let before = window.waiting();
        let decided = window.decide(checks);
        let gone = before - window.waiting();
        self.waiting -= gone;
        decided
    }

    /// This process leaves a window: those that want its lock, with their tokens.
    pub(super) fn leave(&mut self, window: &mut Window) -> Vec<(u32, u64)> {
        self.waiting -= window.waiting();
        window.give_locks_up()
    }

    /// The numbers of the windows with locks that others want.
    pub(super) fn wanted(&mut self) -> Vec<u64> {
        self.iter_mut().filter(|(_, window)| window.waiting() > 0).map(|(number, _)| number).collect()
    }
}

impl Window {
    /// Whether an operation on a rank of another node needs no lock that this process has not got.
    #[inline]
    pub(super) fn has_joined(&self, rank: u32) -> bool {
        let granted = |far: &super::far::Far| far.joined.step(rank) == FarLockState::Granted;
        !self.epochs.locks_all() || self.far.as_ref().is_some_and(granted)
    }

    fn own_wish(&self, exclusive: bool) -> Wish {
        if exclusive { Wish::Exclusive(self.local) } else { Wish::Shared(self.local) }
    }

    /// Locks of this process that others want.
    fn waiting(&self) -> usize {
        self.far.as_ref().map_or(0, |far| far.queue.len())
    }

    fn decide(&mut self, checks: bool) -> Vec<Decided> {
        let Some(far) = &mut self.far else { return Vec::new() };
        let mut queue = std::mem::take(&mut far.queue);
        if checks {
            for waiting in &mut queue {
                waiting.past.get_or_insert_with(|| Acquire::new(waiting.wish, waiting.rank, true));
            }
        }
        let (mut decided, mut before) = (Vec::new(), None);
        // One that has got through a turnstile lets the next one go on.
        while before != Some((decided.len(), queue.len())) {
            before = Some((decided.len(), queue.len()));
            queue.retain_mut(|waiting| !self.grant(waiting, &mut decided));
        }
        if checks {
            queue.retain_mut(|waiting| !self.refuse(waiting, &mut decided));
        }
        if let Some(far) = &mut self.far {
            far.queue = queue;
        }
        decided
    }

    /// Tries to get a lock for the rank that wants it; whether all is over with it.
    fn grant(&mut self, waiting: &mut Waiting, decided: &mut Vec<Decided>) -> bool {
        let Waiting { rank, token, wish, lock, past, granted } = waiting;
        let in_turn = self.acquire(lock);
        let by_past = !in_turn && !*granted && past.as_mut().is_some_and(|past| self.acquire(past));
        if in_turn && let Some(past) = past {
            past.abandon(self.control.view(), self.local, &mut self.announced);
        }
        // No rank would give back what was granted before, or is granted to a rank that is lost.
        if (in_turn && *granted) || ((in_turn || by_past) && self.has_left(*rank)) {
            osc::release(self.control.view(), *wish, |local| self.ring(local));
        }
        if (in_turn || by_past) && !*granted {
            if let Some(far) = &mut self.far {
                far.holders.hold(*rank, matches!(wish, Wish::Exclusive(_)));
            }
            decided.push(Decided { rank: *rank, token: *token, granted: true });
        }
        *granted |= by_past;
        in_turn
    }

    /// Gives a lock up if a process has ended that may hold it; whether that is so.
    fn refuse(&mut self, waiting: &mut Waiting, decided: &mut Vec<Decided>) -> bool {
        let Waiting { rank, token, wish, lock, past, granted } = waiting;
        if *granted || !self.has_holder_ended(*wish) {
            return false;
        }
        for lock in [Some(lock), past.as_mut()].into_iter().flatten() {
            lock.abandon(self.control.view(), self.local, &mut self.announced);
        }
        if let Some(far) = &mut self.far {
            far.holders.forget(*rank);
        }
        decided.push(Decided { rank: *rank, token: *token, granted: false });
        true
    }

    /// Gives back the lock that ranks of other nodes hold, for those of this node that still have the window, and gives up those that
    /// others want: these, with their tokens.
    fn give_locks_up(&mut self) -> Vec<(u32, u64)> {
        let Some(far) = &mut self.far else { return Vec::new() };
        let (mut queue, holders) = (std::mem::take(&mut far.queue), std::mem::take(&mut far.holders));
        for waiting in &mut queue {
            for lock in [Some(&mut waiting.lock), waiting.past.as_mut()].into_iter().flatten() {
                lock.abandon(self.control.view(), self.local, &mut self.announced);
            }
        }
        for exclusive in holders.held() {
            osc::release(self.control.view(), self.own_wish(exclusive), |local| self.ring(local));
        }
        queue.iter().filter(|waiting| !waiting.granted).map(|waiting| (waiting.rank, waiting.token)).collect()
    }

    /// Whether a rank of another node is lost, which cannot give anything back.
    fn has_left(&self, rank: u32) -> bool {
        self.far.as_ref().is_some_and(|far| far.operations.is_lost(rank))
    }

    /// Gives back the lock of this process that a rank of another node holds; `false`: it holds none.
    pub(super) fn release(&mut self, rank: u32) -> bool {
        let Some(exclusive) = self.far.as_mut().and_then(|far| far.holders.give_back(rank)) else {
            return false;
        };
        osc::release(self.control.view(), self.own_wish(exclusive), |local| self.ring(local));
        true
    }
}
