//! The transport's state, its set-up, and the contract's calls, each handed to the file it belongs to.

use crate::connections::{Connections, State};
use crate::mailboxes::MailboxPool;
use crate::params::{UgniParams, UgniPlan, Unusable};
use crate::peers::{Directory, PeerAddress};
use crate::stats::Stats;
use crate::transfer::{self, Transfer};
use btl::{
    Access, Arrival, Asleep, Btl, Busy, Event, FastPath, Full, Limits, Loss, Pace, Peer, Refusal, RemoteKey,
    Route, Sleep, Take,
};
use core::fmt;
use gni::{
    Clock, Cq, Gni, JobResource, MemFlags, MemHandle, MsgqMessage, ResourceUse, SmsgAttr, SmsgType, Time,
};
use mem::{Slab, Source, UserMem};
use rcache::{Rcache, Unwatched};
use rdma::{BufferPool, EagerGets, Keys, Quota, Windows};
use std::collections::VecDeque;
use std::sync::Arc;

/// The job as a transport must know it.
#[derive(Clone, Debug)]
pub struct Job {
    /// This process.
    pub me: Peer,
    /// All processes: `Peer(i)` is at `peers[i]`.
    pub peers: Arc<[PeerAddress]>,
    /// Processes of this node, this one included.
    pub local_ranks: usize,
}

/// The transport over a NIC. See the crate's documentation.
pub struct Ugni<N: Gni, C: Clock> {
    pub(crate) nic: N,
    pub(crate) clock: C,
    pub(crate) job: Job,
    pub(crate) directory: Directory,
    pub(crate) params: Arc<UgniParams>,
    pub(crate) plan: UgniPlan,
    limits: Limits,
    pub(crate) queues: Queues,
    pub(crate) connections: Connections,
    pub(crate) quota: Quota,
    pub(crate) cache: Rcache<MemHandle>,
    /// Of memory exposed to a peer.
    pub(crate) exposed: Keys<MemHandle>,
    pub(crate) mailboxes: MailboxPool,
    pub(crate) eager: EagerGets<MemHandle>,
    pub(crate) windows: Windows<MemHandle>,
    /// Bytes read from windows that cannot go straight into the memory of their reader.
    pub(crate) window_buffers: BufferPool<MemHandle>,
    /// GETs and PUTs of this process, posted or to be posted again.
    pub(crate) transfers: Slab<Transfer, 20, 12>,
    /// Transfers to be posted again.
    pub(crate) again: VecDeque<u32>,
    /// Connections whose mailbox may have messages.
    pub(crate) active: VecDeque<u32>,
    /// How many of these, from the front, have a message that waits to be asked for: no control message is before it.
    pub(crate) looked: usize,
    /// Shared-queue messages taken and not shown yet.
    pub(crate) shared: VecDeque<(Peer, MsgqMessage)>,
    /// The shared-queue message that is out.
    pub(crate) shown: Box<Option<MsgqMessage>>,
    pub(crate) events: VecDeque<Event>,
    /// Messages whose local entry has not been taken.
    pub(crate) messages_out: u32,
    /// Transfers whose entry has not been taken.
    pub(crate) transfers_out: u32,
    /// Something was refused with `Busy` since the last `arm`.
    pub(crate) refused: bool,
    /// Counts calls that looked for messages of one peer alone.
    lookouts: u32,
    /// When to look for peers to be probed.
    pub(crate) next_probe: Time,
    pub(crate) stats: Stats,
}

/// The transport's completion queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queues {
    /// Messages sent.
    pub(crate) messages: Cq,
    /// Messages and credits arrived.
    pub(crate) arrivals: Cq,
    /// Transfers.
    pub(crate) transfers: Cq,
}

/// Why the transport cannot be set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// The parameters leave no way to communicate.
    Unusable(Unusable),
    /// The NIC refuses what the transport needs first.
    Nic(&'static str, gni::Error),
    /// The first mailboxes and buffers cannot be registered.
    NoRoom {
        /// Bytes of these mailboxes and buffers.
        bytes: usize,
        /// What the NIC answered.
        error: gni::Error,
        /// The node's memory descriptors.
        mdd: ResourceUse,
        /// The node's relocation entries.
        mrt: ResourceUse,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Unusable(unusable) => unusable.fmt(f),
            SetupError::Nic(step, error) => write!(
                f,
                "setting up the Gemini transport failed: {step}\nthe NIC answered {error}\nrun fewer ranks per \
                 node or choose other limits: alhena info --param btl_ugni_"
            ),
            SetupError::NoRoom { bytes, error: gni::Error::NoMemory, .. } => write!(
                f,
                "setting up the Gemini transport failed: registering {bytes} bytes of mailboxes and buffers\n\
                 this process may not lock so much memory (RLIMIT_MEMLOCK; see ulimit -l)\n\
                 raise it: ulimit -l unlimited; or take less: --mca btl_ugni_smsg_page_size, --mca btl_ugni_eager_num"
            ),
            SetupError::NoRoom { bytes, error, mdd, mrt } => write!(
                f,
                "setting up the Gemini transport failed: registering {bytes} bytes of mailboxes and buffers\n\
                 the NIC answered {error}: its node has {} of {} memory descriptors (MDD) and {} of {} relocation \
                 entries (MRT) in use\n\
                 run fewer ranks per node, or raise --mca gni_mdds or --mca gni_mrt_entries",
                mdd.used, mdd.limit, mrt.used, mrt.limit
            ),
        }
    }
}

impl std::error::Error for SetupError {}

impl<N: Gni, C: Clock> Ugni<N, C> {
    /// Sets the transport up on an attached NIC. Nothing is exchanged yet.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(
        mut nic: N,
        clock: C,
        job: Job,
        params: impl Into<Arc<UgniParams>>,
    ) -> Result<Ugni<N, C>, SetupError> {
        let params = params.into();
        let mdds = nic.get_job_res_info(JobResource::Mdd).limit;
        let plan = params.plan(job.peers.len(), job.local_ranks, mdds).map_err(SetupError::Unusable)?;
        let queues = make_queues(&mut nic, &params)?;
        let shape = SmsgAttr {
            kind: SmsgType::MboxAutoRetransmit,
            credits: params.smsg_max_credits as u16,
            max_size: plan.mailbox_limit as u32,
            ..SmsgAttr::default()
        };
        let mailboxes = MailboxPool::new(&nic, shape, plan.mailboxes, queues.arrivals)
            .map_err(|error| SetupError::Nic("describing mailboxes", error))?;
        let counts = [params.eager_num, params.eager_inc, params.eager_max];
        let eager = EagerGets::new(plan.buffer, counts);
        let blocks = if plan.msgq { 0 } else { mailboxes.first_block() };
        try_room(&mut nic, [blocks, eager.first_block(), eager.first_block()])?;
        nic.smsg_set_max_retrans(params.smsg_max_retries as u16);
        let mut stats = Stats::default();
        if plan.msgq {
            let attr = params.msgq_attr(job.local_ranks);
            let joined = nic.msgq_init(&attr, queues.messages).and_then(|()| nic.msgq_size(&attr));
            stats.msgq_bytes =
                joined.map_err(|error| SetupError::Nic("joining the node's shared queue", error))?;
        }
        let connections = Connections::new(&mut nic)
            .map_err(|error| SetupError::Nic("posting the wildcard datagram", error))?;
        let quota = Quota::with_mailboxes(plan.registrations);
        Ok(Ugni {
            limits: limits(&params, &plan),
            queues,
            connections,
            quota,
            cache: Rcache::new(Arc::new(Unwatched), quota.for_transfers()),
            exposed: Keys::default(),
            mailboxes,
            eager,
            windows: Windows::default(),
            window_buffers: BufferPool::new(transfer::BUFFER, transfer::BUFFERS),
            transfers: Slab::new(),
            again: VecDeque::new(),
            active: VecDeque::new(),
            looked: 0,
            shared: VecDeque::new(),
            shown: Box::new(None),
            events: VecDeque::new(),
            messages_out: 0,
            transfers_out: 0,
            refused: false,
            lookouts: 0,
            next_probe: Time::START,
            stats,
            nic,
            clock,
            directory: Directory::new(Arc::clone(&job.peers)),
            job,
            params,
            plan,
        })
    }

    /// Learns of a process of another job, whose NIC shows the same key, and that may have learned of this one; the index
    /// that it has here. One that is known has its index already.
    pub fn add_peer(&mut self, address: PeerAddress) -> Peer {
        let peer = self.directory.add(address);
        self.mailboxes.expect(peer.0 + 1);
        peer
    }

    /// Bytes of header and payload that a message to `peer` may have to travel inline.
    pub fn inline_limit(&self, peer: Peer) -> usize {
        let boxed =
            self.connections.of(peer).is_some_and(|connection| self.connections.get(connection).boxed);
        if boxed { self.plan.mailbox_limit } else { self.plan.smsg_limit }
    }

    /// The numbers in effect, and what they leave unreachable.
    pub fn plan(&self) -> &UgniPlan {
        &self.plan
    }

    /// What the transport has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The NIC below.
    pub fn nic(&self) -> &N {
        &self.nic
    }

    /// Whether nothing is under way: no transfer, no connection being made, nothing waiting to be sent.
    pub fn is_idle(&self) -> bool {
        self.eager.is_idle() && self.transfers.is_empty() && self.is_quiet()
    }

    /// Notes that something was refused for now, if it was: the next sleep ends when there is room.
    pub(crate) fn noted<T>(&mut self, asked: Result<T, Refusal>) -> Result<T, Refusal> {
        self.refused |= matches!(asked, Err(Refusal::Busy));
        asked
    }

    /// Whether nothing needs turns of ours.
    fn is_quiet(&self) -> bool {
        self.again.is_empty()
            && self.eager.is_quiet()
            && self.shared.is_empty()
            && self.events.is_empty()
            && self.connections.is_quiet()
    }

    /// Messages that are found by looking for their sender's alone leave their entries in the queues. These are taken
    /// as many at a time as lie in one cache line of the arrival queue: fewer would have that line cross again for each,
    /// more would take longer than the next message is on its way. A turn is taken now and then.
    #[inline]
    fn take_turn_among_looks(&mut self) {
        const ENTRIES: u32 = 4;
        const TURN: u32 = 8 * ENTRIES;
        self.lookouts = self.lookouts.wrapping_add(1);
        if self.lookouts.is_multiple_of(ENTRIES) {
            self.take_arrival_entries(ENTRIES as usize);
            self.take_sent();
        }
        if self.lookouts.is_multiple_of(TURN) {
            self.advance();
        }
    }

    /// One turn: the NIC's, then completions, connections, and what waits.
    pub(crate) fn advance(&mut self) {
        let now = self.clock.now();
        self.nic.progress(now);
        self.probe_when_due(now);
        self.take_sent();
        self.take_transfers();
        // In every turn: a process that sleeps with an exchange not looked at leaves all later callers without a wildcard.
        self.take_datagrams();
        if !self.is_quiet() {
            self.post_again();
            self.fetch_wanting();
            self.answer_hellos();
            self.send_waiting();
        }
    }
}

impl<N: Gni, C: Clock> fmt::Debug for Ugni<N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ugni").field("me", &self.job.me).field("plan", &self.plan).finish_non_exhaustive()
    }
}

fn make_queues<N: Gni>(nic: &mut N, params: &UgniParams) -> Result<Queues, SetupError> {
    let mut make = |entries: i64| {
        nic.cq_create(entries as u32).map_err(|error| SetupError::Nic("making completion queues", error))
    };
    Ok(Queues {
        messages: make(params.local_cq_size)?,
        arrivals: make(params.remote_cq_size)?,
        transfers: make(params.local_rdma_cq_size)?,
    })
}

/// Registers the first blocks of the pools and gives them back: memory that is too scarce is an error now, and not a
/// message that is never sent.
fn try_room<N: Gni>(nic: &mut N, blocks: [usize; 3]) -> Result<(), SetupError> {
    let mut made = Vec::new();
    let mut seen = Ok(());
    for bytes in blocks.into_iter().filter(|&bytes| bytes > 0) {
        seen = nic.mem_alloc(bytes).and_then(|memory| {
            let handle = nic.mem_register(memory, None, MemFlags::RELAXED_PI_ORDERING);
            made.push((memory, handle.ok()));
            handle.map(|_| ())
        });
        if seen.is_err() {
            break;
        }
    }
    let use_of = |what| nic.get_job_res_info(what);
    let (mdd, mrt) = (use_of(JobResource::Mdd), use_of(JobResource::Mrt));
    for (memory, handle) in made {
        // Nothing else knows of the memory, so both succeed.
        let _ = handle.map(|handle| nic.mem_deregister(handle));
        let _ = nic.mem_free(memory);
    }
    seen.map_err(|error| SetupError::NoRoom { bytes: blocks.iter().sum(), error, mdd, mrt })
}

fn limits(params: &UgniParams, plan: &UgniPlan) -> Limits {
    let align = gni::limits::GET_ALIGN as usize;
    Limits {
        eager: plan.eager_limit,
        max_send: plan.max_send,
        get: params.get_limit >= align,
        put: true,
        min_rdma: params.min_rdma_pipeline_size,
        min_rdma_answer: params.min_rdma_pipeline_size,
        max_get: params.get_limit / align * align,
        max_put: params.rdma_pipeline_frag_size,
        get_align: align,
    }
}

impl<N: Gni, C: Clock> Btl for Ugni<N, C> {
    fn reaches(&self, peer: Peer) -> bool {
        (peer.0 as usize) < self.directory.len()
    }

    #[inline(always)]
    fn limits(&self, _peer: Peer) -> &Limits {
        &self.limits
    }

    /// As Open MPI's transport declares it.
    fn pace(&self, _peer: Peer) -> Pace {
        Pace { latency: 2000, bandwidth: 5000 }
    }

    #[inline]
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        self.send_message(peer, header, payload).or_else(|Busy| self.send_once_more(peer, header, payload))
    }

    #[inline]
    fn next_arrival(&mut self) -> Option<Arrival> {
        if let Some(arrival) = self.look_for_arrival() {
            return Some(arrival);
        }
        self.advance();
        self.look_for_arrival()
    }

    #[inline]
    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        let connection = self.connections.of(peer)?;
        self.next_message(connection)
    }

    #[inline]
    fn release(&mut self, arrival: Arrival) {
        self.release_token(arrival.token);
    }

    fn next_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.advance();
            self.take_controls();
        }
        self.events.pop_front()
    }

    fn loss(&self, peer: Peer) -> Loss {
        let known = self.connections.of(peer).map(|connection| self.connections.get(connection));
        if known.is_some_and(|known| !known.has_mailbox()) && self.mailboxes.are_used_up(&self.quota) {
            return Loss {
                seen: format!(
                    "no mailbox is left for it: mailboxes have used up their share of {} memory registrations",
                    self.plan.registrations
                ),
                advice: "and give this process more registrations: raise --mca btl_ugni_max_mem_reg and gni_mdds; or \
                         more mailboxes in each: --mca btl_ugni_mbox_increment"
                    .into(),
            };
        }
        Loss {
            seen: "its Gemini NIC gave no answer, however often it was asked; its process has ended, or the network \
                   between the two is cut"
                .into(),
            advice: "and at the network; to wait longer: --mca btl_ugni_rdma_max_retries and \
                     btl_ugni_smsg_max_retries"
                .into(),
        }
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        let exposed = self.expose_memory(memory, access);
        let exposed = self.noted(exposed)?;
        self.count_exposure(peer, 1);
        Ok(exposed)
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        if self.conceal_memory(&key) {
            self.count_exposure(peer, -1);
        }
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let begun = self.begin_get(peer, local, key, offset, cookie);
        self.noted(begun)
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let begun = self.begin_put(peer, local, key, offset, cookie);
        self.noted(begun)
    }

    #[inline(always)]
    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    /// The queue of what has left has an entry for every message on its way.
    fn full(&self, _peer: Peer) -> Option<Full> {
        (self.messages_out >= self.params.local_cq_size as u32).then_some(Full::All)
    }

    /// Whether nothing is under way and all that was sent has arrived: this process may stop making progress.
    fn is_flushed(&self) -> bool {
        self.is_idle() && self.messages_out == 0 && self.transfers_out == 0
    }

    /// A peer that owes this process an answer, and not one of the transport's, is probed by nothing else.
    fn must_look_for_losses(&self) -> bool {
        true
    }

    fn look_for_losses(&mut self, awaited: &[Peer]) -> bool {
        self.probe_everyone(awaited);
        !self.is_quiet() || self.is_probing()
    }

    /// Where there is a connection, a probe of it fails once what came over it has been taken.
    fn has_ended(&mut self, peer: Peer) {
        let Some(connection) = self.connection_to(peer) else { return };
        if self.connections.get(connection).state != State::Connected {
            self.lose(connection);
        }
    }

    fn would_miss(&self, peer: Peer) -> bool {
        self.connections.of(peer).is_some_and(|at| self.connections.get(at).state == State::Connected)
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        false
    }

    /// After a refusal there is no sleep: the peer that has the room may be gone, which only probes find out, and these
    /// need turns.
    fn arm(&mut self) -> Option<Sleep> {
        if core::mem::take(&mut self.refused) || !self.is_quiet() {
            return None;
        }
        self.nic.arm().map(|armed| Sleep::Word { address: armed.word, expected: armed.expected })
    }

    fn must_arm_again(&self) -> bool {
        self.refused || !self.is_quiet() || self.nic.must_arm_again()
    }

    fn disarm(&mut self) {
        self.nic.disarm();
    }
}

impl<N: Gni, C: Clock> btl::Rails for Ugni<N, C> {}

impl<N: Gni, C: Clock> FastPath for Ugni<N, C> {
    /// A route is the peer's number.
    fn route(&self, peer: Peer) -> Route {
        Route(peer.0)
    }

    /// The NIC rings the peer.
    #[inline]
    fn send_on<S: Source>(&mut self, route: Route, header: &[u64], payload: &mut S) -> Result<Asleep, Busy> {
        self.send_message(Peer(route.0), header, payload).map(|()| Asleep(false))
    }

    #[inline]
    fn send_eager_on<S: Source>(
        &mut self,
        route: Route,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        self.send_message(Peer(route.0), header, payload)
    }

    #[inline]
    fn receive_if<T: Take>(&mut self, route: Route, take: T) -> Option<T::Taken> {
        self.take_message(self.connections.of(Peer(route.0))?, take)
    }

    /// A caller that only polls here takes no turns, so that some are taken before the polls.
    #[inline]
    fn poll_route(&mut self, route: Route, polls: u32) -> bool {
        let Some(connection) = self.connections.of(Peer(route.0)) else { return false };
        self.take_turn_among_looks();
        self.has_message(connection, polls)
    }
}
