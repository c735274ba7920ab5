//! What the threads of a process sleep on: its doorbell, and beside it the descriptors of its transports.
//!
//! A thread can sleep on a futex word or on descriptors. Only io_uring waits for both, and containers refuse it. So one of
//! the two must wake the threads that sleep on the other:
//!
//! ```text
//!                      other processes ring the word          only threads of this process do
//!   no descriptors     sleep on the word                      sleep on the word
//!   descriptors        sleep on the word; a watcher           sleep on an epoll set of the descriptors and an eventfd,
//!                      rings it when one is readable          which threads signal when they change the word
//! ```
//! Messages through shared memory wake their receiver directly in either case; a message by a network, which takes ten
//! times as long, pays for the watcher where the process has neighbours.
//!
//! # No wake-up is lost
//!
//! *Watched.* The watcher is a thread of this module, started by the first sleep. It sleeps on the descriptors, each of
//! which is reported once and then no more. To arm a descriptor after the word means: report it again, at once if it is
//! readable. So whatever makes it readable after the last poll leads to a report, and the watcher rings the word as a
//! sender does. Reports that no thread asked for anew end in a word whose owner is awake.
//!
//! *Polled.* The set stays readable from the signal until the last thread that was armed has disarmed under the state's
//! lock. So each thread that was armed when the signal came finds it, however late it goes to sleep, and one that arms
//! later at worst wakes once for nothing.
mod watcher;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use btl::Sleep;
use platform::epoll::Epoll;
use platform::eventfd::EventFd;
use shm::doorbell::Doorbell;
use watcher::Watcher;

/// What the threads of this process sleep on. Lives as long as the process.
#[derive(Clone, Copy, Debug)]
pub struct Bell(&'static Inner);

#[derive(Debug)]
struct Inner {
    doorbell: &'static Doorbell,
    /// Unset as long as there are no descriptors.
    beside: OnceLock<Beside>,
}

/// How descriptors are slept on beside the doorbell.
#[derive(Debug)]
enum Beside {
    Polled { set: Epoll, rung: EventFd },
    Watched(Watcher),
}

/// Tokens of the set, which are never read: that it is readable is all there is to know.
const ANY: u64 = 0;

impl Bell {
    /// The doorbell alone.
    pub fn of(doorbell: &'static Doorbell) -> Bell {
        Bell(Box::leak(Box::new(Inner { doorbell, beside: OnceLock::new() })))
    }

    /// The doorbell and `descriptors`, which are readable while there is something to do. `shared`: other processes may
    /// ring the doorbell, or threads that do not use [`Bell::ring`].
    ///
    /// # Errors
    /// The system's, for instance that the process has no descriptor left.
    pub fn new(
        doorbell: &'static Doorbell,
        shared: bool,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<Bell> {
        let beside = match descriptors {
            [] => return Ok(Bell::of(doorbell)),
            descriptors if shared => Beside::Watched(Watcher::new(doorbell, descriptors)?),
            descriptors => {
                let (set, rung) = (Epoll::new()?, EventFd::new()?);
                for fd in descriptors.iter().copied().chain([rung.as_fd()]) {
                    set.add(fd, ANY, false)?;
                }
                Beside::Polled { set, rung }
            }
        };
        Ok(Bell(Box::leak(Box::new(Inner { doorbell, beside: OnceLock::from(beside) }))))
    }

    /// A transport that was opened later: from now on `descriptor` is slept on, too. Threads that sleep wake, and arm anew.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        match self.0.beside.get() {
            Some(Beside::Polled { set, .. }) => set.add(descriptor, ANY, false)?,
            Some(Beside::Watched(watcher)) => watcher.add(descriptor)?,
            None => {
                let watcher = Watcher::new(self.0.doorbell, &[descriptor])?;
                // The caller has the state locked, so no other thread has set it.
                let _ = self.0.beside.set(Beside::Watched(watcher));
            }
        }
        self.wake_own();
        Ok(())
    }

    /// The doorbell.
    pub fn doorbell(&self) -> &'static Doorbell {
        self.0.doorbell
    }

    /// A thread of this process has published something: wakes those that sleep.
    #[inline]
    pub fn ring(&self) {
        self.0.doorbell.ring(|word| self.wake(word));
    }

    /// Wakes all threads of this process that sleep or are armed.
    pub fn wake_own(&self) {
        self.0.doorbell.wake_own(|word| self.wake(word));
    }

    fn wake(&self, word: usize) {
        match self.0.beside.get() {
            Some(Beside::Polled { rung, .. }) => rung.signal(),
            Some(Beside::Watched(_)) | None => platform::futex::wake(word, i32::MAX),
        }
    }

    /// Announces a sleep by the descriptors, too, after `word` was armed; what to sleep on. `None`: they cannot be
    /// slept on.
    pub fn arm(&self, word: Sleep) -> Option<Sleep> {
        match self.0.beside.get() {
            None => Some(word),
            Some(Beside::Polled { set, .. }) => Some(Sleep::Descriptor(set.as_fd().as_raw_fd())),
            Some(Beside::Watched(watcher)) => watcher.arm().then_some(word),
        }
    }

    /// No thread is armed any more; the word was disarmed.
    pub fn disarm(&self) {
        if let Some(Beside::Polled { rung, .. }) = self.0.beside.get() {
            rung.drain();
        }
    }
}
