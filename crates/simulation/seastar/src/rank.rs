//! One virtual rank's message layer, memory and clock.

use crate::system::{Software, System};
use abi::{Error, Result};
use btl::{Alone, Bounds, Btl, Peer, Receiver};
use mem::UserMem;
use pml::{Data, LayerState, Mode, Pattern, Receives, ReqId, SendTo, Sends};
use portals::{Portals, ProcessId, Status};
use portals_timed::{Picos, TimedNic, World};

/// The context of all messages: one communicator.
const CONTEXT: u32 = 0;

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

/// A receive under way.
struct Receiving {
    id: ReqId,
    bytes: usize,
    early: bool,
}

/// What a program works with: messages by rank and tag, and memory that lasts.
pub struct Rank {
    pub(crate) mpi: Box<dyn Mpi>,
    pub(crate) world: World,
    pub(crate) id: ProcessId,
    pub(crate) me: u32,
    pub(crate) memory: UserMem,
    pub(crate) system: System,
    pub(crate) software: Software,
    receiving: Vec<Receiving>,
}

impl Rank {
    pub(crate) fn new(
        mpi: Box<dyn Mpi>,
        world: World,
        (id, me): (ProcessId, u32),
        memory: UserMem,
        (system, software): (System, Software),
    ) -> Rank {
        Rank { mpi, world, id, me, memory, system, software, receiving: Vec::new() }
    }

    /// The rank.
    pub fn rank(&self) -> u32 {
        self.me
    }

    /// The rank's clock now.
    pub fn now(&self) -> Picos {
        self.world.now(self.id)
    }

    /// The rank's memory, as long as its program asked for.
    pub fn memory(&self) -> UserMem {
        self.memory
    }

    /// The library's code, or a copy, takes so long.
    pub(crate) fn spend(&self, nanoseconds: f64) {
        self.world.spend(self.id, nanoseconds);
    }

    /// A register of its NIC.
    pub fn nic(&mut self, register: Status) -> u64 {
        self.mpi.status(register)
    }

    /// Starts to send. `None`: already complete.
    ///
    /// # Errors
    /// As those of the message layer.
    pub fn isend(&mut self, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>> {
        self.spend(self.software.send + self.system.copying_out(from.len(), &self.software));
        self.mpi.isend(to, tag, from)
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// As those of the message layer.
    pub fn irecv(&mut self, from: u32, tag: i32, into: UserMem) -> Result<ReqId> {
        let early = self.mpi.is_here(from, tag);
        let id = self.mpi.irecv(from, tag, into)?;
        self.receiving.push(Receiving { id, bytes: into.len(), early });
        Ok(id)
    }

    /// Whether a message waits for this receive.
    pub fn is_here(&mut self, from: u32, tag: i32) -> bool {
        self.mpi.is_here(from, tag)
    }

    /// Whether a request is complete; its name is free then.
    ///
    /// # Errors
    /// The request's own: its peer was given up, as when memory for early messages has run out.
    pub fn take(&mut self, id: ReqId) -> Result<bool> {
        let Some(class) = self.mpi.take(id) else { return Ok(false) };
        if class != abi::SUCCESS {
            return Err(Error::new(class, "a message of a virtual rank was lost"));
        }
        if let Some(place) = self.receiving.iter().position(|receiving| receiving.id == id) {
            let Receiving { bytes, early, .. } = self.receiving.swap_remove(place);
            self.spend(self.software.recv + self.system.copying_in(bytes, early, &self.software));
        }
        Ok(true)
    }
}
