//! Partitioned point-to-point communication (MPI-5.0 chapter 4).
//!
//! A channel is set up once, when both sides have initialised: the sender announces to the receiver how it cuts the
//! message. From then on every partition is a message of its own, which leaves at its `MPI_Pready`, before the
//! others.
//!
//! ```text
//!   MPI_Psend_init ── setup: partitions, bytes of each, first tag ──► MPI_Precv_init   (matched in order)
//!   MPI_Start                                                         MPI_Start: one receive a partition
//!   MPI_Pready(2) ──────────── partition 2 ─────────────────────────► MPI_Parrived(…)
//! ```
//!
//! The two sides may cut the same bytes into different numbers of partitions.

use abi::{Address, Count, Datatype, Error, Result};
use engine::P2p;
use engine::{Advance, Afterlife, Fate, Operation, Work};
use pml::{Data, Done, Mode, Pattern, ReqId, SendTo};

use crate::p2p::{pattern, target};
use objects::comm::Held;
use objects::comm::library_tags::{PARTITIONED, PARTITIONS, of_partition};
use objects::datatype::TypeRef;
use objects::domain::Token;
use objects::handle::RequestKey;
use objects::immediate::EMPTY;
use objects::memory::{of_vec_mut, of_words};
use objects::state::State;

/// What the sender announces to the receiver: partitions, bytes of each, number of the first.
const SETUP_WORDS: usize = 3;

/// One side of a partitioned channel.
pub struct Partitioned {
    side: Side,
    /// Partitions as this side counts them.
    partitions: u64,
    /// Packed bytes of each.
    bytes: u64,
    active: bool,
    /// The program has freed the request.
    given_up: bool,
    done: Done,
    owner: u32,
    #[expect(
        dead_code,
        reason = "keeps the communicator's context ids from others while the channel uses them"
    )]
    held: Held,
}

enum Side {
    /// To or from `MPI_PROC_NULL`.
    NoPeer,
    Send(Sender),
    Receive(Receiver),
}

struct Sender {
    to: SendTo,
    /// Where the partitions' data comes from.
    buffer: Address,
    count: Count,
    extent: i64,
    datatype: TypeRef,
    /// Number of partition 0.
    first: u32,
    setup: Option<ReqId>,
    /// The setup message, until it has left.
    #[expect(dead_code, reason = "keeps alive what the message layer sends from")]
    words: Box<[u64]>,
    ready: Vec<bool>,
    sends: Vec<ReqId>,
}

struct Receiver {
    from: Pattern,
    buffer: Address,
    count: Count,
    datatype: TypeRef,
    setup: Option<ReqId>,
    words: Box<[u64]>,
    /// Receives of the sender's partitions; `None` once complete.
    receives: Vec<Option<ReqId>>,
    /// Receives are posted for the present round.
    posted: bool,
    /// Packed data of a buffer that is not one run of bytes.
    staging: Vec<u8>,
}

impl Partitioned {
    /// The program freed the request: nothing more is started, and what no peer has part in ends at once. The memory that
    /// the library lends to messages under way stays until all are over.
    fn end_messages(&mut self, state: &mut State) {
        self.given_up = true;
        let ids: Vec<ReqId> = match &self.side {
            Side::NoPeer => Vec::new(),
            Side::Send(sender) => sender.sends.iter().copied().chain(sender.setup).collect(),
            Side::Receive(receiver) => {
                receiver.receives.iter().flatten().copied().chain(receiver.setup).collect()
            }
        };
        for id in ids {
            state.p2p.cancel(id);
        }
    }

    /// Whether no message of this side is under way.
    fn is_drained(&mut self, p2p: &mut P2p) -> bool {
        match &mut self.side {
            Side::NoPeer => true,
            Side::Send(sender) => {
                sender.reap(p2p, &mut self.done);
                sender.setup.is_none() && sender.sends.is_empty()
            }
            Side::Receive(receiver) => {
                receiver.reap(p2p, &mut self.done);
                receiver.setup = receiver.setup.filter(|&id| p2p.take(id).is_none());
                receiver.setup.is_none() && receiver.receives.iter().all(Option::is_none)
            }
        }
    }

    /// Posts the receives once the sender's setup is there.
    fn set_up(&mut self, state: &mut State) -> Advance {
        let room = self.partitions * self.bytes;
        let Side::Receive(receiver) = &mut self.side else { return Advance::Finished };
        if self.given_up || receiver.posted {
            return Advance::Finished;
        }
        if let Some(done) = receiver.setup.and_then(|id| state.p2p.take(id)) {
            receiver.setup = None;
            self.done.error = done.error;
        }
        if receiver.setup.is_some() {
            return Advance::Idle;
        }
        if let Err(error) = receiver.post(state, room) {
            self.done.error = error.class;
            receiver.posted = true;
        }
        Advance::Finished
    }
}

impl Operation<State> for Partitioned {
    fn work(&self) -> Option<Work> {
        Some(Work::Partitions)
    }

    fn is_over(&mut self, state: &mut State) -> bool {
        if self.given_up {
            return self.is_drained(&mut state.p2p);
        }
        if !self.active {
            return true;
        }
        match &mut self.side {
            Side::NoPeer => true,
            Side::Send(sender) => {
                sender.reap(&mut state.p2p, &mut self.done);
                sender.setup.is_none() && sender.sends.is_empty() && sender.ready.iter().all(|&ready| ready)
            }
            Side::Receive(receiver) => {
                receiver.reap(&mut state.p2p, &mut self.done);
                receiver.posted && receiver.receives.iter().all(Option::is_none)
            }
        }
    }

    fn needs(&self) -> Vec<ReqId> {
        match &self.side {
            Side::NoPeer => Vec::new(),
            // Any thread of the program may have the next one ready.
            Side::Send(sender) if sender.ready.contains(&false) => Vec::new(),
            Side::Send(sender) => sender.sends.iter().copied().chain(sender.setup).collect(),
            Side::Receive(receiver) => {
                receiver.receives.iter().flatten().copied().chain(receiver.setup).collect()
            }
        }
    }

    fn is_active(&self) -> bool {
        self.active
    }

    fn outcome(&self) -> Done {
        self.done
    }

    fn start(&mut self, _state: &mut State, _key: u32) -> Result<bool> {
        self.active = true;
        match &mut self.side {
            Side::NoPeer => Ok(false),
            Side::Send(sender) => {
                sender.ready.fill(false);
                Ok(false)
            }
            Side::Receive(receiver) => {
                receiver.posted = false;
                receiver.receives.clear();
                Ok(true)
            }
        }
    }

    fn advance(&mut self, state: &mut State, _key: u32) -> Advance {
        self.set_up(state)
    }

    /// The request can be started again.
    fn conclude(&mut self) -> (Done, Fate) {
        if self.active
            && let Side::Receive(receiver) = &mut self.side
        {
            receiver.unpack();
        }
        self.active = false;
        (std::mem::replace(&mut self.done, Done { owner: self.owner, ..EMPTY }), Fate::Inactive)
    }

    fn give_up(&mut self, state: &mut State) -> Afterlife {
        self.end_messages(state);
        if self.is_over(state) { Afterlife::Gone } else { Afterlife::UntilOver { register: true } }
    }
}

impl Sender {
    fn reap(&mut self, p2p: &mut P2p, done: &mut Done) {
        let mut take = |id: ReqId| match p2p.take(id) {
            Some(sent) => {
                done.error = done.error.max(sent.error);
                true
            }
            None => false,
        };
        self.sends.retain(|&id| !take(id));
        if self.setup.is_some_and(take) {
            self.setup = None;
        }
    }
}

impl Receiver {
    fn reap(&mut self, p2p: &mut P2p, done: &mut Done) {
        for slot in &mut self.receives {
            if let Some(received) = slot.and_then(|id| p2p.take(id)) {
                done.error = done.error.max(received.error);
                done.status.source = self.from.source;
                done.status.tag = self.from.tag;
                done.status.set_bytes(done.status.bytes() + received.status.bytes());
                *slot = None;
            }
        }
    }

    fn unpack(&mut self) {
        if self.staging.is_empty() {
            return;
        }
        if let Ok(Data::Typed(mut stream)) = self.datatype.data(self.buffer, self.count) {
            stream.drain(mem::PeerBytes::of(&self.staging));
        }
    }

    /// The sender's partitions and the bytes of each, once the setup message is there.
    fn cut(&self) -> (u64, u64) {
        (self.words[0], self.words[1])
    }

    /// Posts a receive for each of the sender's partitions.
    fn post(&mut self, state: &mut State, room: u64) -> Result<()> {
        let (partitions, bytes) = self.cut();
        if partitions > u64::from(PARTITIONS) || partitions.checked_mul(bytes) != Some(room) {
            return Err(Error::new(abi::ERR_TRUNCATE, "the partitioned send and receive differ in size"));
        }
        let whole = match self.datatype.data(self.buffer, self.count)? {
            Data::Contiguous(memory) => memory,
            Data::Typed(_) => {
                objects::memory::resize(&mut self.staging, room as usize)?;
                of_vec_mut(&mut self.staging)
            }
        };
        for partition in 0..partitions {
            let tag = of_partition((self.words[2] as u32).wrapping_add(partition as u32));
            let from = Pattern { tag, context: self.from.context | 1, ..self.from };
            let into = Data::Contiguous(whole.part((partition * bytes) as usize, bytes as usize));
            self.receives.push(Some(state.p2p.irecv(&from, into)?));
        }
        self.posted = true;
        Ok(())
    }
}

/// `MPI_Psend_init`
pub fn psend_init(
    t: &mut Token,
    buf: Address,
    partitions: i32,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
    info: abi::Info,
    request: &mut abi::Request,
) -> Result<()> {
    let mut guard = t.lock();
    let state = &mut *guard;
    state.requests.check_room()?;
    let (total, bytes) = partitioned_size(state, buf, partitions, count, datatype, info)?;
    let resolved = state.types.resolve(datatype)?;
    let extent = state.types.get(datatype)?.extent();
    let to = target(state.comm(comm)?, dest, tag)?;
    state.data(buf, total, datatype)?;
    let side = match to {
        None => Side::NoPeer,
        Some(to) => {
            let cut = partitions as u32;
            let first = state.comms.get_mut(comm)?.partition_numbers(cut);
            let mut words: Box<[u64]> = Box::new([u64::from(cut), bytes, u64::from(first)]);
            let setup = SendTo { context: to.context | 1, source: to.source | PARTITIONED, ..to };
            let data = Data::Contiguous(of_words(&mut words));
            let setup = engine::isend(state, &setup, data, Mode::Standard)?;
            let (ready, sends) = (vec![false; cut as usize], Vec::new());
            let buffer = buf;
            Side::Send(Sender {
                to,
                buffer,
                count,
                extent,
                datatype: resolved,
                first,
                setup,
                words,
                ready,
                sends,
            })
        }
    };
    add_partitioned(state, side, partitions, bytes, comm, request)
}

/// `MPI_Precv_init`
pub fn precv_init(
    t: &mut Token,
    buf: Address,
    partitions: i32,
    count: Count,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    info: abi::Info,
    request: &mut abi::Request,
) -> Result<()> {
    let mut guard = t.lock();
    let state = &mut *guard;
    state.requests.check_room()?;
    let (total, bytes) = partitioned_size(state, buf, partitions, count, datatype, info)?;
    if source == abi::ANY_SOURCE || tag == abi::ANY_TAG {
        return Err(Error::new(abi::ERR_ARG, "a partitioned receive takes no wildcards"));
    }
    let resolved = state.types.resolve(datatype)?;
    let from = pattern(state.comm(comm)?, source, tag)?;
    let side = match from {
        None => Side::NoPeer,
        Some(from) => {
            let mut words: Box<[u64]> = Box::new([0; SETUP_WORDS]);
            let setup = Pattern { context: from.context | 1, source: source | PARTITIONED as i32, ..from };
            let into = Data::Contiguous(of_words(&mut words));
            let setup = Some(state.p2p.irecv(&setup, into)?);
            Side::Receive(Receiver {
                from,
                buffer: buf,
                count: total,
                datatype: resolved,
                setup,
                words,
                receives: Vec::new(),
                posted: false,
                staging: Vec::new(),
            })
        }
    };
    add_partitioned(state, side, partitions, bytes, comm, request)
}

/// Checks the size arguments; items in all partitions and bytes of each.
fn partitioned_size(
    state: &State,
    buf: Address,
    partitions: i32,
    count: Count,
    datatype: Datatype,
    info: abi::Info,
) -> Result<(Count, u64)> {
    state.infos.hints(info)?;
    if partitions < 1 {
        return Err(Error::new(abi::ERR_ARG, "the number of partitions is not positive"));
    }
    if partitions as u32 > PARTITIONS {
        return Err(Error::new(abi::ERR_ARG, "a message has at most 2^30 partitions"));
    }
    let total = count.checked_mul(Count::from(partitions)).filter(|_| count >= 0);
    let total = total.ok_or(Error::new(abi::ERR_COUNT, "the count is negative or too large"))?;
    let whole = state.data(buf, total, datatype)?.total();
    Ok((total, whole / partitions as u64))
}

fn add_partitioned(
    state: &mut State,
    side: Side,
    partitions: i32,
    bytes: u64,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let (owner, held) = (comm.0 as u32, state.hold(comm)?);
    let done = Done { owner, ..EMPTY };
    let partitioned = Partitioned {
        side,
        partitions: partitions as u64,
        bytes,
        active: false,
        given_up: false,
        done,
        owner,
        held,
    };
    *request = state.add_request(partitioned)?;
    Ok(())
}

const NOT_PARTITIONED: Error = Error::new(abi::ERR_REQUEST, "the handle names no partitioned request");

/// Runs `f` on a partitioned request and the rest of the state.
fn with<R>(
    t: &mut Token,
    request: abi::Request,
    f: impl FnOnce(&mut State, &mut Partitioned) -> Result<R>,
) -> Result<R> {
    let Some(RequestKey::Operation(key)) = RequestKey::of(request) else { return Err(NOT_PARTITIONED) };
    let mut state = t.lock();
    // The last partition completes a send that another thread may wait for.
    state.threads.changed();
    let done = engine::with_as(&mut *state, key, |partitioned, state| f(state, partitioned));
    drop(state);
    engine::see_to_connections(t);
    done.ok_or(NOT_PARTITIONED)?
}

/// `MPI_Pready`: the partition leaves now.
pub fn pready(t: &mut Token, partition: i32, request: abi::Request) -> Result<()> {
    with(t, request, |state, partitioned| ready(state, partitioned, partition))
}

/// `MPI_Pready_range`: both ends belong to the range.
pub fn pready_range(t: &mut Token, low: i32, high: i32, request: abi::Request) -> Result<()> {
    with(t, request, |state, partitioned| (low..=high).try_for_each(|p| ready(state, partitioned, p)))
}

/// `MPI_Pready_list`
pub fn pready_list(t: &mut Token, partitions: &[i32], request: abi::Request) -> Result<()> {
    with(t, request, |state, partitioned| partitions.iter().try_for_each(|&p| ready(state, partitioned, p)))
}

fn ready(state: &mut State, partitioned: &mut Partitioned, partition: i32) -> Result<()> {
    let bad = |what| Error::new(abi::ERR_ARG, what);
    let index = usize::try_from(partition).ok().filter(|&p| (p as u64) < partitioned.partitions);
    let index = index.ok_or(bad("there is no such partition"))?;
    if !partitioned.active {
        return Err(Error::new(abi::ERR_REQUEST, "the partitioned request is not started"));
    }
    let sender = match &mut partitioned.side {
        Side::NoPeer => return Ok(()),
        Side::Receive(_) => return Err(Error::new(abi::ERR_REQUEST, "the request is a receive")),
        Side::Send(sender) => sender,
    };
    if std::mem::replace(&mut sender.ready[index], true) {
        return Err(bad("the partition was marked ready before"));
    }
    let offset = sender.extent * sender.count * index as i64;
    let at = Address(sender.buffer.0.wrapping_add_signed(offset as isize));
    let tag = of_partition(sender.first.wrapping_add(index as u32));
    let to = SendTo { tag, context: sender.to.context | 1, ..sender.to };
    let data = sender.datatype.data(at, sender.count)?;
    if let Some(id) = engine::isend(state, &to, data, Mode::Standard)? {
        sender.sends.push(id);
    }
    Ok(())
}

/// `MPI_Parrived`: whether all bytes of the receiver's partition are there.
pub fn parrived(t: &mut Token, request: abi::Request, partition: i32, flag: &mut i32) -> Result<()> {
    if request == abi::REQUEST_NULL {
        *flag = 1;
        return Ok(());
    }
    objects::wait::poll(t);
    let arrived = with(t, request, |state, partitioned| {
        let (partitions, bytes, active) = (partitioned.partitions, partitioned.bytes, partitioned.active);
        let index = u64::try_from(partition).ok().filter(|&p| p < partitions);
        let index = index.ok_or(Error::new(abi::ERR_ARG, "there is no such partition"))?;
        let receiver = match &mut partitioned.side {
            Side::Receive(receiver) if active => receiver,
            Side::Send(_) => return Err(Error::new(abi::ERR_REQUEST, "the request is a send")),
            _ => return Ok(true),
        };
        receiver.reap(&mut state.p2p, &mut partitioned.done);
        let (_, cut) = receiver.cut();
        if !receiver.posted {
            return Ok(false);
        }
        if cut == 0 {
            return Ok(receiver.receives.iter().all(Option::is_none));
        }
        let theirs = (index * bytes / cut)..((index + 1) * bytes).div_ceil(cut);
        Ok(theirs.into_iter().all(|p| receiver.receives.get(p as usize).is_none_or(Option::is_none)))
    })?;
    *flag = i32::from(arrived);
    Ok(())
}
