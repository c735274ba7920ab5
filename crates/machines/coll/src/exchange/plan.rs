//! What a process does in an exchange.

use core::ops::Range;

use mem::UserMem;

use super::Tell;

/// What a process does in a collective: what it publishes, whose slots it waits for, and what it takes out of them. `K`
/// is the loop of a reduction, `P` names where blocks of different sizes lie.
#[derive(Debug)]
pub struct ExchangePlan<K, P> {
    /// The data that it has, for others or for itself; none of a process that only takes.
    pub own: UserMem,
    /// What is published instead of `own`: a part for each process, among them `own` for this one.
    pub parts: Option<P>,
    /// The bytes of `own` that no other process wants: they stay out of the slot.
    pub kept: Range<usize>,
    /// The processes that wait for its slot.
    pub tell: Tell,
    /// Bytes of each slot that is published.
    pub slot: usize,
    /// The processes whose slots are wanted.
    pub from: Range<usize>,
    /// What is taken out of them.
    pub take: Take<K>,
    /// Where that goes, if each slot's has a place of its own.
    pub places: Option<P>,
    /// How the processes wait for each other.
    pub meeting: Meeting,
    /// Epochs that the call takes, of which the first is for what is published here.
    pub epochs: u64,
    /// The result is in the buffer that `own` is.
    pub in_place: bool,
}

/// How the processes of an exchange wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// Each sees the slots that it wants, one by one.
    Slots,
    /// The last one to come sets a release flag for all. Where not all wait for all, as [`Meeting::Slots`].
    Flag,
}

/// What is done with the slots wanted; `offset` is the first byte wanted of each.
#[derive(Clone, Copy, Debug)]
pub enum Take<K> {
    /// They are only waited for.
    Nothing,
    /// `bytes` of each, copied one after the other.
    Blocks {
        /// The first byte wanted of each.
        offset: usize,
        /// Bytes of each.
        bytes: usize,
        /// Room for all of them.
        into: UserMem,
    },
    /// All of each, copied to places of their own.
    Each,
    /// The part for this process in a single slot.
    Part(UserMem),
    /// The part for this process in each, copied to places of their own.
    PartOfEach,
    /// Combined in rank order; from a single slot just copied.
    Combined {
        /// The loop of the operation.
        kernel: K,
        /// The first byte wanted of each.
        offset: usize,
        /// Number of elements.
        count: u64,
        /// Room for them.
        into: UserMem,
    },
    /// As `Combined`, the same for all: the process that sets the release flag does it for the others.
    Shared {
        /// The loop of the operation.
        kernel: K,
        /// Number of elements.
        count: u64,
        /// Room for them.
        into: UserMem,
    },
    /// What the members before combine to.
    Prefix(Prefix<K>),
}

/// A prefix that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<K> {
    /// The loop of the operation.
    pub kernel: K,
    /// Number of elements.
    pub count: u64,
    /// Room for them.
    pub into: UserMem,
    /// The own data is part of the result.
    pub with_own: bool,
}

/// Where blocks of different sizes lie, one for each process.
pub trait Places {
    /// The block of a process.
    fn of(&self, member: usize) -> UserMem;
}

impl<P: Places> Places for &P {
    #[inline(always)]
    fn of(&self, member: usize) -> UserMem {
        P::of(self, member)
    }
}

/// Blocks that are known for longer than a call.
impl Places for Box<[UserMem]> {
    #[inline(always)]
    fn of(&self, member: usize) -> UserMem {
        self[member]
    }
}

/// No blocks at all, where they have one size.
#[derive(Clone, Copy, Debug)]
pub enum NoPlaces {}

impl Places for NoPlaces {
    fn of(&self, _member: usize) -> UserMem {
        match *self {}
    }
}

impl<K, P> ExchangePlan<K, P> {
    /// Has data for others and wants none.
    #[inline(always)]
    pub fn give(own: UserMem, tell: Tell) -> ExchangePlan<K, P> {
        let slot = own.len();
        ExchangePlan {
            own,
            parts: None,
            kept: 0..0,
            tell,
            slot,
            from: 0..0,
            take: Take::Nothing,
            places: None,
            meeting: Meeting::Slots,
            epochs: 1,
            in_place: false,
        }
    }

    /// Wants data of some processes, which publish `slot` bytes each, and has none for others.
    #[inline(always)]
    pub fn take(slot: usize, from: Range<usize>, take: Take<K>) -> ExchangePlan<K, P> {
        ExchangePlan { slot, from, take, ..ExchangePlan::give(UserMem::EMPTY, Tell::None) }
    }

    /// The same, with places that are named in another way.
    pub fn map<Q>(self, name: impl Fn(P) -> Q) -> ExchangePlan<K, Q> {
        let ExchangePlan { own, parts, kept, tell, slot, from, take, places, meeting, epochs, in_place } =
            self;
        let (parts, places) = (parts.map(&name), places.map(&name));
        ExchangePlan { own, parts, kept, tell, slot, from, take, places, meeting, epochs, in_place }
    }
}

impl<K, P: Places> ExchangePlan<K, P> {
    /// The place of what is taken of a member's slot.
    #[inline(always)]
    pub(super) fn place(&self, member: usize) -> UserMem {
        self.places.as_ref().map_or(UserMem::EMPTY, |places| places.of(member))
    }

    /// Whether a member's slot is to be waited for: a block of no bytes is there already, where its length is this process's
    /// to say.
    #[inline(always)]
    pub(super) fn wants(&self, member: usize) -> bool {
        match self.take {
            Take::Each | Take::PartOfEach => !self.place(member).is_empty(),
            Take::Part(into) => !into.is_empty(),
            _ => true,
        }
    }
}
