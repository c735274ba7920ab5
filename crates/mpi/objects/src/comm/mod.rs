//! Communicators: the table, and what a communicator is.

pub mod contexts;
mod fast_comm;
mod held;
pub mod hints;
pub mod library_tags;
mod query;

use std::sync::Arc;

use abi::{Error, Result};

use crate::buffer_pool::BufferPool;
use crate::handle::{self, Kind, Objects};
use crate::tables::attributes::Attributes;
use crate::tables::error_handlers::Handler;
use crate::tables::groups::Group;
use crate::topology::Topology;

pub use fast_comm::FastComm;
pub use held::Held;
pub use query::*;

/// Largest tag.
pub(crate) const TAG_UB: i32 = i32::MAX;

/// A communicator. Ranks of point-to-point calls index `peers`, which for an inter-communicator is the remote
/// group.
pub struct Comm {
    /// Context of point-to-point messages, `id << 1`; the library's own messages use `id << 1 | 1`.
    pub context: u32,
    /// The calling process's rank in the local group.
    pub rank: u32,
    /// The peer behind each rank that a call may name.
    pub peers: Arc<[u32]>,
    /// For the fast paths; of no communicator until this one has a handle.
    pub fast: FastComm,
    /// The communicator's handle, for errors of its requests.
    pub handle: abi::Comm,
    pub group: Arc<Group>,
    /// The remote group; an inter-communicator has one.
    pub remote: Option<Arc<Group>>,
    /// The local group's own communicator inside an inter-communicator, for its collectives; none while a call has it.
    pub local: Option<Box<Comm>>,
    pub errhandler: Handler,
    pub attributes: Attributes,
    pub name: String,
    pub hints: hints::Hints,
    pub topology: Option<Topology>,
    pub buffer: BufferPool,
    /// Where the collectives' table has what they keep with it.
    pub slot: Slot,
    /// Number of the next partition of a channel.
    pub partitions: u32,
    /// Counts duplicates being made (`MPI_Comm_idup`).
    pub duplicates: u32,
    /// The session that the communicator comes from; `None` in the world model.
    pub session: Option<abi::Session>,
    /// The communicator of which it is made, until it is.
    pub parent: Option<abi::Comm>,
    /// A process has revoked it: nothing is in `peers` any more. What a call that is under way needs of them is in `addressed`.
    pub is_revoked: bool,
    /// Failures that the program has acknowledged, of those that are known.
    pub acknowledged: usize,
    /// Counts the agreements of its processes: those that the program calls, and those on the errors of other calls.
    pub agreements: [u32; 2],
    /// What its requests hold, once there was one that outlives the program's handle.
    held: Option<Held>,
}

/// The place of a communicator in a table that an upper crate keeps beside that of communicators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// No place, and in no table.
    pub const NONE: Slot = Slot(u32::MAX);
}

impl Comm {
    /// A communicator of `group` in which this process is `rank`.
    pub fn new(context_id: u32, group: Arc<Group>, rank: u32, errhandler: Handler) -> Comm {
        Comm {
            context: context_id << 1,
            rank,
            peers: group.peers(),
            fast: FastComm::none(),
            handle: abi::COMM_NULL,
            session: group.session,
            group,
            remote: None,
            local: None,
            errhandler,
            attributes: Attributes::default(),
            name: String::new(),
            hints: hints::Hints::default(),
            topology: None,
            buffer: BufferPool::default(),
            slot: Slot::NONE,
            partitions: 0,
            duplicates: 0,
            parent: None,
            is_revoked: false,
            acknowledged: 0,
            agreements: [0; 2],
            held: None,
        }
    }

    /// What the fast paths want to know of it, as it is now.
    fn as_fast(&self) -> FastComm {
        FastComm::new(&self.peers, self.context, self.rank)
    }

    /// Processes in the local group.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// Whether a process is in one of its groups.
    pub fn contains(&self, peer: btl::Peer) -> bool {
        self.group.members().contains(&peer.0) || self.addressed().contains(&peer.0)
    }

    /// Those that a rank of a call may name, also where it is revoked.
    pub fn addressed(&self) -> &[u32] {
        self.remote.as_ref().unwrap_or(&self.group).members()
    }

    /// Takes numbers for the `count` partitions of a channel ([`library_tags`]).
    pub fn partition_numbers(&mut self, count: u32) -> u32 {
        let first = self.partitions;
        self.partitions = first.wrapping_add(count);
        first
    }

    /// Whether the communicator joins two groups.
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Gives a communicator the id that its members agreed on.
    pub fn set_context_id(&mut self, id: u32) {
        self.context = id << 1;
        let beside = self.local_context();
        if let Some(local) = &mut self.local {
            local.context = beside;
        }
        if !self.fast.is_none() {
            self.fast = self.as_fast();
        }
    }

    /// Context ids that the communicator holds.
    pub fn context_ids(&self) -> u32 {
        if self.is_inter() { 2 } else { 1 }
    }

    /// The context of an inter-communicator's local group: that of the id beside its own. It does not depend on whether the
    /// group's own communicator is at home or lent to a call.
    pub fn local_context(&self) -> u32 {
        self.context + 2
    }

    /// Turns the communicator into an inter-communicator towards `remote`.
    pub fn make_inter(&mut self, remote: Arc<Group>) {
        let local = Comm::new(self.local_context() >> 1, self.group.clone(), self.rank, Handler::Return);
        self.local = Some(Box::new(local));
        self.peers = remote.peers();
        self.remote = Some(remote);
    }
}

/// All communicators: world and self have places of their own.
pub struct Comms {
    builtin: [Option<Box<Comm>>; 2],
    /// Their parts for the fast paths, or those of no communicator.
    fast: [FastComm; 2],
    /// Whether messages have fast paths.
    fast_paths: bool,
    slab: Objects<Box<Comm>>,
    /// Those that the program has freed and requests held.
    renamed: Vec<abi::Comm>,
}

impl Comms {
    pub fn new() -> Comms {
        let fast = [FastComm::none(), FastComm::none()];
        Comms { builtin: [None, None], fast, fast_paths: true, slab: Objects::new(), renamed: Vec::new() }
    }

    /// Gives communicators no part for the fast paths, so that calls find out early that no rank has one. To be
    /// called before there are any.
    pub fn without_fast_paths(&mut self) {
        self.fast_paths = false;
    }

    fn fast_of(&self, comm: &Comm) -> FastComm {
        if self.fast_paths { comm.as_fast() } else { FastComm::none() }
    }

    /// For the fast paths, by handle; `None` or without ranks if the handle is no communicator's.
    #[inline(always)]
    pub fn fast(&self, handle: abi::Comm) -> Option<&FastComm> {
        let builtin = handle.0.wrapping_sub(abi::COMM_WORLD.0);
        if builtin < 2 {
            Some(&mem::in_register(&self.fast)[builtin])
        } else {
            core::hint::cold_path();
            handle::key(Kind::Comm, handle.0).and_then(|key| self.slab.get(key)).map(|comm| &comm.fast)
        }
    }

    /// The communicator that `handle` names.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    #[inline(always)]
    pub fn get(&self, handle: abi::Comm) -> Result<&Comm> {
        self.find(handle).ok_or_else(|| bad(handle))
    }

    /// The communicator behind a handle, if it is one.
    #[inline(always)]
    pub fn find(&self, handle: abi::Comm) -> Option<&Comm> {
        let builtin = handle.0.wrapping_sub(abi::COMM_WORLD.0);
        if builtin < 2 {
            self.builtin[builtin].as_deref()
        } else {
            handle::key(Kind::Comm, handle.0).and_then(|key| self.slab.get(key)).map(Box::as_ref)
        }
    }

    /// The communicator whose messages have this context.
    pub fn in_context(&self, context: u32) -> Option<&Comm> {
        self.iter().find(|comm| comm.context == context)
    }

    /// As [`Comms::get`], to change it.
    pub fn get_mut(&mut self, handle: abi::Comm) -> Result<&mut Comm> {
        let builtin = handle.0.wrapping_sub(abi::COMM_WORLD.0);
        let found = if builtin < 2 {
            self.builtin[builtin].as_deref_mut()
        } else {
            handle::key(Kind::Comm, handle.0).and_then(|key| self.slab.get_mut(key)).map(Box::as_mut)
        };
        found.ok_or_else(|| bad(handle))
    }

    /// Puts `MPI_COMM_WORLD` or `MPI_COMM_SELF` into its place.
    pub fn set_builtin(&mut self, handle: abi::Comm, comm: Comm) {
        let comm = Comm { handle, ..comm };
        let place = usize::from(handle == abi::COMM_SELF);
        self.fast[place] = self.fast_of(&comm);
        self.builtin[place] = Some(Box::new(comm));
    }

    /// Adds a communicator and gives it its handle.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when there are 2^20 communicators.
    pub fn add(&mut self, comm: Comm) -> Result<abi::Comm> {
        let fast = self.fast_of(&comm);
        let key = self
            .slab
            .insert(Box::new(comm))
            .map_err(|_| Error::new(abi::ERR_OTHER, "more than 2^20 communicators exist"))?;
        let handle = abi::Comm(handle::make(Kind::Comm, key));
        if let Some(comm) = self.slab.get_mut(key) {
            comm.handle = handle;
            comm.fast = fast;
        }
        Ok(handle)
    }

    /// Puts another communicator under a handle.
    pub fn replace(&mut self, handle: abi::Comm, comm: Comm) -> Result<()> {
        let fast = self.fast_of(&comm);
        let place = self.get_mut(handle)?;
        *place = Comm { handle, fast, held: place.held.take(), ..comm };
        Ok(())
    }

    /// Calls with a communicator do not go the fast path any more.
    pub(crate) fn close_fast_path(&mut self, handle: abi::Comm) {
        let builtin = handle.0.wrapping_sub(abi::COMM_WORLD.0);
        if builtin < 2 {
            self.fast[builtin] = FastComm::none();
        } else if let Ok(comm) = self.get_mut(handle) {
            comm.fast = FastComm::none();
        }
    }

    /// Takes a communicator out.
    pub fn remove(&mut self, handle: abi::Comm) -> Option<Box<Comm>> {
        match handle {
            abi::COMM_WORLD | abi::COMM_SELF => {
                let place = usize::from(handle == abi::COMM_SELF);
                self.fast[place] = FastComm::none();
                self.builtin[place].take()
            }
            _ => self.slab.remove(handle::key(Kind::Comm, handle.0)?),
        }
    }

    /// Every communicator.
    pub fn iter(&self) -> impl Iterator<Item = &Comm> {
        let builtin = self.builtin.iter().flatten();
        builtin.chain(self.slab.iter().map(|(_, comm)| comm)).map(Box::as_ref)
    }

    /// Every communicator's handle.
    pub fn handles(&self) -> Vec<abi::Comm> {
        self.iter().map(|comm| comm.handle).collect()
    }
}

#[cold]
fn bad(handle: abi::Comm) -> Error {
    Error::new(
        abi::ERR_COMM,
        if handle == abi::COMM_NULL {
            "the communicator is MPI_COMM_NULL"
        } else {
            "the handle names no communicator (never created, freed, or of another kind)"
        },
    )
}
