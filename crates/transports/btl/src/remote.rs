//! Memory that is registered once and for all peers, as windows have it: reads, writes and atomic operations by the
//! network.
//!
//! ```text
//!   owner                                   others
//!   register(memory) ─► key, in a message ─► read, fetch      each reports its end by an event with its cookie
//!                                            write, update    flush reports whether all are done; the last is an event
//!   deregister(key), when it is unused
//! ```
//! The owner does nothing for these operations. Those of one process on one peer may be done in any order, but for
//! atomic operations on the same word, which are done in theirs.

use crate::{Peer, Refusal, RemoteKey};
use mem::UserMem;

/// What a transport can do with memory of a peer that is registered for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Names the transport: a key is good for those that see the same number.
    pub network: u8,
    /// Largest length of one read or write.
    pub max: usize,
    /// Alignment, in bytes, that lets a read go straight into the reader's memory: of both addresses and the length (1:
    /// any).
    pub align: usize,
    /// Largest length of a read that is not so aligned.
    pub max_unaligned: usize,
    /// Which atomic operations on words of 8 bytes, at multiples of 8, are atomic to each other.
    pub atomics: Atomics,
    /// Whether such an operation is over sooner than a message to the peer and its answer.
    pub quick_atomics: bool,
}

impl Remote {
    /// Whether atomic operations may be mixed with those of the owner's processor, and are worth it.
    pub fn is_for_atomics(&self) -> bool {
        self.atomics == Atomics::Processor && self.quick_atomics
    }
}

/// Where atomic operations are done, and so what they are atomic to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Atomics {
    /// There are none.
    None,
    /// To those of this network alone.
    Network,
    /// To those of the owner's processor, too.
    Processor,
}

/// An atomic operation on a word of 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomic {
    /// `word += operand`, which may wrap.
    Add(u64),
    /// `word = operand`.
    Swap(u64),
    /// `word &= operand`.
    And(u64),
    /// `word |= operand`.
    Or(u64),
    /// `word ^= operand`.
    Xor(u64),
    /// `word = new`, if it is `expected`.
    CompareSwap {
        /// What it must be.
        expected: u64,
        /// What it becomes.
        new: u64,
    },
}

impl Atomic {
    /// What a word becomes.
    pub const fn apply(self, word: u64) -> u64 {
        match self {
            Atomic::Add(operand) => word.wrapping_add(operand),
            Atomic::Swap(operand) => operand,
            Atomic::And(operand) => word & operand,
            Atomic::Or(operand) => word | operand,
            Atomic::Xor(operand) => word ^ operand,
            Atomic::CompareSwap { expected, new } => {
                if word == expected {
                    new
                } else {
                    word
                }
            }
        }
    }
}

/// How far a process's writes and updates of a peer's memory are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flushed {
    /// All are done, and every process sees them.
    Done,
    /// Some are under way.
    Pending,
    /// None is under way, and since the last such answer some have failed or the peer was lost.
    Failed,
}

/// One-sided access to memory that is registered for all. A transport without it leaves all of this as it is.
///
/// Offsets count from the first byte of the memory that was registered. No method blocks. A refusal means that nothing
/// was begun: [`Refusal::Busy`] asks to try again after progress, [`Refusal::Unfit`] to use messages.
pub trait RemoteMemory {
    /// What there is towards `peer`; the same as long as it lives.
    fn remote(&self, _peer: Peer) -> Option<Remote> {
        None
    }

    /// Makes `memory` reachable for all peers that see the network which `peer` is reached by, until
    /// [`RemoteMemory::deregister`]. Its owner promises to keep it mapped until then.
    ///
    /// # Errors
    /// [`Refusal::Unfit`]: there is no such access, or no registration is left.
    fn register(&mut self, _peer: Peer, _memory: UserMem) -> Result<RemoteKey, Refusal> {
        Err(Refusal::Unfit)
    }

    /// Ends what [`RemoteMemory::register`] began, with the same peer; idempotent.
    fn deregister(&mut self, _peer: Peer, _key: RemoteKey) {}

    /// Fetches `into.len()` bytes from `offset` on; [`Event::Done`](crate::Event::Done) with `cookie` when they are in
    /// place.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Unfit`] also for what lies outside the memory or is longer than [`Remote`] allows.
    fn read(
        &mut self,
        _peer: Peer,
        _into: UserMem,
        _key: &RemoteKey,
        _offset: u64,
        _cookie: u64,
    ) -> Result<(), Refusal> {
        Err(Refusal::Unfit)
    }

    /// Stores `from` at `offset`. It must stay unchanged until [`RemoteMemory::flush`] no longer returns
    /// [`Flushed::Pending`].
    ///
    /// # Errors
    /// As [`RemoteMemory::read`].
    fn write(&mut self, _peer: Peer, _from: UserMem, _key: &RemoteKey, _offset: u64) -> Result<(), Refusal> {
        Err(Refusal::Unfit)
    }

    /// Changes the word at `offset` and stores what it was in the 8 bytes `before`; [`Event::Done`](crate::Event::Done)
    /// with `cookie` when that is there.
    ///
    /// # Errors
    /// As [`RemoteMemory::read`].
    fn fetch(
        &mut self,
        _peer: Peer,
        _change: Atomic,
        _before: UserMem,
        _key: &RemoteKey,
        _offset: u64,
        _cookie: u64,
    ) -> Result<(), Refusal> {
        Err(Refusal::Unfit)
    }

    /// Changes the word at `offset`.
    ///
    /// # Errors
    /// As [`RemoteMemory::read`].
    fn update(
        &mut self,
        _peer: Peer,
        _change: Atomic,
        _key: &RemoteKey,
        _offset: u64,
    ) -> Result<(), Refusal> {
        Err(Refusal::Unfit)
    }

    /// How far the writes and updates of this process in `peer`'s memory are. The end of the last one is reported by
    /// [`Event::Flushed`](crate::Event::Flushed), so that a process that waits for it may sleep.
    fn flush(&mut self, _peer: Peer) -> Flushed {
        Flushed::Done
    }
}
