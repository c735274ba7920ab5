//! The library's state: the objects of MPI, the message layer under them and the connection to the launcher.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use abi::{Address, Count, Error};
use btl::Peer;
use coll::Coll;
use coll::algorithms::registry::AlgorithmId;
use engine::{Classes, Interest, P2p, Requests, Tables, Threads};
use node::Node;
use pml::Data;
use shm::hint::Hint;

use crate::buffer_pool::BufferPool;
use crate::comm::contexts::Contexts;
use crate::comm::{Comm, Comms};
use crate::datatype::Types;
use crate::failures::{Failures, REVOKED};
use crate::params::Params;
use crate::sessions::Sessions;
use crate::tables::attributes::Keyvals;
use crate::tables::error_codes::ErrorTable;
use crate::tables::error_handlers::Errhandlers;
use crate::tables::groups::{Group, Groups};
use crate::tables::infos::Infos;
use crate::tables::operations::Ops;

/// Everything behind the guard.
pub struct State {
    /// Opens what crates keep in statics of their own.
    pub tables: Tables,
    /// What this process shares with those of its node, whatever carries their messages.
    pub node: Option<Arc<Node>>,
    /// Calls under way that make a communicator, which may share memory.
    pub makings: usize,
    /// The way to other processes: transports, the message layer, active messages.
    pub p2p: P2p,
    /// The handlers that take frames beside the message layer.
    pub classes: Classes<State>,
    /// Communicators by handle.
    pub comms: Comms,
    /// Requests that are more than one point-to-point operation, and the registry of what must be advanced.
    pub requests: Requests<State>,
    /// What is to be done with the state unlocked, since it calls the program. The crate that pushes an entry keeps
    /// what the entry is about in a queue of its own.
    pub due: VecDeque<fn(&mut engine::Token<State>)>,
    /// What a lost peer amounts to, for a process that has joined its job.
    pub on_loss: fn(&mut State, Peer),
    /// What the failure of a rank amounts to, once the launcher has announced it.
    pub on_failure: fn(&mut State, Peer),
    /// Revokes a communicator for all its processes.
    pub revoke_for_all: fn(&mut State, abi::Comm),
    /// Agrees with all processes of a communicator on the error with which a call ends.
    pub agree_on: fn(&mut engine::Token<State>, abi::Comm, abi::Result<()>) -> abi::Result<()>,
    /// What follows every wait, while a tool has callbacks.
    pub after_wait: Option<fn(&mut engine::Token<State>)>,
    /// The algorithm of the latest call of each collective.
    pub algorithms: [Option<AlgorithmId>; Coll::ALL.len()],
    /// The threads of this process that wait.
    pub threads: Threads<Interest>,
    /// Changes of the message layer of which those threads know.
    pub(crate) seen_changes: u32,
    /// How often this process has announced that it is about to sleep: what other processes write without a word has to be read after
    /// that once more.
    pub sleeps: u32,
    /// Polls in a row (`MPI_Test`, `MPI_Iprobe`) that found nothing to do.
    pub(crate) fruitless_polls: u32,
    /// Polls of the program, whatever they found.
    pub(crate) polls: u32,
    /// When a poll of the program next looks for losses, once it has polled for some time.
    pub(crate) next_look: Option<Instant>,
    /// Peers that are lost.
    pub lost: Vec<Peer>,
    /// What is known of failures.
    pub failures: Failures,
    /// Keeping on polling for messages rather than yielding.
    pub hint: KeepPolling,
    /// Datatypes by handle.
    pub types: Types,
    pub groups: Groups,
    pub ops: Ops,
    pub infos: Infos,
    pub errhandlers: Errhandlers,
    pub errors: ErrorTable,
    pub(crate) keyvals: Keyvals,
    pub sessions: Sessions,
    /// Buffers attached by the deprecated-free, process-wide calls.
    pub buffer: BufferPool,
    /// What only an initialised library has.
    pub world: Option<Membership>,
    pub params: Params,
    /// Handles of tools that measure the time in progress.
    pub timers: u32,
    /// Nanoseconds spent in progress while a tool measured it.
    pub progress_time: u64,
    /// The kinds of memory that the program may use, as its queries show them.
    pub memory_kinds: String,
    /// Context ids in use.
    pub contexts: Contexts,
    /// Answers to `MPI_Comm_get_attr` for the predefined keys, kept where pointers to them stay valid.
    pub predefined: Box<Predefined>,
}

/// How this process keeps polling.
#[derive(Debug, Default)]
pub struct KeepPolling {
    pub(crate) scheduling: Hint,
    /// A poll found nothing, and the wait is not over.
    pub(crate) waits: bool,
}

/// The process's place in its job.
pub struct Membership {
    pub job: pmi::Job,
    /// All processes of the job, in rank order.
    pub group: Arc<Group>,
}

/// Values of predefined attributes (MPI-5.0 section 11.1.2); C sees pointers to them.
#[derive(Debug)]
pub struct Predefined {
    pub tag_ub: i32,
    pub io: i32,
    pub host: i32,
    pub wtime_is_global: i32,
    pub appnum: i32,
    pub universe_size: i32,
    pub last_used_code: i32,
    /// Whether the job goes on after failures (`MPIX_FT`).
    pub ft: i32,
}

impl State {
    /// The state before initialisation: objects that may exist then, and no peer but this process.
    pub fn new() -> State {
        let params = Params::read();
        State {
            tables: Tables::claim(),
            node: None,
            p2p: P2p::alone(),
            classes: Classes::new(),
            comms: Comms::new(),
            requests: crate::immediate::requests(),
            due: VecDeque::new(),
            on_loss: |_, _| {},
            on_failure: |_, _| {},
            makings: 0,
            revoke_for_all: |_, _| {},
            agree_on: |_, _, own| own,
            after_wait: None,
            algorithms: Default::default(),
            threads: Threads::default(),
            seen_changes: 0,
            sleeps: 0,
            fruitless_polls: 0,
            polls: 0,
            next_look: None,
            lost: Vec::new(),
            failures: Failures::default(),
            hint: Default::default(),
            types: Types::new(),
            groups: Groups::new(),
            ops: Ops::new(),
            infos: Infos::new(),
            errhandlers: Errhandlers::new(params.mpi.initial_errhandler.into()),
            errors: ErrorTable::new(),
            keyvals: Keyvals::new(),
            sessions: Sessions::new(),
            buffer: BufferPool::default(),
            world: None,
            params,
            timers: 0,
            progress_time: 0,
            memory_kinds: crate::comm::hints::kinds_for(None),
            contexts: Contexts::new(),
            predefined: Box::new(Predefined {
                tag_ub: crate::comm::TAG_UB,
                io: abi::ANY_SOURCE,
                host: abi::PROC_NULL,
                wtime_is_global: 0,
                appnum: 0,
                universe_size: 0,
                last_used_code: abi::ERR_LASTCODE,
                ft: 0,
            }),
        }
    }

    /// This process's peer index.
    pub fn me(&self) -> u32 {
        self.world.as_ref().map_or(0, |world| world.job.rank)
    }

    /// The communicator behind a handle.
    #[inline(always)]
    pub fn comm(&self, handle: abi::Comm) -> abi::Result<&Comm> {
        self.comms.get(handle)
    }

    /// The data of a buffer argument.
    #[inline]
    pub fn data(&self, buf: Address, count: Count, datatype: abi::Datatype) -> abi::Result<Data> {
        match ::datatype::predefined_dense_size(datatype) {
            Some(size) => crate::datatype::dense(buf, count, size).map(Data::Contiguous),
            None => self.types.resolve(datatype)?.data(buf, count),
        }
    }

    /// Stores an operation and gives its handle.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when 2^23 requests exist.
    pub fn add_request(&mut self, operation: impl engine::Operation<State>) -> abi::Result<abi::Request> {
        self.requests.add(operation).map(|key| crate::handle::RequestKey::Operation(key).handle())
    }
}

const LOST: Error = Error::new(abi::ERR_PROC_ABORTED, "a process has ended that the call waits for");

/// What ends waits by other ways than requests, which the message layer ends.
impl State {
    /// For a collective of a communicator: one of its processes is lost. A process that has sent its goodbye has done its
    /// part of all that it has begun, so it is lost to the rank alone that waits for it: `awaited`, if that is one rank.
    #[inline]
    pub fn loss_in(&self, comm: abi::Comm, awaited: Option<usize>) -> Option<Error> {
        if self.lost.is_empty() && !self.failures.any { None } else { self.loss_among(comm, awaited) }
    }

    #[cold]
    fn loss_among(&self, comm: abi::Comm, awaited: Option<usize>) -> Option<Error> {
        let comm = self.comms.get(comm).ok()?;
        if comm.is_revoked {
            return Some(REVOKED);
        }
        // A process that has left the call that makes it does not come.
        if let Some(Err(error)) = comm.parent.map(|parent| self.check_whole(parent)) {
            return Some(error);
        }
        let awaited = awaited.and_then(|rank| comm.addressed().get(rank));
        let is_missed = |peer: &Peer| awaited == Some(&peer.0) || !self.has_left(*peer);
        self.lost.iter().any(|peer| comm.contains(*peer) && is_missed(peer)).then_some(LOST)
    }

    /// Whether `peer` has left MPI: its goodbye came, or its node's memory shows that, where there was no connection to send one by.
    pub fn has_left(&self, peer: Peer) -> bool {
        self.p2p.has_left(peer) || self.node.as_ref().is_some_and(|node| node.is_away(peer))
    }

    /// As [`engine::P2p::leave`], and shows it to the processes of the node.
    pub fn leave(&mut self) -> bool {
        self.show_away(true);
        self.p2p.leave()
    }

    /// As [`engine::P2p::come_back`], and shows it to the processes of the node.
    pub fn come_back(&mut self) -> bool {
        self.show_away(false);
        self.p2p.come_back()
    }

    fn show_away(&self, is_away: bool) {
        if let Some(node) = &self.node {
            node.set_away(is_away);
        }
    }

    /// For a message of `source`, or of any process, in a context.
    pub fn loss_of(&self, source: Option<Peer>, context: u32) -> Option<Error> {
        let lost = source.filter(|peer| self.lost.contains(peer)).map(|_| LOST);
        if self.failures.any { lost.or_else(|| self.failure_of(source, context)) } else { lost }
    }
}
