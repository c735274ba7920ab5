//! The port of a collective's schedule: its messages are point-to-point operations in a context of their own.

use abi::{Address, Error, Result};
use coll::schedule::{Slot, Wake};
use coll::{Base, Peer, Port, Region, Side, Ty};
use engine::{P2p, Peers};
use node::NodeArea;
use pml::{Data, Mode, Pattern, ReqId, SendTo};

use super::call::{Buffer, Call, Reduction};
use super::slots::OfNode;
use coll::exchange::Parts;
use objects::comm::library_tags::{APART, CLASSLESS};
use objects::datatype::{TypeRef, packed};

/// The processes of a call, and which messages are its own.
#[derive(Clone, Default)]
pub(super) struct Wire {
    /// The peers that a rank names: the group, or the remote group of an inter-communicator.
    pub peers: std::sync::Arc<[u32]>,
    /// The local group of an inter-communicator.
    pub local: std::sync::Arc<[u32]>,
    /// The library's context of the communicator.
    pub context: u32,
    /// That of an inter-communicator's local group.
    pub local_context: u32,
    /// How this process calls itself in messages: its rank in the local group, or what [`apart`] gives.
    pub source: u32,
    /// Messages name processes by [`apart`].
    pub by_peer: bool,
    /// One tag per call.
    pub tag: i32,
    pub owner: u32,
}

/// The source of messages of a peer that are [`APART`]. Processes of several jobs have different numbers for it, and all know its job
/// and its rank there. Within one job two of them never have the same.
pub(super) fn apart(peers: &Peers, peer: btl::Peer) -> u32 {
    let process = peers.process(peer);
    let (job, rank) = process.map_or((0, peer.0), |process| (process.job, process.rank));
    // The upper bits of a product depend on all bits of a factor.
    let job = (job.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 35) as u32;
    APART | (job ^ rank) & CLASSLESS
}

/// The surroundings of one call.
pub(super) struct CorePort<'a> {
    pub p2p: &'a mut P2p,
    pub wire: &'a Wire,
    pub call: &'a Call,
    /// Scratch memory of the execution.
    pub arena: Address,
    /// The communicator's shared area, for schedules that use it.
    pub area: Option<&'a mut NodeArea>,
}

/// An operation in flight, and whether it sends.
pub(super) type InFlight = ReqId;

impl CorePort<'_> {
    fn buffer(&self, side: Side) -> &Buffer {
        match side {
            Side::Send => &self.call.send,
            Side::Recv => &self.call.recv,
        }
    }

    /// Address, type and count of a region.
    fn place(&self, region: &Region) -> (Address, TypeRef, u64) {
        match *region {
            Region::Empty => (self.arena, TypeRef::Dense(1), 0),
            Region::Span { base, ty, offset, count } => {
                let start = match base {
                    Base::Send => self.call.send.address,
                    Base::Recv => self.call.recv.address,
                    Base::Arena => self.arena,
                    Base::Bounce { owner, epoch } => self.bounce(owner, epoch),
                };
                let datatype = match ty {
                    Ty::Send => self.call.send.datatype.clone(),
                    Ty::Recv => self.call.recv.datatype.clone(),
                    Ty::Byte => TypeRef::Dense(1),
                };
                (Address(start.0.wrapping_add_signed(offset as isize)), datatype, count)
            }
            Region::Block { side, index } | Region::Piece { side, index, .. } => {
                let buffer = self.buffer(side);
                let block = &buffer.blocks[index as usize];
                let address = Address(buffer.address.0.wrapping_add_signed(block.offset as isize));
                let datatype = block.datatype.as_ref().unwrap_or(&buffer.datatype);
                (address, datatype.clone(), block.count)
            }
        }
    }

    /// The data of a region.
    pub(super) fn data(&self, region: &Region) -> Result<Data> {
        let (address, datatype, count) = self.place(region);
        datatype.data(address, count as i64)
    }

    /// The data of a region from its first byte on, and how many bytes of it count.
    fn span(&self, region: &Region) -> Result<(Data, usize)> {
        let data = self.data(region)?;
        let Region::Piece { offset, bytes, .. } = *region else {
            let bytes = data.total() as usize;
            return Ok((data, bytes));
        };
        let data = match data {
            Data::Contiguous(memory) => Data::Contiguous(memory.part(offset as usize, bytes as usize)),
            Data::Typed(mut stream) => {
                stream.seek(offset);
                Data::Typed(stream)
            }
        };
        Ok((data, bytes as usize))
    }

    /// Where a region begins, and its count.
    pub(super) fn operand(&self, region: &Region) -> (Address, u64) {
        let (address, _, count) = self.place(region);
        (address, count)
    }

    fn bounce(&self, owner: u32, epoch: u64) -> Address {
        let area = self.area.as_ref();
        // Schedules with bounce buffers run with an area only (`Running::begin`).
        area.map_or(self.arena, |area| Address(area.bounce(owner as usize, epoch)))
    }

    fn area(&mut self) -> Result<&mut NodeArea> {
        self.area.as_deref_mut().ok_or(super::area::NONE)
    }

    fn context(&self, peer: Peer) -> u32 {
        if peer.is_local() { self.wire.local_context } else { self.wire.context }
    }

    fn peer(&self, peer: Peer) -> btl::Peer {
        let group = if peer.is_local() { &self.wire.local } else { &self.wire.peers };
        btl::Peer(group[peer.index() as usize])
    }
}

impl Port for CorePort<'_> {
    type Op = InFlight;

    fn isend(&mut self, peer: Peer, from: &Region) -> Result<Option<InFlight>> {
        let to = SendTo {
            peer: self.peer(peer),
            context: self.context(peer),
            source: self.wire.source,
            tag: self.wire.tag,
            owner: self.wire.owner,
        };
        let data = self.data(from)?;
        self.p2p.isend(&to, data, Mode::Standard)
    }

    fn irecv(&mut self, peer: Peer, into: &Region) -> Result<Option<InFlight>> {
        let from = self.peer(peer);
        let pattern = Pattern {
            context: self.context(peer),
            source: match self.wire.by_peer {
                true => apart(self.p2p.peers(), from) as i32,
                false => peer.index() as i32,
            },
            tag: self.wire.tag,
            peer: Some(from),
            owner: self.wire.owner,
        };
        let data = self.data(into)?;
        self.p2p.irecv(&pattern, data).map(Some)
    }

    fn test(&mut self, op: InFlight) -> Result<bool> {
        match self.p2p.take(op) {
            None => Ok(false),
            Some(done) => messages::p2p::outcome(&done).map(|()| true),
        }
    }

    fn copy(&mut self, into: &Region, from: &Region) -> Result<()> {
        let (from, into) = (self.data(from)?, self.data(into)?);
        // What a process has for itself must fit like what it gets from others.
        if from.total() > into.total() {
            return Err(Error::new(
                abi::ERR_TRUNCATE,
                "the data for oneself does not fit the receive buffer",
            ));
        }
        match (from, into) {
            (Data::Contiguous(from), Data::Contiguous(into)) => {
                from.copy_to(into);
            }
            (Data::Contiguous(from), Data::Typed(mut into)) => into.drain(from.as_bytes()),
            (Data::Typed(mut from), Data::Contiguous(into)) => {
                let len = from.total() as usize;
                from.fill(into.part(0, len).as_space());
            }
            (from @ Data::Typed(_), Data::Typed(mut into)) => {
                into.drain(mem::PeerBytes::of(&packed(from)?));
            }
        }
        Ok(())
    }

    fn reduce(&mut self, into: &Region, left: &Region, right: &Region) -> Result<()> {
        let Some(Reduction::Kernel(kernel)) = self.call.op else { return Ok(()) };
        let ((into, count), (left, _), (right, _)) =
            (self.operand(into), self.operand(left), self.operand(right));
        objects::memory::reduce(kernel, into, left, right, count);
        Ok(())
    }

    fn block_bytes(&self, side: Side, index: u32) -> u64 {
        let buffer = self.buffer(side);
        buffer.blocks[index as usize].bytes(&buffer.datatype)
    }

    fn publish(&mut self, slot: Slot, epoch: u64, from: &Region, wake: Wake) -> Result<bool> {
        let span = self.span(from)?;
        Ok(super::area::publish(self.area()?, slot, epoch, span, wake))
    }

    fn observe(&mut self, slot: Slot, epoch: u64, into: &Region) -> Result<bool> {
        let Some(area) = self.area.take() else { return Err(super::area::NONE) };
        let seen = super::area::observe(area, slot, epoch, || self.span(into));
        self.area = Some(area);
        seen
    }

    fn publish_parts(&mut self, epoch: u64, side: Side, limit: u32, wake: Wake) -> Result<bool> {
        let Some(area) = self.area.take() else { return Err(super::area::NONE) };
        let bytes = |member: usize| match self.block_bytes(side, member as u32) {
            bytes if bytes <= u64::from(limit) => bytes as usize,
            _ => 0,
        };
        let block = |member: usize| self.data(&Region::Block { side, index: member as u32 });
        let parts = Parts::of(&OfNode(&mut *area), bytes);
        let published = super::parts::publish(area, epoch, &parts, wake, block);
        self.area = Some(area);
        published
    }

    fn observe_part(&mut self, owner: u32, epoch: u64, into: &Region) -> Result<bool> {
        let Some(area) = self.area.take() else { return Err(super::area::NONE) };
        let seen = super::parts::observe(area, owner as usize, epoch, || self.data(into));
        self.area = Some(area);
        seen
    }

    fn arrive(&mut self, epoch: u64) -> Result<bool> {
        Ok(self.area()?.slots().arrive(epoch))
    }

    fn retire(&mut self, epoch: u64) -> Result<()> {
        self.area()?.retire(epoch);
        Ok(())
    }

    fn claim(&mut self, epoch: u64) -> Result<bool> {
        Ok(self.area()?.has_bounce(epoch))
    }

    fn expose(&mut self, epoch: u64, buf: &Region, wake: Wake) -> Result<bool> {
        let data = self.data(buf)?;
        let area = self.area()?;
        if let Data::Contiguous(memory) = &data {
            area.node().expect_copies(*memory);
        }
        super::area::expose(area, epoch, data, wake)
    }

    fn get(&mut self, owner: u32, epoch: u64, from: &Region, into: &Region) -> Result<()> {
        let offset = match *from {
            Region::Empty => return Ok(()),
            Region::Span { offset, .. } => offset,
            Region::Block { .. } => 0,
            Region::Piece { offset, .. } => offset as i64,
        };
        let (data, peer) = (self.data(into)?, btl::Peer(self.wire.peers[owner as usize]));
        super::area::get(self.area()?, (owner, peer), epoch, offset, data)
    }
}
