//! What a shared area must offer, and why its slots can be reused without locks.
//!
//! An area belongs to one communicator and the ranks of it that live on one node, numbered 0, 1, … by rank
//! ("node-local ranks"). It consists of
//!
//! ```text
//!  slots     (ranks + 1) × DEPTH    ┌── epoch: u64 ──┬── payload: SLOT_PAYLOAD bytes ──────┐
//!  counters  DEPTH                  one u64 per cache line: processes that arrived in an epoch
//!  retired   ranks                  one u64 per cache line: the last epoch its owner has finished with
//!  bounce buffers     ranks × CELLS or more  CELL_BYTES each, page-aligned
//! ```
//!
//! all zero at first. The extra group of slots is the *release flag*. Time in an area is counted in *epochs*, the
//! first being 1. A schedule with `r` rounds takes the next `r` epochs, so all ranks of an area count alike; the port
//! keeps the next free epoch, passes it to [`crate::Execution::start`], and runs the schedules of one area
//! one after the other in the order in which they were started.
//!
//! - **publish(slot, e)** writes the payload into slot `e % DEPTH` of its owner, then stores `e` with
//!   Release. Only the owner writes its slot; the release flag is written by the one process that arrived last.
//!   Before writing, every rank's `retired` must be at least `e - DEPTH` (or less, if there are more slots); the port
//!   remembers the smallest value it saw and re-reads the words only when that does not suffice, so the check costs
//!   one comparison in all but every DEPTH-th call. A payload that is longer than the slot goes into the own bounce
//!   buffer of `e`, which must be free, see *claim*.
//! - **observe(slot, e)** loads the slot's epoch with Acquire (pairs with the Release above); on `e` the
//!   payload is copied out. It can never be newer than `e` while the reader has not retired `e`.
//! - **publish_parts(e)** as publish: the payload is a part for each rank, one after the other, beside a table of where each
//!   ends. **observe_part(slot, e)** copies the reader's own part out.
//! - **arrive(e)** adds 1 to counter `e % DEPTH` with AcqRel; the process that brings it to the number of ranks sets
//!   it back to 0 and is last, if all ranks have made the same call.
//! - **retire(e)** stores `e` into the own `retired` word with Release.
//! - **claim(e)** takes the own bounce buffer of `e`, if it may be overwritten: every `retired` must be at least the
//!   epoch for which it was taken last. The bounce buffers of each rank take turns.
//! - **bounce buffers** are written between a claim and a publish by their owner, read by others after they observed
//!   that slot. In [`crate::schedule::Step::Reduce`] a bounce buffer may be an operand; what a foreign process
//!   scribbles there meanwhile changes values, nothing else.
//! - **expose / get**: the slot carries the address of a user buffer, read with `process_vm_readv` or a
//!   mapping.
//!
//! Whatever is read from the area is data of known length: nothing in it is used as an index, a length or a
//! pointer of the reading process. The table of parts gives a place within a payload, cut to that payload,
//! and a part that has not the length which its reader expects is an error.
//!
//! **Sleeping.** Each publish names the processes that it concerns ([`crate::schedule::Wake`]); a port whose
//! ranks sleep rings those doorbells.

/// Payload bytes that cross with the word that announces a slot.
pub const SHORT: usize = 120;
/// Payload bytes of slots of which there are many.
pub const MEDIUM: usize = 9 * 64;
/// Payload bytes that lie in a slot itself.
pub const SLOT_PAYLOAD: usize = 65 * 64;
/// Payload bytes of a member's slot: what is longer than [`SLOT_PAYLOAD`] lies in its owner's bounce buffer of the
/// epoch. The flag has no bounce buffer.
pub const PAYLOAD: usize = BOUNCE_BYTES;
/// Ranks up to which a slot may hold a part for each of them.
pub(crate) const MOST_PARTS: usize = 32;
/// Slots at most, one after the other, through which a block for one other rank goes that is too long for a part.
pub const PIECES: u32 = 2;
/// Slots that each rank has at least, used in turn; a power of two. More where little lies in them.
pub const DEPTH: usize = 16;
/// Bounce buffers that each rank has at least; a power of two. A schedule is up to so many rounds ahead of what it
/// has retired.
pub const BOUNCE_BUFFERS: usize = 8;
/// Bytes of a bounce buffer.
pub const BOUNCE_BYTES: usize = 32 * 1024;

/// Bytes up to which a block goes into its rank's slot, where that has a part for each other one of so many ranks; the
/// same on all of them.
pub const fn part_limit(ranks: u32) -> u32 {
    PAYLOAD as u32 / if ranks < 2 { 1 } else { ranks - 1 }
}
