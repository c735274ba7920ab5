//! Memory that peers know by keys, and what is under way in it without a report.
//!
//! ```text
//!   register   share of windows ─► pinned ─► named ─► the key, counted
//!   deregister                                        counted back; unpinned; share given back
//! ```

use core::hash::Hash;
use core::mem::take;
use std::collections::HashMap;

use btl::{Flushed, Refusal, RemoteKey};
use mem::UserMem;
use rcache::{Rcache, Register};

use crate::{Quota, Use};

/// The keys that are out, how often each is, and the registration behind it.
#[derive(Debug)]
pub struct Keys<H>(HashMap<[u64; 3], (H, u32)>);

impl<H> Default for Keys<H> {
    fn default() -> Keys<H> {
        Keys(HashMap::new())
    }
}

impl<H: Copy> Keys<H> {
    /// Gives a key out once more.
    pub fn give(&mut self, key: RemoteKey, handle: H) {
        self.0.entry(key.0).or_insert((handle, 0)).1 += 1;
    }

    /// Takes a key back once; its registration, or `None` for a key that is not out.
    pub fn take_back(&mut self, key: &RemoteKey) -> Option<H> {
        let (handle, times) = self.0.get_mut(&key.0)?;
        let handle = *handle;
        *times -= 1;
        if *times == 0 {
            self.0.remove(&key.0);
        }
        Some(handle)
    }
}

/// Memory registered for all peers.
#[derive(Debug)]
pub struct Windows<H>(Keys<H>);

impl<H> Default for Windows<H> {
    fn default() -> Windows<H> {
        Windows(Keys::default())
    }
}

/// With what windows are registered.
#[derive(Debug)]
pub struct Registrar<'a, R: Register> {
    /// The network interface.
    pub interface: R,
    /// Its registrations.
    pub cache: &'a mut Rcache<R::Handle>,
    /// The bounds on their number.
    pub quota: &'a mut Quota,
}

impl<H: Copy + Eq + Hash> Windows<H> {
    /// Registers `memory`, whose owner keeps it mapped until it is deregistered; `name` makes its key, or refuses.
    ///
    /// # Errors
    /// [`Refusal::Unfit`]: windows have no registration left, the interface refuses, or there is no key for it.
    pub fn register<R: Register<Handle = H>>(
        &mut self,
        mut with: Registrar<'_, R>,
        memory: UserMem,
        name: impl FnOnce(&R, H) -> Option<RemoteKey>,
    ) -> Result<RemoteKey, Refusal> {
        if memory.is_empty() || !with.quota.take(Use::Window) {
            return Err(Refusal::Unfit);
        }
        let Ok(handle) = with.cache.pin(&mut with.interface, memory) else {
            with.quota.give(Use::Window);
            return Err(Refusal::Unfit);
        };
        let Some(key) = name(&with.interface, handle) else {
            with.unpin(handle);
            return Err(Refusal::Unfit);
        };
        self.0.give(key, handle);
        Ok(key)
    }

    /// Ends one registration that has this key, if there is one.
    pub fn deregister<R: Register<Handle = H>>(&mut self, with: Registrar<'_, R>, key: &RemoteKey) {
        if let Some(handle) = self.0.take_back(key) {
            with.unpin(handle);
        }
    }
}

impl<R: Register> Registrar<'_, R> {
    fn unpin(mut self, handle: R::Handle) {
        self.cache.unpin(&mut self.interface, handle);
        self.quota.give(Use::Window);
    }
}

/// Operations of this process in the windows of one peer that report nothing, until they are flushed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent {
    under_way: u32,
    /// One has failed since the last flush.
    failed: bool,
}

impl Silent {
    /// A write or update begins.
    pub fn begin(&mut self) {
        self.under_way += 1;
    }

    /// One is over; whether it was the last.
    pub fn end(&mut self, succeeded: bool) -> bool {
        self.under_way -= 1;
        self.failed |= !succeeded;
        self.under_way == 0
    }

    /// The peer is lost: whatever was under way counts as failed.
    pub fn lose(&mut self) {
        self.failed = true;
    }

    /// How far they are. A failure is reported once, when none is under way.
    pub fn flush(&mut self) -> Flushed {
        match self.under_way {
            0 if take(&mut self.failed) => Flushed::Failed,
            0 => Flushed::Done,
            _ => Flushed::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rcache::Trusting;

    use super::*;

    /// Names registrations by numbers, as many as it has.
    struct Interface<'a> {
        open: &'a mut Vec<u32>,
        most: usize,
    }

    impl Register for Interface<'_> {
        type Handle = u32;
        type Error = ();

        fn register(&mut self, _memory: UserMem) -> Result<u32, ()> {
            let name = self.open.iter().max().map_or(0, |last| last + 1);
            if self.open.len() == self.most {
                return Err(());
            }
            self.open.push(name);
            Ok(name)
        }

        fn deregister(&mut self, handle: u32) -> Result<(), ()> {
            self.open.retain(|&open| open != handle);
            Ok(())
        }

        fn is_exhausted((): &()) -> bool {
            true
        }
    }

    struct Process {
        windows: Windows<u32>,
        cache: Rcache<u32>,
        quota: Quota,
        open: Vec<u32>,
        most: usize,
    }

    impl Process {
        /// With 64 registrations, of which windows have 8.
        fn new(most: usize) -> Process {
            let cache = Rcache::new(Arc::new(Trusting), 10);
            Process { windows: Windows::default(), cache, quota: Quota::new(64), open: Vec::new(), most }
        }

        fn with(&mut self) -> (&mut Windows<u32>, Registrar<'_, Interface<'_>>) {
            let interface = Interface { open: &mut self.open, most: self.most };
            (&mut self.windows, Registrar { interface, cache: &mut self.cache, quota: &mut self.quota })
        }

        fn register(&mut self, memory: UserMem) -> Result<RemoteKey, Refusal> {
            let place = [memory.address() as u64, memory.len() as u64];
            let (windows, with) = self.with();
            windows.register(with, memory, |_, handle| Some(RemoteKey([handle.into(), place[0], place[1]])))
        }

        fn deregister(&mut self, key: &RemoteKey) {
            let (windows, with) = self.with();
            windows.deregister(with, key);
        }

        /// Registrations that windows could still have.
        fn left(&self) -> usize {
            let mut quota = self.quota;
            core::iter::from_fn(|| quota.take(Use::Window).then_some(())).count()
        }
    }

    #[allow(unsafe_code, reason = "a view of nothing")]
    fn memory(start: usize, len: usize) -> UserMem {
        // SAFETY: only numbers are looked at.
        unsafe { UserMem::new(start, len) }
    }

    #[test]
    fn a_window_stays_registered_until_its_key_came_back_as_often_as_it_was_given_out() {
        let mut process = Process::new(10);
        let window = memory(1 << 20, 100);
        let key = process.register(window).expect("a key");
        assert_eq!(process.register(window), Ok(key));
        assert_eq!((process.open.len(), process.left()), (1, 6));
        process.deregister(&key);
        assert_eq!((process.open.len(), process.left()), (1, 7));
        process.deregister(&key);
        assert_eq!((process.open.len(), process.left()), (0, 8));
        process.deregister(&key);
        assert_eq!(process.left(), 8, "a key that is not out changes nothing");
    }

    #[test]
    fn a_window_that_cannot_be_had_holds_nothing() {
        let mut process = Process::new(1);
        assert_eq!(process.register(memory(1 << 20, 0)), Err(Refusal::Unfit));
        let (windows, with) = process.with();
        assert_eq!(windows.register(with, memory(1 << 20, 100), |_, _| None), Err(Refusal::Unfit));
        assert_eq!((process.open.len(), process.left()), (0, 8), "without a key");
        process.register(memory(1 << 20, 100)).expect("the only registration");
        assert_eq!(process.register(memory(1 << 30, 100)), Err(Refusal::Unfit));
        assert_eq!((process.open.len(), process.left()), (1, 7), "without a registration");
        for _ in 0..7 {
            process.register(memory(1 << 20, 100)).expect("a share");
        }
        assert_eq!(process.register(memory(1 << 20, 100)), Err(Refusal::Unfit), "without a share");
    }

    #[test]
    fn a_flush_waits_for_all_and_says_a_failure_once() {
        let mut silent = Silent::default();
        assert_eq!(silent.flush(), Flushed::Done);
        silent.begin();
        silent.begin();
        assert!(!silent.end(false));
        assert_eq!(silent.flush(), Flushed::Pending);
        assert!(silent.end(true));
        assert_eq!((silent.flush(), silent.flush()), (Flushed::Failed, Flushed::Done));
        silent.lose();
        assert_eq!(silent.flush(), Flushed::Failed);
    }
}
