//! The way to other processes: the transports, the message layer over them, and active messages beside that.

use std::os::fd::BorrowedFd;

use abi::{Result, Status};
use active::{Active, Head, Refused};
use bml::{Bml, SoftPortals, Unreachable};
use btl::{Farewells, FastPath, Loss, Peer, Sleep, Strays};
use mem::{Source, UserMem};
use mtl::Mtl;
use mtl_ofi::Ofi;
use mtl_portals::PortalsMtl;
use mtl_shmem::ShmemMtl;
use pml::{
    Counters, Data, Done, FastMessages, LayerState, MessageId, MessageLayer, Mode, Notice, Origin, Pattern,
    Receives, ReqId, SendTo, Sends, Sent,
};
use pml_cm::Cm;
use pml_ob1::{Config, Ob1};
use portals::Shared;

use crate::{Peers, Process};

/// The message layer of a process: one of those that there are. To add one: a variant of [`Other`], an arm of `on_layer!`.
///
/// The fast verbs are ob1's alone and ask for no layer: where another one is in use, ob1 knows no peer, and so it
/// refuses as it refuses whatever is for a peer that it does not know.
pub struct Layer {
    pub(crate) ob1: Ob1,
    pub(crate) other: Option<Other>,
}

/// Message layers beside ob1.
#[allow(clippy::large_enum_variant, reason = "there is one in a process")]
pub(crate) enum Other {
    /// Matching by libfabric.
    Ofi(Cm<Ofi>),
    /// Matching by a Portals NIC.
    Portals(Cm<OnPortals>),
    /// Matching over symmetric memory.
    Shmem(Cm<OnShmem>),
}

/// Matching by the Portals NIC that the transport has, too.
pub type OnPortals = PortalsMtl<Shared<SoftPortals>>;

/// Matching over symmetric memory, by the same NIC.
pub type OnShmem = ShmemMtl<Shared<SoftPortals>>;

impl Layer {
    /// Matching in the library, over any byte transfer layer.
    pub const fn ob1(ob1: Ob1) -> Layer {
        Layer { ob1, other: None }
    }

    /// Matching by libfabric.
    pub fn ofi(cm: Cm<Ofi>) -> Layer {
        Layer { ob1: Ob1::new(Config::new(0)), other: Some(Other::Ofi(cm)) }
    }

    /// Matching by a Portals NIC.
    pub fn portals(cm: Cm<OnPortals>) -> Layer {
        Layer { ob1: Ob1::new(Config::new(0)), other: Some(Other::Portals(cm)) }
    }

    /// Matching over symmetric memory.
    pub fn shmem(cm: Cm<OnShmem>) -> Layer {
        Layer { ob1: Ob1::new(Config::new(0)), other: Some(Other::Shmem(cm)) }
    }

    /// A descriptor that is readable while the network has something to do, if the layer has a network of its own.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.other {
            None => None,
            Some(Other::Ofi(cm)) => cm.descriptor(),
            Some(Other::Portals(cm)) => cm.descriptor(),
            Some(Other::Shmem(cm)) => cm.descriptor(),
        }
    }
}

/// Evaluates `$call` with `$layer` bound to the message layer: one predictable branch.
macro_rules! on_layer {
    ($value:expr, $layer:ident => $call:expr) => {
        match $value {
            $crate::p2p::Layer { ob1: $layer, other: None } => $call,
            $crate::p2p::Layer { other: Some($crate::p2p::Other::Ofi($layer)), .. } => $call,
            $crate::p2p::Layer { other: Some($crate::p2p::Other::Portals($layer)), .. } => $call,
            $crate::p2p::Layer { other: Some($crate::p2p::Other::Shmem($layer)), .. } => $call,
        }
    };
}
pub(crate) use on_layer;

/// The way of a process to the others.
pub struct P2p<B = Bml> {
    /// The transports.
    pub bml: B,
    pub(crate) peers: Peers,
    pub(crate) layer: Layer,
    pub(crate) active: Active,
    pub(crate) strays: Strays,
    pub(crate) farewells: Farewells,
    /// This process waits until it may end, which no transport announces.
    pub(crate) waits_to_end: bool,
    /// A handler of a class runs: no call may poll.
    pub(crate) handling: bool,
    /// A send that could not poll would have.
    pub(crate) poll_due: bool,
}

impl<B: FastPath> P2p<B> {
    /// A message layer over transports that reach `peers`, with nothing to do.
    pub fn new(bml: B, layer: Layer, peers: Peers) -> P2p<B> {
        let (active, strays, farewells) = (Active::new(), Strays::default(), Farewells::default());
        P2p {
            bml,
            peers,
            layer,
            active,
            strays,
            farewells,
            waits_to_end: false,
            handling: false,
            poll_due: false,
        }
    }

    /// Which process of which job a peer is.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Sends a request of a class; see [`Active::request`].
    ///
    /// # Errors
    /// [`Refused`]; nothing was taken from `payload`. The class is called when it should try again
    /// ([`crate::Handler::on_room`]).
    pub fn request<S: Source>(
        &mut self,
        to: Peer,
        head: Head<'_>,
        payload: &mut S,
    ) -> std::result::Result<(), Refused> {
        self.active.request(&mut self.bml, to, head, payload)
    }

    /// Sends an answer, now or when there is room; see [`Active::answer`].
    pub fn answer<S: Source>(&mut self, to: Peer, head: Head<'_>, payload: &mut S) {
        self.active.answer(&mut self.bml, to, head, payload);
    }

    /// Most bytes of payload of one request or answer to `peer`.
    pub fn most(&self, peer: Peer) -> usize {
        Active::most(&self.bml, peer)
    }

    /// Requests and answers, for what is counted there.
    pub fn active(&self) -> &Active {
        &self.active
    }

    /// Frames of a class that nothing in this process takes.
    pub fn strays(&self) -> u64 {
        self.strays.total()
    }

    /// Whether nothing is under way that a peer may still depend on.
    pub fn idle(&self) -> bool {
        on_layer!(&self.layer, layer => layer.idle()) && self.active.idle()
    }

    /// Sends a farewell to all peers that would miss this process, as far as there is room; whether it may end now. To
    /// be called again, between polls, until it may.
    pub fn leave(&mut self) -> bool {
        self.farewells.leave();
        self.bml.set_away(true);
        let may_end = self.farewells.may_end(&mut self.bml, self.peers.next().0);
        self.waits_to_end = !may_end;
        may_end
    }

    /// Announces this process to the peers again, if it had left; whether that has reached all of them.
    pub fn come_back(&mut self) -> bool {
        self.farewells.come_back();
        self.bml.set_away(false);
        self.farewells.advance(&mut self.bml, self.peers.next().0)
    }

    /// Whether this process has left.
    pub fn is_away(&self) -> bool {
        self.farewells.is_away()
    }

    /// Whether `peer` has sent its farewell: its end is no loss.
    pub fn has_left(&self, peer: Peer) -> bool {
        self.farewells.has_left(peer) || self.bml.is_away(peer)
    }
}

impl P2p {
    /// The way of a process that is alone.
    pub fn alone() -> P2p {
        P2p::new(Bml::solo(), Layer::ob1(Ob1::new(Config::new(1))), Peers::of_job(0, 1))
    }

    /// The number of a process of another job, which a transport has learned of; a new one if it was not met before.
    ///
    /// # Errors
    /// [`Unreachable`]: no transport reaches it, and it is as unknown as before.
    pub fn meet(&mut self, process: Process) -> std::result::Result<Peer, Unreachable> {
        if let Some(known) = self.peers.find(process) {
            return Ok(known);
        }
        let peer = self.bml.add_peer()?;
        debug_assert_eq!(peer, self.peers.next(), "both tables grow together");
        Ok(self.peers.add(process))
    }
}

/// The calls of the message layer; see [`pml::MessageLayer`] and [`pml::FastMessages`].
impl<B: FastPath> P2p<B> {
    /// See [`pml::Sends::isend`]: for a caller that has not the whole state, and so cannot poll before, as
    /// [`crate::isend`] does; it calls [`crate::poll_if_due`] when it has.
    ///
    /// # Errors
    /// As [`pml::Sends::isend`].
    pub fn isend(&mut self, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        self.poll_due |= self.needs_poll(to.peer, &data, false);
        on_layer!(&mut self.layer, layer => layer.isend(&mut self.bml, to, data, mode))
    }

    pub(crate) fn begin_send(&mut self, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        on_layer!(&mut self.layer, layer => layer.begin_send(&mut self.bml, to, data, mode))
    }

    pub(crate) fn needs_poll(&mut self, to: Peer, data: &Data, copied: bool) -> bool {
        on_layer!(&mut self.layer, layer => layer.needs_poll(to, data, copied))
    }

    /// See [`pml::Receives::irecv`].
    ///
    /// # Errors
    /// As [`pml::Receives::irecv`].
    pub fn irecv(&mut self, pattern: &Pattern, into: Data) -> Result<ReqId> {
        on_layer!(&mut self.layer, layer => layer.irecv(&mut self.bml, pattern, into))
    }

    /// See [`pml::Receives::recv_now`]. [`crate::recv_now`] polls, too.
    pub fn recv_now(&mut self, pattern: &Pattern, into: UserMem) -> Option<Done> {
        on_layer!(&mut self.layer, layer => layer.recv_now(&mut self.bml, pattern, into))
    }

    /// See [`pml::Receives::iprobe`].
    pub fn iprobe(&mut self, pattern: &Pattern) -> Option<Status> {
        on_layer!(&mut self.layer, layer => layer.iprobe(&mut self.bml, pattern))
    }

    /// See [`pml::Receives::improbe`].
    ///
    /// # Errors
    /// As [`pml::Receives::improbe`].
    pub fn improbe(&mut self, pattern: &Pattern) -> Result<Option<(MessageId, Status)>> {
        on_layer!(&mut self.layer, layer => layer.improbe(&mut self.bml, pattern))
    }

    /// See [`pml::Receives::imrecv`].
    ///
    /// # Errors
    /// As [`pml::Receives::imrecv`].
    pub fn imrecv(&mut self, message: MessageId, owner: u32, into: Data) -> Result<ReqId> {
        on_layer!(&mut self.layer, layer => layer.imrecv(&mut self.bml, message, owner, into))
    }

    /// See [`pml::MessageLayer::cancel`].
    pub fn cancel(&mut self, id: ReqId) {
        on_layer!(&mut self.layer, layer => layer.cancel(&mut self.bml, id));
    }

    /// See [`pml::LayerState::detach`].
    pub fn detach(&mut self, id: ReqId) {
        on_layer!(&mut self.layer, layer => layer.detach(id));
    }

    /// See [`pml::LayerState::poll`].
    #[inline]
    pub fn poll(&self, id: ReqId) -> Option<&Done> {
        on_layer!(&self.layer, layer => layer.poll(id))
    }

    /// See [`pml::LayerState::is_complete`].
    #[inline]
    pub fn is_complete(&self, id: ReqId) -> Option<bool> {
        on_layer!(&self.layer, layer => layer.is_complete(id))
    }

    /// See [`pml::LayerState::take`].
    #[inline]
    pub fn take(&mut self, id: ReqId) -> Option<Done> {
        on_layer!(&mut self.layer, layer => layer.take(id))
    }

    /// See [`pml::Receives::take_awaited`].
    #[inline]
    pub fn take_awaited(&mut self, id: ReqId, polls: u32) -> Option<Done> {
        on_layer!(&mut self.layer, layer => layer.take_awaited(&mut self.bml, id, polls))
    }

    /// See [`pml::LayerState::next_lost`].
    pub fn next_lost(&mut self) -> Option<Peer> {
        on_layer!(&mut self.layer, layer => layer.next_lost())
    }

    /// See [`pml::LayerState::is_quiet`].
    #[inline]
    pub fn is_quiet(&self) -> bool {
        on_layer!(&self.layer, layer => layer.is_quiet())
    }

    /// See [`pml::LayerState::needs_turn`].
    pub fn needs_turn(&self) -> bool {
        on_layer!(&self.layer, layer => layer.needs_turn())
    }

    /// See [`pml::LayerState::seek`].
    pub fn seek(&mut self, pattern: &Pattern) {
        on_layer!(&mut self.layer, layer => layer.seek(pattern));
    }

    /// See [`pml::LayerState::changes`].
    pub fn changes(&self) -> u32 {
        on_layer!(&self.layer, layer => layer.changes()).wrapping_add(self.active.changes())
    }

    /// See [`pml::LayerState::contexts`].
    pub fn contexts(&self) -> u32 {
        on_layer!(&self.layer, layer => layer.contexts())
    }

    /// See [`pml::LayerState::each_awaited`].
    pub fn each_awaited(&self, seen: &mut dyn FnMut(u32)) {
        on_layer!(&self.layer, layer => layer.each_awaited(seen))
    }

    /// See [`pml::LayerState::matches_below`].
    pub fn matches_below(&self) -> bool {
        on_layer!(&self.layer, layer => layer.matches_below())
    }

    /// Announces that the owner is going to sleep; see [`btl::Btl::arm`].
    pub fn arm(&mut self) -> Option<Sleep> {
        // Kernels take acknowledgements of what was sent without a word.
        if self.waits_to_end {
            return None;
        }
        if on_layer!(&mut self.layer, layer => layer.arm()) { self.bml.arm() } else { None }
    }

    /// Why `peer` was given up, in the words of what carries messages to it.
    pub fn loss(&self, peer: Peer) -> Loss {
        match &self.layer.other {
            Some(Other::Ofi(cm)) if cm.network().has_lost(peer) => cm.network().loss(peer),
            Some(Other::Portals(cm)) if cm.network().has_lost(peer) => cm.network().loss(peer),
            Some(Other::Shmem(cm)) if cm.network().has_lost(peer) => cm.network().loss(peer),
            _ => self.bml.loss(peer),
        }
    }

    /// Whether the process is to end, whatever handles its errors: what matches has lost messages, and is set to end then.
    pub fn must_end(&self) -> bool {
        matches!(&self.layer.other, Some(Other::Portals(cm)) if cm.network().must_end())
    }

    /// See [`pml::LayerState::counters`].
    pub fn counters(&self) -> Counters {
        on_layer!(&self.layer, layer => layer.counters())
    }

    /// See [`pml::LayerState::restart_peak`].
    pub fn restart_peak(&mut self) {
        on_layer!(&mut self.layer, layer => layer.restart_peak());
    }

    /// See [`pml::LayerState::note_unexpected`].
    pub fn note_unexpected(&mut self, wanted: bool) {
        on_layer!(&mut self.layer, layer => layer.note_unexpected(wanted));
    }

    /// See [`pml::LayerState::has_notices`].
    #[inline]
    pub fn has_notices(&self) -> bool {
        on_layer!(&self.layer, layer => layer.has_notices())
    }

    /// See [`pml::LayerState::next_notice`].
    pub fn next_notice(&mut self) -> Option<Notice> {
        on_layer!(&mut self.layer, layer => layer.next_notice())
    }

    /// See [`pml::FastMessages::send_short`].
    #[inline(always)]
    pub fn send_short(&mut self, to: Peer, origin: Origin, tag: i32, data: UserMem) -> Sent {
        self.layer.ob1.send_short(&mut self.bml, to, origin, tag, data)
    }

    /// See [`pml::FastMessages::send_now`].
    #[inline(always)]
    pub fn send_now(&mut self, to: &SendTo, data: UserMem) -> bool {
        self.layer.ob1.send_now(&mut self.bml, to, data)
    }

    /// See [`pml::FastMessages::send_copied_now`]. [`crate::send_copied_now`] polls before, where it should.
    pub fn send_copied_now(&mut self, to: &SendTo, data: UserMem) -> bool {
        on_layer!(&mut self.layer, layer => layer.send_copied_now(&mut self.bml, to, data))
    }

    /// See [`pml::FastMessages::recv_short`].
    #[inline(always)]
    pub fn recv_short(
        &mut self,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        self.layer.ob1.recv_short(&mut self.bml, pattern, into, status)
    }

    /// See [`pml::FastMessages::recv_within`].
    #[inline(always)]
    pub fn recv_within(
        &mut self,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
        polls: u32,
    ) -> Option<usize> {
        self.layer.ob1.recv_within(&mut self.bml, pattern, into, status, polls)
    }

    /// See [`pml::FastMessages::recv_kept`].
    #[inline(always)]
    pub fn recv_kept(
        &mut self,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        self.layer.ob1.recv_kept(&mut self.bml, pattern, into, status)
    }

    /// See [`pml::FastMessages::recv_longer`].
    #[inline(always)]
    pub fn recv_longer(
        &mut self,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        self.layer.ob1.recv_longer(&mut self.bml, pattern, into, status)
    }

    /// See [`pml::FastMessages::irecv_now`].
    #[inline(always)]
    pub fn irecv_now(&mut self, pattern: &Pattern, into: UserMem) -> Option<ReqId> {
        self.layer.ob1.irecv_now(&mut self.bml, pattern, into)
    }
}

impl<B> std::fmt::Debug for P2p<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("P2p").field("active", &self.active).finish_non_exhaustive()
    }
}
