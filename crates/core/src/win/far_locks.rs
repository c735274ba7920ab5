//! Locks between nodes: the target acquires its own lock for a rank of another node.
//!
//! ```text
//!   origin                  target
//!   LOCK, token          ─► queues an `osc::Acquire` of the words of its node, in the order of all that want the lock
//!   lock, or first          polls it whenever a rank of its node rings, or a message comes
//!   operation, returns   ◄─ GRANTED, or REFUSED if a process that may hold the lock is lost
//!   CHECK, now and then  ─► finds out whether such a process has ended
//!   UNLOCK               ─► gives it back, and rings those of its node that wait
//! ```
//! `MPI_Win_lock_all` sends nothing. It locks each rank of another node, shared, at the first operation on it.

use std::collections::HashMap;
use std::time::Instant;

use abi::Result;
use osc::{Acquire, Wish};

use super::far::{CHECK, LOCK, UNLOCK, request};
use super::locks::{HOLDER_ENDED, PATIENCE};
use super::{Window, Windows, await_window};
use crate::domain::Token;
use crate::wait::wait_actively_until;

/// Ranks that an epoch of `MPI_Win_lock_all` has locked, and whether that was granted.
pub(super) type Joined = HashMap<u32, bool>;

/// A lock of this process that a rank of another node wants.
pub(crate) struct Waiting {
    rank: u32,
    token: u64,
    wish: Wish,
    lock: Acquire,
}

/// What has become of a lock that a rank wanted, with its token.
pub(super) struct Decided {
    pub rank: u32,
    pub token: u64,
    pub granted: bool,
}

/// Waits until a rank of another node has granted its lock.
pub(super) fn lock(t: &mut Token, win: abi::Win, target: u32, exclusive: bool) -> Result<()> {
    let (token, rank, holds) = {
        let mut state = t.lock();
        let holds = state.windows.held > 0;
        let window = state.windows.get_mut(win)?;
        let rank = window.rank;
        let Some(far) = &mut window.far else { return Ok(()) };
        (far.token(), rank, holds)
    };
    request(t, win, target, LOCK, &[token, exclusive.into(), holds.into(), rank.into()], &[])?;
    let answered = |window: &mut Window| {
        let far = window.far.as_mut()?;
        if take(&mut far.granted, token) {
            return Some(Ok(()));
        }
        (take(&mut far.refused, token) || far.lost.contains(&target)).then_some(Err(HOLDER_ENDED))
    };
    loop {
        let deadline = Instant::now() + PATIENCE;
        let outcome = wait_actively_until(t, deadline, |state| match state.windows.get_mut(win) {
            Err(error) => Some(Err(error)),
            Ok(window) => answered(window),
        });
        match outcome {
            Some(outcome) => return outcome,
            None if t.lock().windows.get(win)?.has_ended(target) => return Err(HOLDER_ENDED),
            None => request(t, win, target, CHECK, &[], &[])?,
        }
    }
}

/// Takes a token out of those that have come; whether it was there.
fn take(tokens: &mut Vec<u64>, token: u64) -> bool {
    let found = tokens.iter().position(|&one| one == token);
    found.map(|at| tokens.swap_remove(at)).is_some()
}

/// Gives a lock back to a rank of another node.
pub(super) fn unlock(t: &mut Token, win: abi::Win, target: u32, exclusive: bool) -> Result<()> {
    request(t, win, target, UNLOCK, &[exclusive.into()], &[])
}

/// Locks a rank of another node at the first operation on it in an epoch of `MPI_Win_lock_all`. Other threads wait for that.
pub(super) fn join(t: &mut Token, win: abi::Win, target: u32) -> Result<()> {
    let is_first = await_window(t, win, |window, _| {
        let joins = window.epochs.locks_all();
        let joined = window.far.as_mut().map(|far| &mut far.joined).filter(|_| joins);
        match joined.map(|joined| (joined.get(&target).copied(), joined)) {
            None | Some((Some(true), _)) => Some(Ok(false)),
            Some((Some(false), _)) => None,
            Some((None, joined)) => {
                joined.insert(target, false);
                Some(Ok(true))
            }
        }
    })?;
    if !is_first {
        return Ok(());
    }
    let locked = lock(t, win, target, false);
    let mut state = t.lock();
    if let Some(far) = &mut state.windows.get_mut(win)?.far {
        match locked {
            Ok(()) => far.joined.insert(target, true),
            Err(_) => far.joined.remove(&target),
        };
    }
    state.threads.changed();
    locked
}

/// Gives the locks back that operations in an epoch of `MPI_Win_lock_all` have taken.
pub(super) fn leave(t: &mut Token, win: abi::Win) -> Result<()> {
    let joined = {
        let mut state = t.lock();
        let far = state.windows.get_mut(win)?.far.as_mut();
        far.map(|far| std::mem::take(&mut far.joined)).unwrap_or_default()
    };
    joined.into_keys().map(|target| unlock(t, win, target, false)).fold(Ok(()), Result::and)
}

impl Windows {
    /// Queues a lock of a window's own rank for another one.
    pub(super) fn enqueue(&mut self, number: u64, rank: u32, token: u64, exclusive: bool, holds: bool) {
        let Some(window) = self.numbered(number) else { return };
        let wish = window.own_wish(exclusive);
        let lock = Acquire::new(wish, rank, holds);
        if let Some(far) = &mut window.far {
            far.queue.push(Waiting { rank, token, wish, lock });
            self.waiting += 1;
        }
    }

    /// What has become of the locks of a window that others want and that can be had now, or, if that is to be found out, not any
    /// more since a process has ended.
    pub(super) fn decide(&mut self, number: u64, checks: bool) -> Vec<Decided> {
        let Some(window) = self.numbered(number) else { return Vec::new() };
        let decided = window.decide(checks);
        self.waiting -= decided.len();
        decided
    }

    /// Nobody waits for the locks of a window any more.
    pub(super) fn forget_waiting(&mut self, window: &Window) {
        self.waiting -= window.far.as_ref().map_or(0, |far| far.queue.len());
    }

    /// The numbers of the windows with locks that others want.
    pub(super) fn wanted(&mut self) -> Vec<u64> {
        let is_wanted = |window: &Window| window.far.as_ref().is_some_and(|far| !far.queue.is_empty());
        self.iter_mut().filter(|(_, window)| is_wanted(window)).map(|(number, _)| number).collect()
    }
}

impl Window {
    fn own_wish(&self, exclusive: bool) -> Wish {
        if exclusive { Wish::Exclusive(self.local) } else { Wish::Shared(self.local) }
    }

    fn decide(&mut self, checks: bool) -> Vec<Decided> {
        let Some(far) = &mut self.far else { return Vec::new() };
        let mut waiting = std::mem::take(&mut far.queue);
        let (mut decided, mut before) = (Vec::new(), usize::MAX);
        // One that has got through a turnstile lets the next one go on.
        while before != decided.len() {
            before = decided.len();
            waiting.retain_mut(|Waiting { rank, token, wish, lock }| {
                let granted = self.acquire(lock);
                if granted {
                    decided.push(Decided { rank: *rank, token: *token, granted });
                    if self.has_left(*rank) {
                        osc::release(self.control.view(), *wish, |local| self.ring(local));
                    }
                }
                !granted
            });
        }
        if checks {
            waiting.retain_mut(|Waiting { rank, token, wish, lock }| {
                let refused = self.has_holder_ended(*wish);
                if refused {
                    lock.abandon(self.control.view(), self.local, &mut self.announced);
                    decided.push(Decided { rank: *rank, token: *token, granted: false });
                }
                !refused
            });
        }
        if let Some(far) = &mut self.far {
            far.queue = waiting;
        }
        decided
    }

    /// Whether a rank of another node is lost, which cannot give anything back.
    fn has_left(&self, rank: u32) -> bool {
        self.far.as_ref().is_some_and(|far| far.lost.contains(&rank))
    }

    /// Gives a lock of this process back for a rank of another node.
    pub(super) fn release(&self, exclusive: bool) {
        osc::release(self.control.view(), self.own_wish(exclusive), |local| self.ring(local));
    }
}
