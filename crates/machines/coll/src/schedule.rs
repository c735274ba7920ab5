//! What one rank does in a collective: a compact list of steps.
//!
//! A schedule knows ranks and blocks but neither addresses nor counts. A [`Ref`] names its data as a
//! fraction of whatever count the call brings (`lo/den ..  hi/den` of it), so one schedule serves every
//! count; only the number of *segments*, which changes the list itself, belongs to the key under which a
//! schedule is kept (see [`crate::Params::key`]).

/// A process as seen from the calling rank.
///
/// In an intra-communicator: a rank. In an inter-communicator: a rank of the *remote* group, as in
/// point-to-point calls, unless [`Peer::local`] made it, which names a rank of the local group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer(u32);

const LOCAL: u32 = 1 << 31;

impl Peer {
    /// A rank of the communicator (the remote group's, in an inter-communicator).
    pub const fn rank(rank: u32) -> Peer {
        Peer(rank)
    }

    /// A rank of an inter-communicator's local group.
    pub const fn local(rank: u32) -> Peer {
        Peer(rank | LOCAL)
    }

    /// The rank within its group.
    pub const fn index(self) -> u32 {
        self.0 & !LOCAL
    }

    /// Whether the rank is one of an inter-communicator's local group.
    pub const fn is_local(self) -> bool {
        self.0 & LOCAL != 0
    }
}

/// The buffer a [`Ref`] points into, and the unit its span is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Buf {
    /// No data: the message is a signal and is sent although it is empty.
    Signal,
    /// The send buffer, in elements of the send type.
    Send,
    /// The receive buffer (for `MPI_Bcast`: the buffer), in elements of the receive type.
    Recv,
    /// The send buffer as bytes; only where its type is contiguous.
    SendBytes,
    /// The receive buffer as bytes; only where its type is contiguous.
    RecvBytes,
    /// Block `lo` of the call's send counts, displacements (and types): v and w variants.
    SendBlock,
    /// Block `lo` of the call's receive counts, displacements (and types).
    RecvBlock,
    /// Piece `.0` of block `lo` of the send counts: as many of its packed bytes as a slot holds.
    SendPiece(u16),
    /// Piece `.0` of block `lo` of the receive counts.
    RecvPiece(u16),
    /// Scratch number `.0`, in elements of the receive type with its extent as spacing.
    Typed(u8),
    /// Scratch number `.0`, in bytes of packed data.
    Packed(u8),
    /// Scratch number `.0` from its start, as many bytes as block `lo` of the receive side packs.
    PackedBlock(u8),
    /// The shared bounce buffer that node-local rank `owner` fills in `round`; contiguous elements of the receive
    /// type.
    Bounce {
        /// Index of the owner in the shared area.
        owner: u16,
        /// Round of the schedule, counted from 0.
        round: u16,
    },
    /// As `Bounce`, in bytes of packed data.
    BounceBytes {
        /// Index of the owner in the shared area.
        owner: u16,
        /// Round of the schedule, counted from 0.
        round: u16,
    },
}

impl Buf {
    /// Whether a reference names a block of a v or w variant by its number, or something of its size.
    pub(crate) const fn is_block(self) -> bool {
        use Buf::{PackedBlock, RecvBlock, RecvPiece, SendBlock, SendPiece};
        matches!(self, SendBlock | RecvBlock | SendPiece(_) | RecvPiece(_) | PackedBlock(_))
    }
}

/// `Ref::den` of a span over irregular blocks laid end to end, bounded by their prefix sums.
pub(crate) const IRREGULAR: u32 = 0;

/// A piece of a buffer whose size follows the count of the call.
///
/// With `n` the buffer's count, the piece begins at element `⌊n·lo/den⌋` and ends before `⌊n·hi/den⌋`, both
/// taken relative to `⌊n·org/den⌋`, the element that lies at the start of the buffer. So block `i` of a
/// gathered buffer is `i/1 .. (i+1)/1`, and slice `i` of a vector cut into `p` is `i/p .. (i+1)/p`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ref {
    /// Buffer and unit.
    pub buf: Buf,
    /// Begin of the span, in parts.
    pub lo: u32,
    /// End of the span (exclusive), in parts.
    pub hi: u32,
    /// Parts that make up the count of the call; 0 for irregular blocks.
    pub den: u32,
    /// The part that lies at the start of the buffer.
    pub org: u32,
}

impl Ref {
    /// A message without data.
    pub(crate) const SIGNAL: Ref = Ref { buf: Buf::Signal, lo: 0, hi: 0, den: 1, org: 0 };

    /// The parts `lo..hi` of `den`.
    pub const fn part(buf: Buf, lo: u32, hi: u32, den: u32) -> Ref {
        Ref { buf, lo, hi, den, org: 0 }
    }

    /// The whole count.
    pub const fn all(buf: Buf) -> Ref {
        Ref::part(buf, 0, 1, 1)
    }

    /// Blocks `lo..hi`, each of the whole count.
    pub const fn blocks(buf: Buf, lo: u32, hi: u32) -> Ref {
        Ref::part(buf, lo, hi, 1)
    }

    /// Block `index` of a v or w variant.
    pub const fn block(buf: Buf, index: u32) -> Ref {
        Ref::part(buf, index, index + 1, 1)
    }

    /// As large as `self`, at the same place in another buffer.
    pub const fn within(self, buf: Buf) -> Ref {
        Ref { buf, ..self }
    }

    /// As many packed bytes as this one block, at the start of a packed scratch buffer.
    pub(crate) fn packed_at_start_of(self, packed: Buf) -> Ref {
        match (self.buf, packed) {
            (Buf::RecvBlock, Buf::Packed(i)) => self.within(Buf::PackedBlock(i)),
            _ => Ref::all(packed),
        }
    }

    /// As large as `self`, at the very start of another buffer.
    pub(crate) const fn at_start_of(self, buf: Buf) -> Ref {
        Ref { buf, org: self.lo, ..self }
    }
}

/// Which arguments of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The send arguments.
    Send,
    /// The receive arguments.
    Recv,
}

/// A published slot of the shared area (see [`crate::shared`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The slot of node-local rank `.0`.
    Of(u32),
    /// The slot that the last process to arrive writes.
    Flag,
}

/// The processes that a published slot concerns, so that a sleeping process can be woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Node-local rank `.0` awaits the slot.
    One(u32),
    /// Every other process of the area may await it.
    All,
    /// No process waits yet.
    None,
}

/// A piece of data, by its number in [`Schedule::refs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefId(pub(crate) u32);

/// One step. Steps run in the order of the list; only `Send` and `Recv` go on in the background until their
/// `Wait`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Start to send `from`; the request is kept in `slot`.
    Send {
        /// Request slot.
        slot: u32,
        /// Receiver.
        peer: Peer,
        /// Data, untouched until the `Wait`.
        from: RefId,
    },
    /// Start to receive `into`; the request is kept in `slot`.
    Recv {
        /// Request slot.
        slot: u32,
        /// Sender.
        peer: Peer,
        /// Place, undefined until the `Wait`.
        into: RefId,
    },
    /// Go on when the request in `slot` is complete.
    Wait {
        /// Request slot.
        slot: u32,
    },
    /// Copy, pack or unpack; the two places hold the same number of bytes when packed.
    Copy {
        /// Destination.
        into: RefId,
        /// Source.
        from: RefId,
    },
    /// `into = left op right`. `into` is `right` itself or overlaps neither operand, which is what a user
    /// function (`inoutvec = invec op inoutvec`) can do; where the operation commutes, `into` may also be
    /// `left`.
    Reduce {
        /// Result.
        into: RefId,
        /// The operand from the lower ranks.
        left: RefId,
        /// The operand from the higher ranks.
        right: RefId,
    },
    /// Write `from` into a slot and mark it with the round's number.
    Publish {
        /// Round within the schedule.
        round: u16,
        /// Which slot: the own one or the release flag.
        slot: Slot,
        /// At most [`crate::shared::PAYLOAD`] packed bytes, or a signal.
        from: RefId,
        /// The processes that wait for it.
        wake: Wake,
    },
    /// Go on when a slot carries the round's number, and copy its payload.
    Await {
        /// Round within the schedule.
        round: u16,
        /// Which slot.
        slot: Slot,
        /// Place of the payload, or a signal.
        into: RefId,
    },
    /// Go on with the next step if `data` has more than `limit` packed bytes (`longer`), or has not (otherwise); else at
    /// step `otherwise`.
    Branch {
        /// Data whose length decides.
        data: RefId,
        /// Packed bytes.
        limit: u32,
        /// Whether the next steps are for more bytes than that, or for at most so many.
        longer: bool,
        /// Index of the step at which all others continue.
        otherwise: u32,
    },
    /// As `Publish` of the own slot, with the blocks of at most `limit` bytes for all other processes of the area.
    PublishParts {
        /// Round within the schedule.
        round: u16,
        /// The side of the call whose blocks these are.
        side: Side,
        /// At most [`crate::shared::part_limit`].
        limit: u32,
        /// The processes that wait for it.
        wake: Wake,
    },
    /// As `Await`, of the part for this process in a slot that was published in parts.
    AwaitPart {
        /// Round within the schedule.
        round: u16,
        /// Node-local rank that published.
        owner: u32,
        /// Place of the part, which has its length.
        into: RefId,
    },
    /// Count this process in. The last one goes on with the next step, all others at step `otherwise`.
    Arrive {
        /// Round within the schedule.
        round: u16,
        /// Index of the step at which all but the last continue.
        otherwise: u32,
    },
    /// This process reads no slot or bounce buffer of `round` or earlier any more.
    Retire {
        /// Round within the schedule.
        round: u16,
    },
    /// Go on when the own bounce buffer of `round` may be overwritten.
    Claim {
        /// Round within the schedule.
        round: u16,
    },
    /// Publish the address of a contiguous buffer of the own process in the own slot.
    Expose {
        /// Round within the schedule.
        round: u16,
        /// The buffer from its start.
        buf: RefId,
        /// The processes that wait for it.
        wake: Wake,
    },
    /// Read directly from the buffer that `owner` exposed in `round`.
    Get {
        /// Round of the `Expose`.
        round: u16,
        /// Node-local rank that exposed the buffer.
        owner: u32,
        /// Place in the exposed buffer.
        from: RefId,
        /// Place in this process.
        into: RefId,
    },
}

/// How large a scratch buffer must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scratch {
    /// Packed bytes instead of typed elements.
    pub packed: bool,
    /// The most parts in use, as a fraction of the count.
    pub(crate) parts: u32,
    /// Denominator of `parts`; 0: the sum of all irregular blocks.
    pub(crate) den: u32,
}

/// An algorithm: its place in [`crate::algorithms::registry::ALGORITHMS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlgorithmId(pub u16);

/// The steps of one rank, ready to be bound to buffers and run. Immutable; share it in an `Arc`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    pub(crate) steps: Box<[Step]>,
    /// Every different piece once: a call resolves each a single time.
    pub(crate) refs: Box<[Ref]>,
    pub(crate) slots: u32,
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) rounds: u16,
    pub(crate) irregular: u32,
    /// Names bounce buffers.
    pub(crate) bounce_buffers: bool,
    pub(crate) max_blocks: u32,
    pub(crate) algorithm: Option<AlgorithmId>,
}

impl Schedule {
    /// The same schedule, which names what built it.
    pub fn of(self, algorithm: AlgorithmId) -> Schedule {
        Schedule { algorithm: Some(algorithm), ..self }
    }

    /// What built it, if it names that.
    pub fn algorithm(&self) -> Option<AlgorithmId> {
        self.algorithm
    }

    /// The steps in program order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The pieces of data that the steps name.
    pub fn refs(&self) -> &[Ref] {
        &self.refs
    }

    /// Rounds of the shared area that the schedule takes; the same on all ranks of the area, 0 without
    /// shared memory.
    pub fn rounds(&self) -> u16 {
        self.rounds
    }

    /// Whether places depend on more than counts and types: on block counts, or on the epoch.
    pub(crate) fn changes_with_calls(&self) -> bool {
        self.irregular > 0 || self.bounce_buffers
    }

    /// Requests that may be in flight at once.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Scratch buffers in use.
    pub fn scratch(&self) -> &[Scratch] {
        &self.scratch
    }
}
