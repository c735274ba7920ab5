//! Passive target synchronisation (MPI-5.0 section 12.5.3).
//!
//! The words of a target's node are its lock. Ranks of that node take it themselves, the target takes it for others
//! (far.rs). The lock of `MPI_Win_lock_all` is one addition to the words of the own node, which other nodes do not see:
//! a rank there is locked at the first operation on it.

use abi::{Error, Result};
use engine::{P2p, Reason};
use observe::Kind;
use osc::{Acquire, Passive, Wish};

use super::fast::order;
use super::{WINDOWS, Window, await_living, check_assert, far, ring};
use objects::domain::{Attempt, Token, enter_plain};
use objects::state::State;

impl Window {
    /// Tries to go on with the acquisition of a lock.
    pub(super) fn acquire(&mut self, lock: &mut Acquire) -> bool {
        let Window { control, doorbells, announced, local, .. } = self;
        lock.poll(control.view(), *local, announced, |local| ring(doorbells, local))
    }
}

/// # Errors
/// `MPI_ERR_LOCKTYPE`
fn is_exclusive(lock_type: i32) -> Result<bool> {
    match lock_type {
        abi::LOCK_EXCLUSIVE => Ok(true),
        abi::LOCK_SHARED => Ok(false),
        _ => Err(Error::new(
            abi::ERR_LOCKTYPE,
            "the lock type is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED",
        )),
    }
}

/// `MPI_Win_lock`. The lock is held when the call returns, even if others want it.
pub fn lock(t: &mut Token, lock_type: i32, rank: i32, assert: i32, win: abi::Win) -> Result<()> {
    let exclusive = is_exclusive(lock_type)?;
    check_assert(assert, abi::MODE_NOCHECK)?;
    let target = {
        let mut state = t.lock();
        let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
        if rank == abi::PROC_NULL {
            return Ok(());
        }
        let target = window.check_rank(rank)?;
        window.epochs.may_lock(target)?;
        target
    };
    let lock = Passive { target, exclusive, checked: assert & abi::MODE_NOCHECK == 0 };
    if lock.checked {
        let near = WINDOWS.get(&t.lock().tables).get(win)?.near(target);
        match near.and_then(|near| lock.wish(near.local)) {
            Some(wish) => await_lock(t, win, wish)?,
            None => far::lock(t, win, target, exclusive)?,
        }
    }
    let mut state = t.lock();
    WINDOWS.get_mut(&mut state.tables).held += 1;
    WINDOWS.get_mut(&mut state.tables).get_mut(win)?.epochs.lock(lock);
    Ok(())
}

/// Waits until this process has a lock of its node.
pub(super) fn await_lock(t: &mut Token, win: abi::Win, wish: Wish) -> Result<()> {
    let mut lock = {
        let state = t.lock();
        let windows = WINDOWS.get(&state.tables);
        Acquire::new(wish, windows.get(win)?.rank, windows.held > 0)
    };
    let acquired = |window: &mut Window, _: &mut P2p| window.acquire(&mut lock).then_some(Ok(()));
    let why = |state: &State, window: &Window| Reason {
        call: if wish == Wish::All { "MPI_Win_lock_all" } else { "MPI_Win_lock" },
        ..window.awaits_any(state, Kind::Lock)
    };
    let outcome = await_living(t, win, why, acquired, |window, _| window.check_holders(wish));
    if outcome.is_err()
        && let Ok(window) = WINDOWS.get_mut(&mut t.lock().tables).get_mut(win)
    {
        lock.abandon(window.control.view(), window.local, &mut window.announced);
    }
    outcome
}

/// The error where a lock cannot be had any more.
pub(super) const HOLDER_ENDED: Error =
    Error::new(abi::ERR_PROC_ABORTED, "a process that holds the lock, or may hold it, has ended");

impl Window {
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` if a process has ended that holds a lock that is waited for, or may hold it.
    fn check_holders(&self, wish: Wish) -> Result<()> {
        if self.has_holder_ended(wish) { Err(HOLDER_ENDED) } else { Ok(()) }
    }

    /// Whether a process has ended that holds a lock against `wish`, or may hold it.
    pub(super) fn has_holder_ended(&self, wish: Wish) -> bool {
        match osc::holder(self.control.view(), wish) {
            Some(rank) => self.has_ended(rank),
            None => self.has_any_ended(),
        }
    }

    /// Whether a process of the window has ended, as far as that can be known.
    pub(super) fn has_any_ended(&self) -> bool {
        self.ended().next().is_some()
    }

    /// The ranks of the window whose processes have ended, as far as that can be known.
    pub(super) fn ended(&self) -> impl Iterator<Item = u32> {
        (0..self.ranks() as u32).filter(|&rank| self.has_ended(rank))
    }
}

/// `MPI_Win_lock`'s fast path: a lock that can be had at once.
#[inline(always)]
pub fn lock_at_once(lock_type: i32, rank: i32, assert: i32, win: abi::Win) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    if try_lock(&mut guard, lock_type, rank, assert, win).is_none() {
        return guard.give_up();
    }
    Attempt::DONE
}

#[inline(always)]
fn try_lock(state: &mut State, lock_type: i32, rank: i32, assert: i32, win: abi::Win) -> Option<()> {
    let exclusive = is_exclusive(lock_type).ok()?;
    let holds = WINDOWS.get(&state.tables).held > 0;
    let window = WINDOWS.get_mut(&mut state.tables).last_used(win)?;
    let target = window.check_rank(rank).ok()?;
    let near = window.near(target).filter(|_| assert == 0)?;
    window.epochs.may_lock(target).ok()?;
    let lock = Passive { target, exclusive, checked: true };
    let Window { control, doorbells, rank, .. } = &*window;
    let acquire = Acquire::new(lock.wish(near.local)?, *rank, holds);
    if !acquire.attempt(control.view(), |local| ring(doorbells, local)) {
        return None;
    }
    window.epochs.lock(lock);
    WINDOWS.get_mut(&mut state.tables).held += 1;
    Some(())
}

/// `MPI_Win_unlock`
pub fn unlock(t: &mut Token, rank: i32, win: abi::Win) -> Result<()> {
    let mut state = t.lock();
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
    if rank == abi::PROC_NULL {
        return Ok(());
    }
    let target = window.check_rank(rank)?;
    let lock = window.epochs.unlock(target)?;
    if let Some(near) = window.near(target) {
        window.give_back(lock.wish(near.local));
        WINDOWS.get_mut(&mut state.tables).held -= 1;
        return Ok(());
    }
    WINDOWS.get_mut(&mut state.tables).held -= 1;
    drop(state);
    let flushed = far::flush(t, win, Some(target));
    if lock.checked {
        far::unlock(t, win, target)?;
    }
    flushed
}

/// `MPI_Win_unlock`'s fast path: of a rank of this node.
#[inline(always)]
pub fn unlock_at_once(rank: i32, win: abi::Win) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let windows = WINDOWS.get_mut(&mut guard.tables);
    let Some(window) = windows.last_used(win) else { return guard.give_up() };
    // A negative rank is a huge one.
    let Some(near) = window.near(rank as u32) else { return guard.give_up() };
    let Ok(lock) = window.epochs.unlock(near.rank) else { return guard.give_up() };
    window.give_back(lock.wish(near.local));
    windows.held -= 1;
    Attempt::DONE
}

/// `MPI_Win_lock_all`
pub fn lock_all(t: &mut Token, assert: i32, win: abi::Win) -> Result<()> {
    check_assert(assert, abi::MODE_NOCHECK)?;
    WINDOWS.get_mut(&mut t.lock().tables).get_mut(win)?.epochs.may_lock_all()?;
    let checked = assert & abi::MODE_NOCHECK == 0;
    if checked {
        await_lock(t, win, Wish::All)?;
    }
    let mut state = t.lock();
    WINDOWS.get_mut(&mut state.tables).held += 1;
    WINDOWS.get_mut(&mut state.tables).get_mut(win)?.epochs.lock_all(checked);
    Ok(())
}

/// `MPI_Win_unlock_all`; the locks are given back even if operations have failed.
pub fn unlock_all(t: &mut Token, win: abi::Win) -> Result<()> {
    let (lock, has_far) = {
        let mut state = t.lock();
        let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
        (window.epochs.unlock_all()?, window.far.is_some())
    };
    let done = if has_far {
        let flushed = far::flush(t, win, None);
        flushed.and(far::leave(t, win))
    } else {
        Ok(())
    };
    let mut state = t.lock();
    WINDOWS.get_mut(&mut state.tables).held -= 1;
    WINDOWS.get(&state.tables).get(win)?.give_back(lock);
    done
}

impl Window {
    /// Gives a lock of this node back. What was done under it is seen before.
    #[inline]
    fn give_back(&self, lock: Option<Wish>) {
        match lock {
            Some(wish) => osc::release(self.control.view(), wish, |rank| self.ring(rank)),
            None => order(),
        }
    }
}
