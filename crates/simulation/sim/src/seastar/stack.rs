//! A message layer over Portals, whichever.

use crate::endpoint::CONTEXT;
use abi::Result;
use btl::{Alone, Bounds, Btl, Peer, Receiver};
use mem::UserMem;
use pml::{Data, LayerState, Mode, Pattern, Receives, ReqId, SendTo, Sends};
use portals::{Portals, Status};
use portals_timed::TimedNic;

/// A message layer, whichever.
pub(crate) trait Mpi {
    fn isend(&mut self, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>>;
    fn irecv(&mut self, from: u32, tag: i32, into: UserMem) -> Result<ReqId>;
    /// Whether a message waits for this receive.
    fn is_here(&mut self, from: u32, tag: i32) -> bool;
    /// `None`: it is under way. Otherwise its error class.
    fn take(&mut self, id: ReqId) -> Option<i32>;
    /// One turn; how many things happened.
    fn progress(&mut self) -> usize;
    /// Gives the NIC alone a turn, as its interrupts do while the process computes.
    fn interrupt(&mut self);
    /// Whether something is under way whose going on no news of the network may announce.
    fn needs_polling(&self) -> bool;
    fn status(&mut self, register: Status) -> u64;
}

/// A message layer with what it stands on; `nic` finds the NIC in them.
pub(crate) struct Stack<L, B, F> {
    pub(crate) layer: L,
    pub(crate) btl: B,
    pub(crate) me: u32,
    pub(crate) nic: F,
}

fn pattern(from: u32, tag: i32) -> Pattern {
    Pattern { context: CONTEXT, source: from as i32, tag, peer: Some(Peer(from)), owner: 0 }
}

impl<L, B, F> Mpi for Stack<L, B, F>
where
    B: Btl,
    L: Sends<B> + Receives<B> + LayerState + Receiver<B>,
    F: for<'a> Fn(&'a mut L, &'a mut B) -> &'a mut TimedNic,
{
    fn isend(&mut self, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>> {
        let to = SendTo { peer: Peer(to), context: CONTEXT, source: self.me, tag, owner: 0 };
        let data = Data::Contiguous(from);
        if self.layer.needs_poll(to.peer, &data, false) {
            self.progress();
        }
        self.layer.isend(&mut self.btl, &to, data, Mode::Standard)
    }

    fn irecv(&mut self, from: u32, tag: i32, into: UserMem) -> Result<ReqId> {
        self.layer.irecv(&mut self.btl, &pattern(from, tag), Data::Contiguous(into))
    }

    fn is_here(&mut self, from: u32, tag: i32) -> bool {
        self.layer.iprobe(&mut self.btl, &pattern(from, tag)).is_some()
    }

    fn take(&mut self, id: ReqId) -> Option<i32> {
        self.layer.take(id).map(|done| done.error)
    }

    fn progress(&mut self) -> usize {
        btl::poll(&mut Alone(&mut self.btl, &mut self.layer), Bounds::USUAL)
    }

    fn interrupt(&mut self) {
        (self.nic)(&mut self.layer, &mut self.btl).progress();
    }

    fn needs_polling(&self) -> bool {
        self.layer.waits_for_room() || self.layer.needs_turn() || !self.btl.is_flushed()
    }

    fn status(&mut self, register: Status) -> u64 {
        (self.nic)(&mut self.layer, &mut self.btl).status(register).unwrap_or(0)
    }
}
