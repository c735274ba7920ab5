//! One virtual rank's message layer and memory.

use crate::charged::Charged;
use crate::layer::Layer;
use crate::timeline::{Recorder, Started};
use crate::windows::{Access, DataDirection, Interface, Remote, Takers, Windows};
use abi::{Error, Result};
use btl::{Alone, Atomic, Bounds, RemoteMemory};
use gni::Time;
use gni_timed::RankClock;
use mem::UserMem;
use pml::{Counters, Data, Pattern, ReqId, SendTo};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// The context of all messages of programs with one communicator.
pub(crate) const CONTEXT: u32 = 0;

/// What a program works with: messages by rank and tag, and memory that lasts as long as the rank.
pub struct Endpoint {
    pub(crate) layer: Layer,
    pub(crate) btl: Charged,
    /// Made when first used.
    pub(crate) windows: Option<Box<Windows>>,
    pub(crate) clock: RankClock,
    pub(crate) rank: u32,
    pub(crate) memory: UserMem,
    /// The processor that it shares with others.
    pub(crate) core: Option<Rc<RefCell<Core>>>,
    /// Notes what it does, if that was asked for.
    pub(crate) recorder: Option<Box<Recorder>>,
}

/// A processor for which ranks wait.
#[derive(Default)]
pub(crate) struct Core {
    free_at: Time,
    /// The rank that computed last.
    last: u32,
}

impl Endpoint {
    /// The rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The rank's clock now.
    pub fn now(&self) -> Time {
        self.clock.read()
    }

    /// The rank's memory, as long as its program asked for.
    pub fn memory(&self) -> UserMem {
        self.memory
    }

    /// What the message layer counts.
    pub fn counters(&self) -> Counters {
        self.layer.counters()
    }

    /// The transport, for what it counts.
    pub fn transport(&self) -> &Charged {
        &self.btl
    }

    /// Starts to send. `None`: already complete.
    ///
    /// # Errors
    /// As [`pml::Sends::isend`].
    pub fn isend(&mut self, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>> {
        self.isend_in(CONTEXT, to, tag, from)
    }

    /// As [`Endpoint::isend`], in a context.
    pub(crate) fn isend_in(
        &mut self,
        context: u32,
        to: u32,
        tag: i32,
        from: UserMem,
    ) -> Result<Option<ReqId>> {
        let begun = self.now();
        let started = Started { is_send: true, peer: Some(to), context, tag, bytes: from.len() };
        let to = SendTo { peer: self.btl.names.of(to), context, source: self.rank, tag, owner: 0 };
        let data = Data::Contiguous(from);
        if self.layer.needs_poll(to.peer, &data) {
            self.progress();
        }
        let id = self.layer.isend(&mut self.btl, &to, data)?;
        self.note(|recorder, now| recorder.start(id, &started, begun, now));
        Ok(id)
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// As [`pml::Receives::irecv`].
    pub fn irecv(&mut self, from: u32, tag: i32, into: UserMem) -> Result<ReqId> {
        self.irecv_in(CONTEXT, Some(from), tag, into)
    }

    /// As [`Endpoint::irecv`], in a context; `None`: from any rank.
    pub(crate) fn irecv_in(
        &mut self,
        context: u32,
        from: Option<u32>,
        tag: i32,
        into: UserMem,
    ) -> Result<ReqId> {
        let begun = self.now();
        let started = Started { is_send: false, peer: from, context, tag, bytes: into.len() };
        let pattern = self.pattern(context, from, tag);
        let id = self.layer.irecv(&mut self.btl, &pattern, Data::Contiguous(into))?;
        self.note(|recorder, now| recorder.start(Some(id), &started, begun, now));
        Ok(id)
    }

    /// Whether a message is here that such a receive would take.
    pub(crate) fn is_here(&mut self, context: u32, from: Option<u32>, tag: i32) -> bool {
        let pattern = self.pattern(context, from, tag);
        self.layer.iprobe(&mut self.btl, &pattern)
    }

    fn pattern(&mut self, context: u32, from: Option<u32>, tag: i32) -> Pattern {
        let peer = from.map(|from| self.btl.names.of(from));
        Pattern { context, source: from.map_or(abi::ANY_SOURCE, |from| from as i32), tag, peer, owner: 0 }
    }

    /// Whether a request is complete; its name is free then.
    pub fn take(&mut self, id: ReqId) -> bool {
        let Some(done) = self.layer.take(id) else { return false };
        self.note(|recorder, now| recorder.end(id, done.status.source as u32, now));
        true
    }

    /// The program's call of this name begins: what it does until [`Endpoint::leave`] is part of it.
    pub(crate) fn enter<N: Into<Cow<'static, str>>>(&mut self, name: impl FnOnce() -> N) {
        self.note(|recorder, now| recorder.enter(name(), now));
    }

    /// The program's call is over.
    pub(crate) fn leave(&mut self) {
        self.note(Recorder::leave);
    }

    /// Notes something on the rank's timeline, if it has one.
    pub(crate) fn note(&mut self, note: impl FnOnce(&mut Recorder, Time)) {
        if let Some(recorder) = &mut self.recorder {
            note(recorder, self.clock.read());
        }
    }

    /// Registers the rank's memory for all ranks of other nodes, of which `to` is one: what to send them.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN`: the network has no registration left.
    pub fn expose(&mut self, to: u32) -> Result<Vec<u8>> {
        let peer = self.btl.names.of(to);
        let refused = |_| Error::new(abi::ERR_INTERN, "a virtual rank's memory cannot be registered");
        let key = self.btl.register(peer, self.memory).map_err(refused)?;
        Ok(Remote::words(key, self.memory))
    }

    /// The memory of a rank of another node, by what that rank has sent.
    pub fn remote(&mut self, of: u32, said: UserMem) -> Remote {
        Remote::read(self.btl.names.of(of), said)
    }

    /// A put or get, to be begun by [`Endpoint::begin`].
    pub fn access(
        &mut self,
        (interface, way): (Interface, DataDirection),
        remote: Remote,
        local: UserMem,
        offset: usize,
    ) -> Access {
        let costs = self.btl.costs();
        let (name, takes) = match (interface, way) {
            (Interface::Light, DataDirection::Put) => ("alhena_put", costs.light_put),
            (Interface::Light, DataDirection::Get) => ("alhena_get", costs.light_get),
            (Interface::Mpi, DataDirection::Put) => ("MPI_Put", costs.osc_put),
            (Interface::Mpi, DataDirection::Get) => ("MPI_Get", costs.osc_get),
        };
        let begun = self.now();
        self.btl.spend(takes);
        self.note(|recorder, now| recorder.call(name, begun, now));
        Access::new(&self.btl, way, remote, local, offset)
    }

    /// Begins what has not begun of a put or get; `false`: there was no room for all of it.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN`: the memory is not reached.
    pub fn begin(&mut self, access: &mut Access) -> Result<bool> {
        access.begin(&mut self.btl, self.windows.get_or_insert_default())
    }

    /// Begins an atomic operation on a word of a rank's memory, which costs as much as a put; `before`: where to put what
    /// it was. `false`: there is no room.
    ///
    /// # Errors
    /// As [`Endpoint::begin`].
    pub fn change(
        &mut self,
        remote: &Remote,
        change: Atomic,
        before: Option<UserMem>,
        offset: usize,
    ) -> Result<bool> {
        let windows = self.windows.get_or_insert_default();
        let begun = windows.change(&mut self.btl, remote, change, before, offset)?;
        if begun {
            self.btl.spend(self.btl.costs().osc_put);
        }
        Ok(begun)
    }

    /// Whether all puts, gets and atomic operations on a rank's memory are over there.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN`: one has failed.
    pub fn is_flushed(&mut self, remote: &Remote) -> Result<bool> {
        let flushed = self.windows.get_or_insert_default().is_flushed(&mut self.btl, remote.peer)?;
        if flushed {
            self.btl.spend(self.btl.costs().osc_flush);
        }
        Ok(flushed)
    }

    /// Sends a rank a notice; `false`: there is no room.
    pub(crate) fn notify(&mut self, to: u32) -> Result<bool> {
        let peer = self.btl.names.of(to);
        self.windows.get_or_insert_default().notify(&mut self.btl, peer)
    }

    /// Notices that have come.
    pub(crate) fn notices(&self) -> u64 {
        self.windows.as_ref().map_or(0, |windows| windows.notices)
    }

    /// The rank has found in its memory what another has written there.
    pub(crate) fn has_seen(&self) {
        self.btl.spend(self.btl.costs().line);
    }

    /// The rank copies so many bytes.
    pub(crate) fn copies(&self, bytes: usize) {
        self.btl.spend(bytes as f64 / self.btl.costs().copy_rate);
    }

    /// The rank computes for so long; its program answers [`crate::Step::Computing`] next.
    pub fn compute(&mut self, time: Time) {
        self.note(Recorder::act);
        self.clock.spend(time);
    }

    /// When the rank's processor is free for it.
    pub(crate) fn processor_free_at(&self) -> Time {
        self.core.as_ref().map_or(Time::START, |core| core.borrow().free_at)
    }

    /// The rank runs from now on; its processor may come from another.
    pub(crate) fn take_processor(&self) {
        let Some(core) = &self.core else { return };
        if core.replace(Core { free_at: self.now(), last: self.rank }).last != self.rank {
            self.btl.spend(self.btl.costs().switch);
        }
    }

    /// The rank has run until now.
    pub(crate) fn give_processor(&self) {
        if let Some(core) = &self.core {
            core.borrow_mut().free_at = self.now();
        }
    }

    /// The next `count` epochs of the node's area; the first of them.
    pub(crate) fn take_epochs(&mut self, count: u16) -> u64 {
        let area = self.btl.node.as_mut().and_then(|node| node.area.as_mut());
        area.map_or(0, |area| area.take_epochs(u64::from(count)))
    }

    /// The rank has had nothing to do until `moment`. It has polled, and slept if that was long.
    pub(crate) fn sleep_until(&mut self, moment: Time) {
        let costs = *self.btl.costs();
        let idle = moment.0.saturating_sub(self.now().0);
        let slept = idle as f64 > costs.spin;
        self.note(|recorder, _| recorder.idled(idle));
        self.clock.idle_until(moment);
        if slept {
            self.btl.spend(costs.wake_up);
        }
    }

    /// One turn of the message layer; how many things happened.
    pub(crate) fn progress(&mut self) -> usize {
        let mut takers = Takers { layer: &mut self.layer, windows: &mut self.windows };
        btl::poll(&mut Alone(&mut self.btl, &mut takers), Bounds::USUAL)
    }

    /// Whether something is under way that no event of the NIC may announce the end of.
    pub(crate) fn needs_polling(&self) -> bool {
        self.layer.needs_polling() || self.btl.ugni().is_some_and(|ugni| !ugni.is_idle())
    }
}
