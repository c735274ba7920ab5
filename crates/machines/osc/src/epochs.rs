//! What a process may do with a window right now (MPI-5.0 section 12.5), and the error of what it may not.

use abi::{Error, Result};

use crate::locks::Wish;

const SYNC: i32 = abi::ERR_RMA_SYNC;
const NO_EPOCH: Error = Error::new(SYNC, "no access epoch to the target is open");
const NOT_PASSIVE: Error = Error::new(SYNC, "no passive target epoch to the target is open");
const IN_FENCE: Error = Error::new(SYNC, "operations since the last fence are not completed by a fence yet");
const STARTED: Error = Error::new(SYNC, "an access epoch of MPI_Win_start is open");
const LOCKED: Error = Error::new(SYNC, "the process holds a lock of the window");
const LOCKED_ALL: Error = Error::new(SYNC, "an epoch of MPI_Win_lock_all is open");

/// A lock that this process holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passive {
    /// Of which rank.
    pub target: u32,
    /// Whether no other process has it.
    pub exclusive: bool,
    /// Whether there is a lock at all, and not the program's word that none is needed (`MPI_MODE_NOCHECK`).
    pub checked: bool,
}

impl Passive {
    /// The lock to take and to give back, in words that know the target by `number`.
    #[inline]
    pub fn wish(&self, number: u32) -> Option<Wish> {
        let wish = if self.exclusive { Wish::Exclusive(number) } else { Wish::Shared(number) };
        self.checked.then_some(wish)
    }
}

/// The epochs of one process with one window.
#[derive(Default, Debug)]
pub struct Epochs {
    /// A fence was called that operations may follow.
    fence: bool,
    /// Operations have followed it.
    fence_used: bool,
    /// The ranks of the open access epoch of `MPI_Win_start`.
    started: Option<Vec<u32>>,
    /// Whether `MPI_Win_post` was called, and no wait yet.
    posted: bool,
    locks: Vec<Passive>,
    /// Whether an epoch of `MPI_Win_lock_all` is open, and if so whether there is a lock.
    all: Option<bool>,
}

impl Epochs {
    /// An operation on `target` begins.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`, as all errors here.
    #[inline]
    pub fn access(&mut self, target: u32) -> Result<()> {
        if self.all.is_some() || self.locks.iter().any(|lock| lock.target == target) {
            return Ok(());
        }
        self.access_actively(target)
    }

    fn access_actively(&mut self, target: u32) -> Result<()> {
        if let Some(group) = &self.started {
            return if group.contains(&target) { Ok(()) } else { Err(NO_EPOCH) };
        }
        if !self.fence || !self.locks.is_empty() {
            return Err(NO_EPOCH);
        }
        self.fence_used = true;
        Ok(())
    }

    /// Whether operations with a request, or a flush, may name `target`.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    #[inline]
    pub fn passive(&self, target: u32) -> Result<()> {
        let locked = self.all.is_some() || self.locks.iter().any(|lock| lock.target == target);
        if locked { Ok(()) } else { Err(NOT_PASSIVE) }
    }

    /// Whether any passive target epoch is open.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn any_passive(&self) -> Result<()> {
        if self.all.is_some() || !self.locks.is_empty() { Ok(()) } else { Err(NOT_PASSIVE) }
    }

    /// `MPI_Win_fence`; `open`: operations may follow.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn fence(&mut self, open: bool) -> Result<()> {
        self.not_locked()?;
        if self.started.is_some() {
            return Err(STARTED);
        }
        if self.posted {
            return Err(Error::new(SYNC, "an exposure epoch of MPI_Win_post is open"));
        }
        (self.fence, self.fence_used) = (open, false);
        Ok(())
    }

    fn not_locked(&self) -> Result<()> {
        if self.all.is_some() {
            return Err(LOCKED_ALL);
        }
        if self.locks.is_empty() { Ok(()) } else { Err(LOCKED) }
    }

    /// A fence that no operation has followed begins no epoch, so another kind may begin.
    fn leave_fence(&mut self) -> Result<()> {
        if self.fence_used {
            return Err(IN_FENCE);
        }
        self.fence = false;
        Ok(())
    }

    /// Whether `MPI_Win_start` may be called.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn may_start(&mut self) -> Result<()> {
        if self.started.is_some() {
            return Err(STARTED);
        }
        self.not_locked()?;
        self.leave_fence()
    }

    /// `MPI_Win_start` on the ranks of `group`.
    pub fn start(&mut self, group: Vec<u32>) {
        self.started = Some(group);
    }

    /// `MPI_Win_complete`; the ranks that were started.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn complete(&mut self) -> Result<Vec<u32>> {
        self.started.take().ok_or(Error::new(SYNC, "no access epoch of MPI_Win_start is open"))
    }

    /// `MPI_Win_post`.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn post(&mut self) -> Result<()> {
        if self.posted {
            return Err(Error::new(SYNC, "an exposure epoch of MPI_Win_post is open already"));
        }
        self.leave_fence()?;
        self.posted = true;
        Ok(())
    }

    /// Whether `MPI_Win_wait` or `MPI_Win_test` may be called.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn may_wait(&self) -> Result<()> {
        if self.posted {
            return Ok(());
        }
        Err(Error::new(SYNC, "no exposure epoch of MPI_Win_post is open"))
    }

    /// The exposure epoch is over.
    pub fn waited(&mut self) {
        self.posted = false;
    }

    /// Whether a lock of `target` may be taken.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn may_lock(&mut self, target: u32) -> Result<()> {
        if self.all.is_some() {
            return Err(LOCKED_ALL);
        }
        if self.started.is_some() {
            return Err(STARTED);
        }
        if self.locks.iter().any(|lock| lock.target == target) {
            return Err(Error::new(SYNC, "the process holds a lock of this target already"));
        }
        self.leave_fence()
    }

    /// A lock was taken.
    pub fn lock(&mut self, lock: Passive) {
        self.locks.push(lock);
    }

    /// `MPI_Win_unlock`; the lock to give back.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn unlock(&mut self, target: u32) -> Result<Passive> {
        let found = self.locks.iter().position(|lock| lock.target == target);
        let found = found.ok_or(Error::new(SYNC, "the process holds no lock of this target"))?;
        Ok(self.locks.swap_remove(found))
    }

    /// The targets of the locks that this process holds.
    pub fn locked(&self) -> impl Iterator<Item = u32> {
        self.locks.iter().map(|lock| lock.target)
    }

    /// Whether `MPI_Win_lock_all` may be called.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn may_lock_all(&mut self) -> Result<()> {
        self.not_locked()?;
        if self.started.is_some() {
            return Err(STARTED);
        }
        self.leave_fence()
    }

    /// `MPI_Win_lock_all`; `checked` as in [`Passive`].
    pub fn lock_all(&mut self, checked: bool) {
        self.all = Some(checked);
    }

    /// `MPI_Win_unlock_all`; the lock to give back, if there is one.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn unlock_all(&mut self) -> Result<Option<Wish>> {
        let checked = self.all.take().ok_or(Error::new(SYNC, "no epoch of MPI_Win_lock_all is open"))?;
        Ok(checked.then_some(Wish::All))
    }

    /// Whether no other process may access `target` now.
    #[inline]
    pub fn is_exclusive(&self, target: u32) -> bool {
        self.locks.iter().any(|lock| lock.exclusive && lock.target == target)
    }

    /// Whether an epoch of `MPI_Win_lock_all` is open whose lock is taken target by target, where that is so.
    pub fn locks_all(&self) -> bool {
        self.all == Some(true)
    }

    /// Whether `MPI_Win_free` may be called.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub fn may_free(&self) -> Result<()> {
        self.not_locked()?;
        if self.started.is_some() || self.posted {
            return Err(Error::new(SYNC, "an epoch of MPI_Win_start or MPI_Win_post is open"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(target: u32) -> Passive {
        Passive { target, exclusive: false, checked: true }
    }

    #[test]
    fn operations_need_an_epoch_that_covers_their_target() {
        let mut epochs = Epochs::default();
        assert!(epochs.access(0).is_err());
        epochs.fence(true).unwrap();
        epochs.access(0).unwrap();
        assert!(epochs.may_lock(1).is_err(), "the operation is not completed");
        assert!(epochs.passive(0).is_err());
        epochs.fence(true).unwrap();
        epochs.may_lock(1).unwrap();
        epochs.lock(lock(1));
        epochs.access(1).unwrap();
        epochs.passive(1).unwrap();
        assert!(epochs.locked().eq([1]));
        assert!(epochs.access(0).is_err() && epochs.may_lock(1).is_err() && epochs.fence(true).is_err());
        assert!(epochs.may_free().is_err() && epochs.unlock(0).is_err() && epochs.may_lock_all().is_err());
        assert_eq!(epochs.unlock(1), Ok(lock(1)));
        epochs.may_free().unwrap();
    }

    #[test]
    fn epochs_of_a_group_end_by_their_own_calls() {
        let mut epochs = Epochs::default();
        assert!(epochs.complete().is_err() && epochs.may_wait().is_err());
        epochs.may_start().unwrap();
        epochs.start(vec![2]);
        epochs.post().unwrap();
        assert!(epochs.post().is_err() && epochs.may_start().is_err() && epochs.may_lock(2).is_err());
        assert!(epochs.access(1).is_err() && epochs.fence(true).is_err() && epochs.may_free().is_err());
        epochs.access(2).unwrap();
        assert_eq!(*epochs.complete().unwrap(), [2]);
        epochs.may_wait().unwrap();
        epochs.waited();
        epochs.may_lock_all().unwrap();
        epochs.lock_all(false);
        epochs.access(7).unwrap();
        assert_eq!(epochs.unlock_all(), Ok(None));
        assert!(epochs.unlock_all().is_err() && epochs.any_passive().is_err());
    }
}
