//! What the machine needs from its surroundings: messages, local data movement and, on one node, shared
//! memory.
//!
//! The library implements [`Port`] over its point-to-point layer; [`crate::executor`] implements it over
//! plain vectors.

pub use crate::schedule::Side;
use crate::schedule::{Peer, Slot, Wake};
use abi::{Error, Result};

/// The memory a [`Region`] lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// The send buffer argument.
    Send,
    /// The receive buffer argument (for `MPI_Bcast`: the buffer).
    Recv,
    /// The scratch arena of the execution: [`crate::Execution::arena_bytes`] bytes, aligned to 64, kept by
    /// the port.
    Arena,
    /// The shared bounce buffer of node-local rank `owner` for `epoch`.
    Bounce {
        /// Index of the owner in the shared area.
        owner: u32,
        /// Epoch of the area.
        epoch: u64,
    },
}

/// The datatype of a region's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    /// The call's send type.
    Send,
    /// The call's receive type; in reductions, *the* datatype.
    Recv,
    /// Packed bytes.
    Byte,
}

/// A resolved piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Region {
    /// A signal: no memory, no bytes.
    Empty,
    /// `count` elements of type `ty`; element 0 has its origin (displacement 0 of the type map) `offset`
    /// bytes from the start of `base`. Elements are one extent apart.
    Span {
        /// The memory.
        base: Base,
        /// The element type.
        ty: Ty,
        /// Bytes from the start of `base`; may be negative only for types with a negative extent.
        offset: i64,
        /// Number of elements.
        count: u64,
    },
    /// Block `index` as the call's counts, displacements and (w variants) types give it.
    Block {
        /// Send or receive arguments.
        side: Side,
        /// Index into the arrays.
        index: u32,
    },
    /// Some of the packed bytes of such a block: only published and observed.
    Piece {
        /// Send or receive arguments.
        side: Side,
        /// Index into the arrays.
        index: u32,
        /// The first of these bytes.
        offset: u64,
        /// How many they are.
        bytes: u64,
    },
}

/// Messages, local work and shared memory for one execution.
///
/// *Messages.* Between the same two processes messages match in the order in which they are started; the
/// port puts all of one collective call into a tag (and context) of its own so that calls do not mix. Typed
/// regions of different types match when they hold the same number of packed bytes.
///
/// *Errors* end the execution with [`crate::State::Failed`]; requests still in flight are listed by
/// [`crate::Execution::in_flight`] for the caller to cancel.
///
/// *Shared memory.* The last methods are called only by schedules with [`crate::Schedule::rounds`] above 0;
/// [`crate::shared`] states what the area is made of and promises. A port without an area keeps the
/// default bodies.
pub trait Port {
    /// A request in flight.
    type Op: Copy;

    /// Starts to send. `None`: already complete, the memory may be reused.
    fn isend(&mut self, peer: Peer, from: &Region) -> Result<Option<Self::Op>>;

    /// Starts to receive. `None`: already complete, the data is in place.
    fn irecv(&mut self, peer: Peer, into: &Region) -> Result<Option<Self::Op>>;

    /// Whether a request is complete; it is given up by the machine (and freed by the port) once this returns
    /// true.
    fn test(&mut self, op: Self::Op) -> Result<bool>;

    /// Copies, packs or unpacks between two regions with the same number of packed bytes. They may be the
    /// same region but do not overlap otherwise.
    fn copy(&mut self, into: &Region, from: &Region) -> Result<()>;

    /// `into = left op right` with the call's predefined operation, element by element. `into` is `left` or
    /// `right` or overlaps neither. Never called when the execution was started with a user-defined
    /// operation.
    fn reduce(&mut self, into: &Region, left: &Region, right: &Region) -> Result<()>;

    /// Packed bytes of a v or w block, so that empty blocks are neither sent nor received.
    fn block_bytes(&self, side: Side, index: u32) -> u64;

    /// Writes `from` and then the epoch into a slot. `false`: the slot's last content is still in use, try
    /// again.
    fn publish(&mut self, slot: Slot, epoch: u64, from: &Region, wake: Wake) -> Result<bool> {
        let _ = (slot, epoch, from, wake);
        Err(NO_AREA)
    }

    /// If the slot carries `epoch`, copies its payload (as many bytes as `into` holds) and returns true.
    fn observe(&mut self, slot: Slot, epoch: u64, into: &Region) -> Result<bool> {
        let _ = (slot, epoch, into);
        Err(NO_AREA)
    }

    /// As [`Port::publish`] of the own slot, with a part for each other process of the area, in their order: the block of
    /// `side` for it, or nothing, if that has more than `limit` packed bytes.
    fn publish_parts(&mut self, epoch: u64, side: Side, limit: u32, wake: Wake) -> Result<bool> {
        let _ = (epoch, side, limit, wake);
        Err(NO_AREA)
    }

    /// If the slot of `owner`, published in parts, carries `epoch`, copies the own part and returns true.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if it has not the length of `into`.
    fn observe_part(&mut self, owner: u32, epoch: u64, into: &Region) -> Result<bool> {
        let _ = (owner, epoch, into);
        Err(NO_AREA)
    }

    /// Counts this process in for `epoch`; true for the last of the area's processes.
    fn arrive(&mut self, epoch: u64) -> Result<bool> {
        let _ = epoch;
        Err(NO_AREA)
    }

    /// Lets the others reuse every slot and bounce buffer up to and including `epoch`.
    fn retire(&mut self, epoch: u64) -> Result<()> {
        let _ = epoch;
        Err(NO_AREA)
    }

    /// Whether the own bounce buffer of `epoch` may be overwritten.
    fn claim(&mut self, epoch: u64) -> Result<bool> {
        let _ = epoch;
        Err(NO_AREA)
    }

    /// As [`Port::publish`], with the address of a buffer as payload ([`Region::Empty`]: of nothing, which
    /// no rank reads).
    fn expose(&mut self, epoch: u64, buf: &Region, wake: Wake) -> Result<bool> {
        let _ = (epoch, buf, wake);
        Err(NO_AREA)
    }

    /// Reads from the buffer that `owner` exposed in `epoch`, whose slot was observed before. `from` gives
    /// offset and length relative to the exposed address; its `base` is the owner's and means nothing here. A block
    /// stands for as many bytes from the start.
    fn get(&mut self, owner: u32, epoch: u64, from: &Region, into: &Region) -> Result<()> {
        let _ = (owner, epoch, from, into);
        Err(NO_AREA)
    }
}

const NO_AREA: Error =
    Error::new(abi::ERR_INTERN, "a shared-memory schedule was started without a shared area");
