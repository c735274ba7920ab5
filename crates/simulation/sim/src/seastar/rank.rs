//! One virtual rank's message layer, memory and clock.

use crate::port::Member;
use crate::seastar::stack::Mpi;
use crate::seastar::system::{Software, System};
use abi::{Error, Result};
use mem::UserMem;
use pml::ReqId;
use portals::{ProcessId, Status};
use portals_timed::{Network, Picos};

/// A receive under way.
struct Receiving {
    id: ReqId,
    bytes: usize,
    early: bool,
}

/// What a program works with: messages by rank and tag, and memory that lasts.
pub struct Rank {
    pub(crate) mpi: Box<dyn Mpi>,
    pub(crate) world: Network,
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
        world: Network,
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

/// Ranks share no memory.
impl Member for Rank {
    fn isend(&mut self, _context: u32, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>> {
        Rank::isend(self, to, tag, from)
    }

    fn irecv(&mut self, _context: u32, from: u32, tag: i32, into: UserMem) -> Result<ReqId> {
        Rank::irecv(self, from, tag, into)
    }

    fn take(&mut self, id: ReqId) -> Result<bool> {
        Rank::take(self, id)
    }

    fn copies(&self, bytes: usize) {
        self.spend(bytes as f64 / self.software.copy_rate);
    }
}
