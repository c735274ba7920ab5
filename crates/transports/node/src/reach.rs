//! Direct reads and writes: copies between this process's memory and that of another one of the node.
//!
//! Before the first copy the pair is tried out: each process publishes a random number and its address, and only a
//! process id whose memory holds that number there is believed. A refusal, at once or later, is final for the pair;
//! the layers above then use shared memory or messages. The number is looked at again before a copy that does not follow
//! another one closely: the process may have ended, and its id may be another process's.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use btl::{Access, Peer, Refusal};
use mem::UserMem;
use platform::cma;
use shm::Segment;

use crate::mapped::Mapped;
use crate::{CopyDirection, Node, Runs, runs};

/// A process of this node whose memory is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    place: u32,
    pid: i32,
}

impl Process {
    /// Its place on the node.
    pub fn place(self) -> u32 {
        self.place
    }
}

/// What is known about the memory of the processes of the node.
#[derive(Debug)]
pub(crate) struct Reaches {
    /// By place; empty where no memory is to be reached.
    others: Box<[Other]>,
    /// The number by which peers know that our pid is ours. They read it at its published address.
    _nonce: Box<u64>,
    /// Peers' memory that is mapped here, where xpmem is used.
    mapped: Option<Mutex<Mapped>>,
}

#[derive(Debug)]
struct Other {
    pid: i32,
    state: AtomicU8,
    /// When the number was found in its memory last, by the clock of `confirm`.
    seen: AtomicU64,
}

/// Not tried yet: the process id is what the launcher reported.
const UNTRIED: u8 = 0;
/// The memory of that process id is reached, and is the peer's.
const PROVEN: u8 = 1;
/// The peer's memory cannot be reached.
const REFUSED: u8 = 2;
/// It was reached, and the system has reported that it is gone, which happens before the process has ended.
const GONE: u8 = 3;

impl Reaches {
    pub fn new(segment: &Segment, me: usize, pids: &[i32], mapped: Option<Mapped>) -> Reaches {
        Reaches {
            others: pids
                .iter()
                .map(|&pid| Other { pid, state: AtomicU8::new(UNTRIED), seen: AtomicU64::new(0) })
                .collect(),
            _nonce: publish_identity(segment, me),
            mapped: mapped.map(Mutex::new),
        }
    }

    /// Calls `f` with what is mapped, if xpmem is used.
    fn mapped<R>(&self, f: impl FnOnce(&mut Mapped) -> R) -> Option<R> {
        self.mapped.as_ref().map(|mapped| f(&mut mapped.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Publishes a random number of our own at a stable address, by which peers know us.
fn publish_identity(segment: &Segment, me: usize) -> Box<u64> {
    let nonce = Box::new(RandomState::new().hash_one(me) | 1);
    let identity = segment.identity(me);
    identity.nonce.store(*nonce, Ordering::Relaxed);
    // Pairs with the Acquire in `prove`.
    identity.address.store(&raw const *nonce as u64, Ordering::Release);
    nonce
}

/// Whether `pid` is the process that published the identity of `place`, and lets us read its memory.
fn prove(segment: &Segment, place: usize, pid: i32) -> Result<(), cma::Failure> {
    let identity = segment.identity(place);
    let address = identity.address.load(Ordering::Acquire);
    let expected = identity.nonce.load(Ordering::Relaxed);
    match cma::read_number(pid, address) {
        Ok(found) if expected != 0 && found == expected => Ok(()),
        Ok(_) | Err(cma::Failure::Fault) => Err(cma::Failure::Gone),
        Err(failure) => Err(failure),
    }
}

/// What a process is that was reached and cannot be any more. One that never was may have another number here.
fn after(failure: cma::Failure) -> u8 {
    match failure {
        cma::Failure::Gone => GONE,
        cma::Failure::Refused | cma::Failure::Fault => REFUSED,
    }
}

impl Node {
    /// Whether the process at `place` was reached, and was not there any more afterwards.
    pub(crate) fn is_gone(&self, place: u32) -> bool {
        let other = self.reaches.others.get(place as usize);
        other.is_some_and(|other| other.state.load(Ordering::Relaxed) == GONE)
    }

    /// Whether this process tries to reach the memory of others at all.
    pub fn has_single_copy(&self) -> bool {
        !self.reaches.others.is_empty()
    }

    /// Whether memory of other processes is mapped here, and not copied by the kernel.
    pub fn maps_peers(&self) -> bool {
        self.reaches.mapped.is_some()
    }

    /// The process at `place`, if its memory can be reached; tried out the first time.
    pub fn reach(&self, place: u32) -> Option<Process> {
        let Other { pid, state, .. } = self.reaches.others.get(place as usize)?;
        if state.load(Ordering::Relaxed) == UNTRIED {
            let met = self.reaches.mapped(|mapped| mapped.meet(&self.segment, place as usize));
            let proven = met == Some(true) || prove(&self.segment, place as usize, *pid).is_ok();
            state.store(if proven { PROVEN } else { REFUSED }, Ordering::Relaxed);
        }
        self.reached(place)
    }

    /// The process at `place`, if its memory was reached before.
    pub fn reached(&self, place: u32) -> Option<Process> {
        let Other { pid, state, .. } = self.reaches.others.get(place as usize)?;
        (state.load(Ordering::Relaxed) == PROVEN).then_some(Process { place, pid: *pid })
    }

    /// The kernel does not let this process reach the other any more.
    pub fn refuse(&self, process: Process) {
        self.reaches.others[process.place as usize].state.store(REFUSED, Ordering::Relaxed);
    }

    /// Sees that a process id is still the process's that was reached. The system gives all other numbers before it gives
    /// one again, which takes far longer than one tick of its clock, so once in a tick is enough.
    fn confirm(&self, process: Process) -> Result<(), cma::Failure> {
        let Process { place, pid } = process;
        let seen = &self.reaches.others[place as usize].seen;
        let now = platform::clock::tick();
        if seen.load(Ordering::Relaxed) == now {
            return Ok(());
        }
        prove(&self.segment, place as usize, pid).inspect_err(|&failure| {
            self.reaches.others[place as usize].state.store(after(failure), Ordering::Relaxed);
        })?;
        seen.store(now, Ordering::Relaxed);
        Ok(())
    }

    /// Whether this process can read `peer`'s memory; tried out the first time.
    pub fn can_read(&self, peer: Peer) -> bool {
        self.place_of(peer).is_some_and(|place| self.reach(place).is_some())
    }

    /// Copies from `remote` in `peer`'s memory into `memory`, at once.
    ///
    /// # Errors
    /// [`Refusal::Unfit`]: the peer cannot be read, or not there.
    pub fn read(&self, peer: Peer, remote: u64, memory: UserMem) -> Result<(), Refusal> {
        self.expect_copies(memory);
        let process = self.place_of(peer).and_then(|place| self.reach(place)).ok_or(Refusal::Unfit)?;
        self.copy(process, remote, memory, Access::Read).map_err(|_| Refusal::Unfit)
    }

    /// Copies `memory` to `remote` in `peer`'s memory, at once.
    ///
    /// # Errors
    /// As [`Node::read`].
    pub fn write(&self, peer: Peer, remote: u64, memory: UserMem) -> Result<(), Refusal> {
        let process = self.place_of(peer).and_then(|place| self.reach(place)).ok_or(Refusal::Unfit)?;
        self.copy(process, remote, memory, Access::Write).map_err(|_| Refusal::Unfit)
    }

    /// This memory is about to be copied from or into, by this process or by its peers.
    #[inline]
    pub fn expect_copies(&self, memory: UserMem) {
        self.huge_pages.count(memory);
    }

    /// As [`Node::expect_copies`], for `runs` runs that are about to be packed or unpacked, somewhere in `bounds`.
    #[inline]
    pub fn expect_packing(&self, bounds: Range<usize>, runs: u64) {
        self.huge_pages.count_packed(bounds, runs);
    }

    /// Copies between `memory` and `remote` of the process: through what is mapped, or by the kernel.
    ///
    /// # Errors
    /// [`cma::Failure`].
    pub fn copy(
        &self,
        process: Process,
        remote: u64,
        memory: UserMem,
        access: Access,
    ) -> Result<(), cma::Failure> {
        let copied = self.reaches.mapped(|mapped| {
            let reaches = mapped.reaches(process.place);
            reaches.then(|| mapped.copy(process.place, remote, memory, access))
        });
        if let Some(Some(copied)) = copied {
            return copied;
        }
        self.confirm(process)?;
        let here = memory.address() as *mut u8;
        // SAFETY: the memory's constructor vouches that it may be read and written until the copy is reported.
        unsafe {
            match access {
                Access::Read => cma::read(process.pid, remote, here, memory.len()),
                Access::Write => cma::write(process.pid, remote, here, memory.len()),
            }
        }
    }

    /// Copies `len` bytes between runs of this process and of another one, each from a byte of the message on.
    ///
    /// # Safety
    /// The runs of `ours` must be memory of this process that may be read, and written to pull.
    ///
    /// # Errors
    /// [`cma::Failure`].
    pub unsafe fn copy_runs(
        &self,
        process: Process,
        way: CopyDirection,
        ours: (&Runs, u64),
        theirs: (&Runs, u64),
        len: u64,
    ) -> Result<(), cma::Failure> {
        self.confirm(process)?;
        // SAFETY: the caller's promise.
        unsafe { runs::copy(process.pid, way, ours, theirs, len) }
    }

    /// Reads the table of runs at `address` of another process.
    ///
    /// # Errors
    /// [`Refusal::Unfit`] when it cannot be read or is no table.
    pub fn fetch_runs(&self, process: Process, address: u64) -> Result<Runs, Refusal> {
        self.confirm(process).map_err(|_| Refusal::Unfit)?;
        Runs::fetch(process.pid, address)
    }
}
