//! The port of a collective's schedule over a virtual rank's message layer. Ranks share no memory.

use crate::rank::Rank;
use abi::{Error, Result};
use coll::schedule::{Slot, Wake};
use coll::{Base, Peer, Port, Region, Side, Ty};
use mem::{PeerBytes, UserMem};
use pml::ReqId;

/// Where a call's buffers are: 64-bit words side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) send: UserMem,
    pub(crate) recv: UserMem,
    pub(crate) arena: UserMem,
}

/// Bytes of an element.
pub(crate) const WORD: usize = 8;

/// One call's messages and memory.
pub(crate) struct RankPort<'a> {
    pub(crate) rank: &'a mut Rank,
    pub(crate) places: Places,
    /// Of all its messages.
    pub(crate) tag: i32,
}

const NO_BLOCKS: Error = Error::new(abi::ERR_INTERN, "a virtual rank has no blocks");
const NO_AREA: Error = Error::new(abi::ERR_INTERN, "virtual ranks share no memory");

impl RankPort<'_> {
    fn memory(&self, region: &Region) -> Result<UserMem> {
        let (base, ty, offset, count) = match *region {
            Region::Empty => return Ok(UserMem::EMPTY),
            Region::Span { base, ty, offset, count, .. } => (base, ty, offset, count),
            Region::Block { .. } | Region::Piece { .. } => return Err(NO_BLOCKS),
        };
        let whole = match base {
            Base::Send => self.places.send,
            Base::Recv => self.places.recv,
            Base::Arena => self.places.arena,
            _ => return Err(NO_AREA),
        };
        let element = if ty == Ty::Byte { 1 } else { WORD };
        Ok(whole.part(offset as usize, count as usize * element))
    }

    fn copying(&self, bytes: usize) {
        self.rank.spend(bytes as f64 / self.rank.software.copy_rate);
    }
}

impl Port for RankPort<'_> {
    type Op = ReqId;

    fn isend(&mut self, peer: Peer, from: &Region) -> Result<Option<ReqId>> {
        let from = self.memory(from)?;
        self.rank.isend(peer.index(), self.tag, from)
    }

    fn irecv(&mut self, peer: Peer, into: &Region) -> Result<Option<ReqId>> {
        let into = self.memory(into)?;
        self.rank.irecv(peer.index(), self.tag, into).map(Some)
    }

    fn test(&mut self, op: ReqId) -> Result<bool> {
        self.rank.take(op)
    }

    fn copy(&mut self, into: &Region, from: &Region) -> Result<()> {
        let (from, into) = (self.memory(from)?, self.memory(into)?);
        from.copy_to(into);
        self.copying(from.len());
        Ok(())
    }

    /// Sums of 64-bit integers.
    fn reduce(&mut self, into: &Region, left: &Region, right: &Region) -> Result<()> {
        let (left, right) = (self.memory(left)?, self.memory(right)?);
        let (left, right) = (left.as_bytes(), right.as_bytes());
        let sums = (0..left.len() / WORD).map(|at| left.word(at).wrapping_add(right.word(at)));
        let bytes: Vec<u8> = sums.flat_map(u64::to_ne_bytes).collect();
        self.memory(into)?.write(PeerBytes::of(&bytes));
        self.copying(bytes.len());
        Ok(())
    }

    fn block_bytes(&self, _side: Side, _index: u32) -> u64 {
        0
    }

    fn publish(&mut self, _: Slot, _: u64, _: &Region, _: Wake) -> Result<bool> {
        Err(NO_AREA)
    }

    fn observe(&mut self, _: Slot, _: u64, _: &Region) -> Result<bool> {
        Err(NO_AREA)
    }

    fn arrive(&mut self, _: u64) -> Result<bool> {
        Err(NO_AREA)
    }

    fn retire(&mut self, _: u64) -> Result<()> {
        Err(NO_AREA)
    }

    fn claim(&mut self, _: u64) -> Result<bool> {
        Err(NO_AREA)
    }

    fn expose(&mut self, _: u64, _: &Region, _: Wake) -> Result<bool> {
        Err(NO_AREA)
    }

    fn get(&mut self, _: u32, _: u64, _: &Region, _: &Region) -> Result<()> {
        Err(NO_AREA)
    }
}
