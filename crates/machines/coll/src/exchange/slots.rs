//! What an exchange stands on.

use mem::UserMem;

use crate::schedule::Slot;

/// The slots of one area as one of its processes sees them, with the promises of [`crate::shared`].
///
/// An exchange asks for room ([`Slots::has_room`]) before it writes a payload, sees a slot ([`Slots::carries`]) before
/// it reads one, and reads none after [`Slots::retire`]. A peer that breaks the rules changes values, nothing else.
pub trait Slots {
    /// The loop of a reduction.
    type Kernel: Copy;

    /// Processes that share the area.
    fn members(&self) -> usize;

    /// The place of this one among them.
    fn me(&self) -> usize;

    /// Whether a slot of `epoch` with `bytes` bytes of payload may be written; if not, this process is woken when that may
    /// have changed.
    fn has_room(&mut self, epoch: u64, bytes: usize) -> bool;

    /// Room for `bytes` bytes of payload of a slot, which may be written or read now. Writer and reader give the same
    /// number.
    fn payload(&mut self, slot: Slot, epoch: u64, bytes: usize) -> UserMem;

    /// Publishes the own slot or the release flag, with these words at the start of its payload.
    fn publish(&mut self, slot: Slot, epoch: u64, words: &[u64]);

    /// Publishes the own slot, with more behind its payload for members that ask for that.
    fn publish_more(&mut self, epoch: u64);

    /// Whether a slot carries `epoch`.
    fn carries(&mut self, slot: Slot, epoch: u64) -> bool;

    /// Whether a member's slot carries `epoch`, and more behind its payload.
    fn carries_more(&mut self, member: usize, epoch: u64) -> bool;

    /// The words at the start of a member's payload, once its slot carries `epoch`; whether it does.
    fn observe(&mut self, member: usize, epoch: u64, words: &mut [u64]) -> bool;

    /// Counts this process in; whether it is the last one, and all came to the same call.
    fn arrive(&mut self, epoch: u64) -> bool;

    /// Lets the others write the slots of `epoch` and of all before again.
    fn retire(&mut self, epoch: u64);

    /// Wakes the processes that wait for what was published.
    fn ring(&mut self, tell: Tell);

    /// `into = left op right` on `count` elements; `into` is one of the others or overlaps neither.
    fn combine(&mut self, kernel: Self::Kernel, into: UserMem, left: UserMem, right: UserMem, count: u64);
}

/// The processes that wait for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tell {
    /// No other process.
    None,
    /// One process.
    One(usize),
    /// The members after the own one.
    After,
    /// All of them.
    All,
}
