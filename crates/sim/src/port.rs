//! The port of a collective's schedule over a virtual rank's message layer.

use crate::endpoint::Endpoint;
use abi::{Error, Result};
use coll::{Base, Peer, Port, Region, Side, Ty};
use mem::{PeerBytes, UserMem};
use pml::ReqId;

/// Where a call's buffers are. Elements lie side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) send: UserMem,
    pub(crate) recv: UserMem,
    pub(crate) arena: UserMem,
    /// Bytes of an element.
    pub(crate) element: usize,
}

/// One call's messages and memory.
pub(crate) struct RankPort<'a> {
    pub(crate) end: &'a mut Endpoint,
    pub(crate) places: Places,
    /// Of all its messages.
    pub(crate) tag: i32,
}

const NO_BLOCKS: Error = Error::new(abi::ERR_INTERN, "a virtual rank has no blocks and no shared cells");

impl Places {
    fn memory(&self, region: &Region) -> Result<UserMem> {
        match *region {
            Region::Empty => Ok(UserMem::EMPTY),
            Region::Span { base, ty, offset, count } => {
                let whole = match base {
                    Base::Send => self.send,
                    Base::Recv => self.recv,
                    Base::Arena => self.arena,
                    Base::Cell { .. } => return Err(NO_BLOCKS),
                };
                let element = if ty == Ty::Byte { 1 } else { self.element };
                Ok(whole.part(offset as usize, count as usize * element))
            }
            Region::Block { .. } | Region::Piece { .. } => Err(NO_BLOCKS),
        }
    }
}

impl Port for RankPort<'_> {
    type Op = ReqId;

    fn isend(&mut self, peer: Peer, from: &Region) -> Result<Option<ReqId>> {
        self.end.isend(peer.index(), self.tag, self.places.memory(from)?)
    }

    fn irecv(&mut self, peer: Peer, into: &Region) -> Result<Option<ReqId>> {
        self.end.irecv(peer.index(), self.tag, self.places.memory(into)?).map(Some)
    }

    fn test(&mut self, op: ReqId) -> Result<bool> {
        Ok(self.end.take(op))
    }

    fn copy(&mut self, into: &Region, from: &Region) -> Result<()> {
        self.places.memory(from)?.copy_to(self.places.memory(into)?);
        Ok(())
    }

    /// Sums of 64-bit integers.
    fn reduce(&mut self, into: &Region, left: &Region, right: &Region) -> Result<()> {
        let (left, right) = (self.places.memory(left)?.as_bytes().to_vec(), self.places.memory(right)?);
        let right = right.as_bytes();
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let sums = left.chunks_exact(8).enumerate().map(|(at, left)| word(left).wrapping_add(right.word(at)));
        let bytes: Vec<u8> = sums.flat_map(u64::to_ne_bytes).collect();
        self.places.memory(into)?.write(PeerBytes::of(&bytes));
        Ok(())
    }

    fn block_bytes(&self, _side: Side, _index: u32) -> u64 {
        0
    }
}
