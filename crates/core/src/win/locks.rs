//! Passive target synchronisation (MPI-5.0 section 12.5.3).

use abi::{Error, Result};
use osc::{Acquire, Passive, Wish, release_all, release_exclusive, release_shared};

use super::fast::order;
use super::{Window, check_assert, far, ring};
use crate::domain::Token;
use crate::wait::wait_actively;

impl Window {
    /// Tries to go on with the acquisition of a lock.
    fn acquire(&mut self, lock: &mut Acquire) -> bool {
        let Window { control, doorbells, announced, rank, .. } = self;
        lock.poll(control.view(), *rank, announced, |rank| ring(doorbells, rank))
    }
}

/// `MPI_Win_lock`. The lock is held when the call returns, whoever else wants it.
pub fn lock(t: &mut Token, lock_type: i32, rank: i32, assert: i32, win: abi::Win) -> Result<()> {
    let exclusive = match lock_type {
        abi::LOCK_EXCLUSIVE => true,
        abi::LOCK_SHARED => false,
        _ => {
            return Err(Error::new(
                abi::ERR_LOCKTYPE,
                "the lock type is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED",
            ));
        }
    };
    check_assert(assert, abi::MODE_NOCHECK)?;
    let target = {
        let mut state = t.lock();
        let window = state.windows.get_mut(win)?;
        if rank == abi::PROC_NULL {
            return Ok(());
        }
        let target = window.check_rank(rank)?;
        window.epochs.may_lock(target)?;
        target
    };
    let checked = assert & abi::MODE_NOCHECK == 0;
    if checked {
        await_lock(t, win, if exclusive { Wish::Exclusive(target) } else { Wish::Shared(target) })?;
    }
    let mut state = t.lock();
    state.windows.held += 1;
    state.windows.get_mut(win)?.epochs.lock(Passive { target, exclusive, checked });
    Ok(())
}

/// Waits until this process has a lock.
fn await_lock(t: &mut Token, win: abi::Win, wish: Wish) -> Result<()> {
    if t.lock().windows.get(win)?.far.is_some() {
        return far::lock(t, win, wish);
    }
    let mut lock = {
        let mut state = t.lock();
        let mut lock = Acquire::new(wish, state.windows.held > 0);
        if state.windows.get_mut(win)?.acquire(&mut lock) {
            return Ok(());
        }
        lock
    };
    wait_actively(t, |state| match state.windows.get_mut(win) {
        Err(error) => Some(Err(error)),
        Ok(window) => window.acquire(&mut lock).then_some(Ok(())),
    })
}

/// `MPI_Win_unlock`
pub fn unlock(t: &mut Token, rank: i32, win: abi::Win) -> Result<()> {
    let mut state = t.lock();
    let window = state.windows.get_mut(win)?;
    if rank == abi::PROC_NULL {
        return Ok(());
    }
    let target = window.check_rank(rank)?;
    let lock = window.epochs.unlock(target)?;
    order();
    if window.far.is_some() {
        let wish = if lock.exclusive { Wish::Exclusive(target) } else { Wish::Shared(target) };
        state.windows.held -= 1;
        drop(state);
        return unlock_far(t, win, Some(target), lock.checked.then_some(wish));
    }
    if lock.checked {
        let (view, ring) = (window.control.view(), |rank| window.ring(rank));
        if lock.exclusive {
            release_exclusive(view, target, ring);
        } else {
            release_shared(view, target, ring);
        }
    }
    state.windows.held -= 1;
    Ok(())
}

/// `MPI_Win_lock_all`
pub fn lock_all(t: &mut Token, assert: i32, win: abi::Win) -> Result<()> {
    check_assert(assert, abi::MODE_NOCHECK)?;
    t.lock().windows.get_mut(win)?.epochs.may_lock_all()?;
    let checked = assert & abi::MODE_NOCHECK == 0;
    if checked {
        await_lock(t, win, Wish::All)?;
    }
    let mut state = t.lock();
    state.windows.held += 1;
    state.windows.get_mut(win)?.epochs.lock_all(checked);
    Ok(())
}

/// `MPI_Win_unlock_all`
pub fn unlock_all(t: &mut Token, win: abi::Win) -> Result<()> {
    let mut state = t.lock();
    let window = state.windows.get_mut(win)?;
    let checked = window.epochs.unlock_all()?;
    order();
    if window.far.is_some() {
        state.windows.held -= 1;
        drop(state);
        return unlock_far(t, win, None, checked.then_some(Wish::All));
    }
    if checked {
        release_all(window.control.view(), |rank| window.ring(rank));
    }
    state.windows.held -= 1;
    Ok(())
}

/// Ends an epoch of a window whose processes do not share memory; a lock is given back even if operations have failed.
fn unlock_far(t: &mut Token, win: abi::Win, target: Option<u32>, lock: Option<Wish>) -> Result<()> {
    let flushed = far::flush(t, win, target);
    if let Some(wish) = lock {
        far::unlock(t, win, wish)?;
    }
    flushed
}
