//! The doorbell of a rank: how senders wake it when it sleeps, and nothing else when it does not.
//!
//! ```text
//!   word:  31 ................. 3      2               1              0
//!          changed by each ring        wants room      needs fence    sleeping
//!
//!   owner                                   sender
//!   count up and set sleeping               publish a message (Release)
//!   full fence on both sides:               -- compiler fence, or a real one if "needs fence" --
//!     membarrier, or a fence of its own     load word; not sleeping: done
//!   look at everything once more            clear sleeping and count up, in one step
//!   futex wait while the word is unchanged  futex wake
//!   clear sleeping, if no other thread is armed
//! ```
//! Either the sender sees the bit, or the owner's last poll sees the message: no wake-up is lost. The waker changes the
//! very word the sleeper waits on, so a wake-up between the last poll and the sleep is not lost either. Several threads
//! of the owner may sleep: each arms anew, so that no value comes back, and a ring wakes all of them. The bit is
//! cleared by the last that wakes: the others would take it from one that has armed since. An owner that could not
//! send, for want of room at the receiver or of bounce buffers, sets a bit when it arms; the receiver that gives room
//! back rings for it in the same way. An owner that cannot or does not want to issue membarrier asks for fences by a
//! bit in the same word, which senders load anyway.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::hint::Waiting;
use crate::sync::{AtomicU32, Ordering, fence};

/// A doorbell in a memory file that processes beyond the node may map, too, a page of it.
#[derive(Clone, Debug)]
pub struct SharedDoorbell {
    /// The doorbell, mapped here.
    pub doorbell: &'static Doorbell,
    /// The file, sealed against shrinking.
    pub file: Arc<OwnedFd>,
    /// Where it is in the file, in bytes.
    pub offset: u64,
}

/// One cache line per rank, written rarely: the word, and the owner's wish about payload. And one that is written by ranks
/// which share processors and wait.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Doorbell {
    word: AtomicU32,
    congested: AtomicU32,
    /// Fastboxes handed out by the owner so far; see the transport.
    claimed: AtomicU32,
    waiting: Waiting,
}

const SLEEPING: u32 = 1;
const NEEDS_FENCE: u32 = 2;
/// With [`SLEEPING`]: room to send ends the sleep, too.
const WANTS_ROOM: u32 = 4;
const COUNT: u32 = 8;

impl Default for Doorbell {
    /// A doorbell that no other process knows yet.
    fn default() -> Doorbell {
        Doorbell {
            word: AtomicU32::new(0),
            congested: AtomicU32::new(0),
            claimed: AtomicU32::new(0),
            waiting: Waiting::default(),
        }
    }
}

impl Doorbell {
    /// Asks all senders for a full fence between publishing and looking at the word. To be called before any
    /// of them sends, by the owner, or by a sender that cannot register for membarrier.
    pub fn ask_for_fences(&self) {
        self.word.fetch_or(NEEDS_FENCE, Ordering::SeqCst);
    }

    /// Sender: wakes the owner if it sleeps. To be called after publishing.
    #[inline(always)]
    pub fn ring(&self, wake: impl FnOnce(usize)) {
        if self.wants_ring() {
            self.ring_slowly(wake);
        }
    }

    /// Sender: as [`Doorbell::ring`] for each of `doorbells`, with one fence for all where owners asked for fences.
    pub fn ring_each<'a>(doorbells: impl Iterator<Item = &'a Doorbell> + Clone, wake: impl Fn(usize)) {
        if doorbells.clone().any(Doorbell::wants_ring) {
            fence(Ordering::SeqCst);
            doorbells.for_each(|doorbell| doorbell.ring_fenced(SLEEPING, &wake));
        }
    }

    /// Sender, after publishing: whether [`Doorbell::ring`] must be called, since the owner may sleep.
    #[inline(always)]
    pub fn wants_ring(&self) -> bool {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        // Relaxed: the order against the message published before is made by the owner's membarrier, or by
        // the fence in `ring_if`.
        self.word.load(Ordering::Relaxed) & (SLEEPING | NEEDS_FENCE) != 0
    }

    /// Receiver: wakes the owner if it sleeps for want of room. To be called after room was given back.
    #[inline(always)]
    pub fn ring_for_room(&self, wake: impl FnOnce(usize)) {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        // Relaxed: as in `ring`.
        if self.word.load(Ordering::Relaxed) & (WANTS_ROOM | NEEDS_FENCE) != 0 {
            self.ring_if(SLEEPING | WANTS_ROOM, wake);
        }
    }

    #[cold]
    fn ring_slowly(&self, wake: impl FnOnce(usize)) {
        self.ring_if(SLEEPING, wake);
    }

    /// Wakes the owner if, after a full fence, all of `bits` are set.
    fn ring_if(&self, bits: u32, wake: impl FnOnce(usize)) {
        fence(Ordering::SeqCst);
        self.ring_fenced(bits, wake);
    }

    /// As [`Doorbell::ring_if`], after the fence.
    #[inline(always)]
    fn ring_fenced(&self, bits: u32, wake: impl FnOnce(usize)) {
        let mut seen = self.word.load(Ordering::Relaxed);
        while seen & bits == bits {
            let rung = (seen & !(SLEEPING | WANTS_ROOM)).wrapping_add(COUNT);
            match self.word.compare_exchange_weak(seen, rung, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return wake(self.address()),
                Err(now) => seen = now,
            }
        }
    }

    /// Owner: announces sleep. `barrier` makes every sender execute a full fence and returns whether it could;
    /// if it could not, senders are asked for fences from now on and this time there is no sleep. Returns the
    /// word's value to sleep on.
    pub fn arm(&self, barrier: impl FnOnce() -> bool) -> Option<u32> {
        self.arm_with(SLEEPING, barrier)
    }

    /// As [`Doorbell::arm`], for an owner that lacks room to send: [`Doorbell::ring_for_room`] ends the sleep, too.
    pub fn arm_for_room(&self, barrier: impl FnOnce() -> bool) -> Option<u32> {
        self.arm_with(SLEEPING | WANTS_ROOM, barrier)
    }

    fn arm_with(&self, bits: u32, barrier: impl FnOnce() -> bool) -> Option<u32> {
        let armed = self.count_up(bits);
        fence(Ordering::SeqCst);
        if armed & NEEDS_FENCE == 0 && !barrier() {
            // Another thread may be armed, so the bit stays; at worst a sender wakes no thread.
            self.ask_for_fences();
            return None;
        }
        Some(armed)
    }

    /// Owner: ends the sleep of all its threads, also of one that has armed and is not asleep yet.
    pub fn wake_own(&self, wake: impl FnOnce(usize)) {
        self.count_up(0);
        wake(self.address());
    }

    /// Changes the word and sets `bits` in it; the value after that.
    fn count_up(&self, bits: u32) -> u32 {
        let next = |word: u32| word.wrapping_add(COUNT) | bits;
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            match self.word.compare_exchange_weak(seen, next(seen), Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return next(seen),
                Err(now) => seen = now,
            }
        }
    }

    /// Owner: none of its threads sleeps any more, or is about to. The owner counts them.
    pub fn disarm(&self) {
        if self.word.load(Ordering::Relaxed) & SLEEPING != 0 {
            self.word.fetch_and(!(SLEEPING | WANTS_ROOM), Ordering::Relaxed);
        }
    }

    /// What the owner states of the process that it waits for.
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Whether the owner asked for less payload.
    #[inline(always)]
    pub fn congested(&self) -> bool {
        self.congested.load(Ordering::Relaxed) != 0
    }

    /// Owner: asks for less payload, or no longer.
    pub fn set_congested(&self, on: bool) {
        self.congested.store(u32::from(on), Ordering::Relaxed);
    }

    /// Sender: takes the next number of the owner's fastboxes; may be beyond what exists.
    pub fn claim_fastbox(&self, exist: u32) -> Option<u32> {
        let claim = |claimed| (claimed < exist).then_some(claimed + 1);
        self.claimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).ok()
    }

    /// The word as it is now, as a futex compares it.
    pub fn current(&self) -> u32 {
        self.word.load(Ordering::SeqCst)
    }

    /// Address of the futex word.
    pub fn address(&self) -> usize {
        &raw const self.word as usize
    }
}
