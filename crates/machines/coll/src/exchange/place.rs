//! The plan of each collective: what a process publishes, and what it takes of which other.

use core::ops::Range;

use mem::UserMem;

use super::prefix::fits;
use super::{ExchangePlan, Meeting, Prefix, Take, Tell};

/// Bytes of a block from which to copy two runs around it is faster than to copy it, too.
const KEPT_FROM: usize = 256;

/// A process among those of an exchange.
#[derive(Clone, Copy, Debug)]
pub struct Participant {
    /// Its number.
    pub me: usize,
    /// How many there are.
    pub members: usize,
    /// How they wait for each other.
    pub meeting: Meeting,
}

/// What a process brings to a reduction, and where it wants the result.
#[derive(Clone, Copy, Debug)]
pub struct Operands<K> {
    /// The loop of the operation.
    pub kernel: K,
    /// Elements of the result.
    pub count: u64,
    /// What it brings.
    pub own: UserMem,
    /// Room for the result.
    pub into: UserMem,
    /// `own` is where the result goes.
    pub in_place: bool,
}

impl Participant {
    /// All processes.
    #[inline(always)]
    pub fn everyone(&self) -> Range<usize> {
        0..self.members
    }

    /// A process in a call of so many `epochs` that has no bytes for others, and wants none. No other one waits for its slot.
    #[inline(always)]
    pub fn idle<K, P>(&self, epochs: u64) -> ExchangePlan<K, P> {
        ExchangePlan { epochs, ..ExchangePlan::give(UserMem::EMPTY, Tell::None) }
    }

    /// `MPI_Barrier`
    #[inline(always)]
    pub fn barrier<K, P>(&self) -> ExchangePlan<K, P> {
        match self.meeting {
            Meeting::Flag => {
                ExchangePlan { meeting: Meeting::Flag, ..ExchangePlan::give(UserMem::EMPTY, Tell::None) }
            }
            Meeting::Slots => self.meet(UserMem::EMPTY, Take::Nothing),
        }
    }

    /// `MPI_Bcast` of `data`.
    #[inline(always)]
    pub fn bcast<K, P>(&self, root: usize, data: UserMem) -> ExchangePlan<K, P> {
        if self.me == root {
            return ExchangePlan::give(data, Tell::All);
        }
        ExchangePlan::take(
            data.len(),
            root..root + 1,
            Take::Blocks { offset: 0, bytes: data.len(), into: data },
        )
    }

    /// `MPI_Gather`, `MPI_Gatherv`, `MPI_Reduce` at a process that is not the root.
    #[inline(always)]
    pub fn give_to<K, P>(&self, root: usize, own: UserMem) -> ExchangePlan<K, P> {
        ExchangePlan::give(own, Tell::One(root))
    }

    /// `MPI_Gather` at the root: blocks like `own` into `all`.
    #[inline(always)]
    pub fn gather<K, P>(&self, own: UserMem, all: UserMem, in_place: bool) -> ExchangePlan<K, P> {
        let take = Take::Blocks { offset: 0, bytes: own.len(), into: all };
        ExchangePlan { own, in_place, ..ExchangePlan::take(own.len(), self.everyone(), take) }
    }

    /// `MPI_Scatter` at a process that is not the root and takes `block`.
    #[inline(always)]
    pub fn scatter<K, P>(&self, root: usize, block: UserMem) -> ExchangePlan<K, P> {
        ExchangePlan::take(block.len() * self.members, root..root + 1, self.own_block(block))
    }

    /// `MPI_Scatter` at the root, which has `all` blocks of `bytes` bytes; `into`: room for its own, unless it is in
    /// place.
    #[inline(always)]
    pub fn scatter_all<K, P>(&self, all: UserMem, bytes: usize, into: Option<UserMem>) -> ExchangePlan<K, P> {
        let plan = ExchangePlan { kept: self.kept(bytes), ..ExchangePlan::give(all, Tell::All) };
        match into {
            None => plan,
            Some(block) => ExchangePlan { from: self.me..self.me + 1, take: self.own_block(block), ..plan },
        }
    }

    /// The block of this process out of one slot with those of all.
    #[inline(always)]
    fn own_block<K>(&self, into: UserMem) -> Take<K> {
        Take::Blocks { offset: self.me * into.len(), bytes: into.len(), into }
    }

    /// `MPI_Allgather` of `own` into `all`.
    #[inline(always)]
    pub fn allgather<K, P>(&self, own: UserMem, all: UserMem, in_place: bool) -> ExchangePlan<K, P> {
        let take = Take::Blocks { offset: 0, bytes: own.len(), into: all };
        ExchangePlan { in_place, ..self.meet(own, take) }
    }

    /// `MPI_Alltoall` of `blocks` of `bytes` bytes into `all`.
    #[inline(always)]
    pub fn alltoall<K, P>(
        &self,
        blocks: UserMem,
        bytes: usize,
        all: UserMem,
        in_place: bool,
    ) -> ExchangePlan<K, P> {
        let take = Take::Blocks { offset: self.me * bytes, bytes, into: all };
        ExchangePlan { kept: self.kept(bytes), in_place, ..self.meet(blocks, take) }
    }

    /// `MPI_Reduce` at the root.
    #[inline(always)]
    pub fn reduce<K, P>(&self, operands: Operands<K>) -> ExchangePlan<K, P> {
        let Operands { kernel, count, own, into, in_place } = operands;
        let take = Take::Combined { kernel, offset: 0, count, into };
        ExchangePlan { own, in_place, ..ExchangePlan::take(own.len(), self.everyone(), take) }
    }

    /// `MPI_Allreduce`
    #[inline(always)]
    pub fn allreduce<K, P>(&self, operands: Operands<K>) -> ExchangePlan<K, P> {
        let Operands { kernel, count, own, into, in_place } = operands;
        ExchangePlan { in_place, ..self.meet(own, Take::Shared { kernel, count, into }) }
    }

    /// `MPI_Reduce_scatter`, `MPI_Reduce_scatter_block`, of which this process wants what begins `offset` bytes from
    /// the start.
    #[inline(always)]
    pub fn reduce_scatter<K, P>(&self, operands: Operands<K>, offset: usize) -> ExchangePlan<K, P> {
        let Operands { kernel, count, own, into, in_place } = operands;
        ExchangePlan { in_place, ..self.meet(own, Take::Combined { kernel, offset, count, into }) }
    }

    /// `MPI_Scan` (`with_own`) and `MPI_Exscan`: combines what the members before have; those after wait for the own slot.
    #[inline(always)]
    pub fn prefix<K, P>(&self, operands: Operands<K>, with_own: bool) -> ExchangePlan<K, P> {
        let Operands { kernel, count, own, into, in_place } = operands;
        let (from, take) = match self.me + usize::from(with_own) {
            _ if fits(own.len()) => (0..self.me, Take::Prefix(Prefix { kernel, count, into, with_own })),
            0 => (0..0, Take::Nothing),
            end => (0..end, Take::Combined { kernel, offset: 0, count, into }),
        };
        let tell = if self.me + 1 < self.members { Tell::After } else { Tell::None };
        ExchangePlan { own, tell, in_place, ..ExchangePlan::take(own.len(), from, take) }
    }

    /// `MPI_Gatherv` at the root: all of each into a place of its own.
    #[inline(always)]
    pub fn gather_each<K, P>(&self, own: UserMem, places: P, in_place: bool) -> ExchangePlan<K, P> {
        let plan = ExchangePlan::take(own.len(), self.everyone(), Take::Each);
        ExchangePlan { own, in_place, places: Some(places), ..plan }
    }

    /// `MPI_Allgatherv`
    #[inline(always)]
    pub fn allgather_each<K, P>(&self, own: UserMem, places: P, in_place: bool) -> ExchangePlan<K, P> {
        ExchangePlan { in_place, places: Some(places), ..self.meet(own, Take::Each) }
    }

    /// `MPI_Scatterv` at a process that is not the root and takes `block`.
    #[inline(always)]
    pub fn take_part<K, P>(&self, root: usize, block: UserMem) -> ExchangePlan<K, P> {
        ExchangePlan::take(0, root..root + 1, Take::Part(block))
    }

    /// `MPI_Scatterv` at the root, which has `own` among the `blocks` of all; `into`: room for it, unless it is in place.
    #[inline(always)]
    pub fn scatter_parts<K, P>(&self, own: UserMem, blocks: P, into: Option<UserMem>) -> ExchangePlan<K, P> {
        let plan = ExchangePlan { parts: Some(blocks), ..ExchangePlan::give(own, Tell::All) };
        match into {
            None => plan,
            Some(block) => ExchangePlan { from: self.me..self.me + 1, take: Take::Part(block), ..plan },
        }
    }

    /// `MPI_Alltoallv`, `MPI_Alltoallw`: `blocks` for all, `own` among them, into `places`, in so many `epochs`.
    #[inline(always)]
    pub fn alltoall_parts<K, P>(
        &self,
        own: UserMem,
        (blocks, places): (P, P),
        epochs: u64,
        in_place: bool,
    ) -> ExchangePlan<K, P> {
        let plan = self.meet(own, Take::PartOfEach);
        ExchangePlan { parts: Some(blocks), places: Some(places), epochs, in_place, ..plan }
    }

    /// All have data for all.
    #[inline(always)]
    fn meet<K, P>(&self, own: UserMem, take: Take<K>) -> ExchangePlan<K, P> {
        ExchangePlan {
            from: self.everyone(),
            take,
            meeting: self.meeting,
            ..ExchangePlan::give(own, Tell::All)
        }
    }

    /// Where the own one is among blocks of `bytes` bytes that others take, if it is worth leaving out.
    #[inline(always)]
    fn kept(&self, bytes: usize) -> Range<usize> {
        let start = self.me * bytes;
        if bytes < KEPT_FROM { 0..0 } else { start..start + bytes }
    }
}
