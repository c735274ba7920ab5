//! The way to other processes: the transports, the message layer over them, and active messages beside that.

use abi::{Result, Status};
use active::{Active, Head, Refused};
use bml::Bml;
use btl::{FastPath, Peer, Strays};
use mem::{Source, UserMem};
use pml::{
    Counters, Data, Done, FastMessages, LayerState, MessageId, MessageLayer, Mode, Notice, Origin, Pattern,
    Receives, ReqId, SendTo, Sends, Sent,
};
use pml_ob1::Ob1;

/// The message layers that there are; a process has one. To add one: a variant, an arm of `on_layer!`.
pub enum Layer {
    /// Matching in the library, over any byte transfer layer.
    Ob1(Ob1),
}

/// Evaluates `$call` with `$layer` bound to the message layer: one predictable branch, and none while there is one layer.
macro_rules! on_layer {
    ($value:expr, $layer:ident => $call:expr) => {
        match $value {
            $crate::Layer::Ob1($layer) => $call,
        }
    };
}
pub(crate) use on_layer;

/// The way of a process to the others.
pub struct P2p<B = Bml> {
    /// The transports.
    pub bml: B,
    pub(crate) layer: Layer,
    pub(crate) active: Active,
    pub(crate) strays: Strays,
    /// A handler of a class runs: nobody may poll.
    pub(crate) handling: bool,
    /// A send that could not poll would have.
    pub(crate) poll_due: bool,
}

impl<B: FastPath> P2p<B> {
    /// A message layer over transports, with nothing to do.
    pub fn new(bml: B, layer: Layer) -> P2p<B> {
        P2p { bml, layer, active: Active::new(), strays: Strays::default(), handling: false, poll_due: false }
    }

    /// Sends a request of a class; see [`Active::request`].
    ///
    /// # Errors
    /// [`Refused`]; nothing was taken from `payload`. The class is called when it should try again
    /// ([`crate::Taker::on_room`]).
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
}

/// The calls of the message layer; see [`pml::MessageLayer`] and [`pml::FastMessages`].
impl<B: FastPath> P2p<B> {
    /// See [`pml::Sends::isend`]: for a caller that has not the whole state, and so cannot poll before, as
    /// [`crate::isend`] does; it calls [`crate::poll_if_due`] when it has.
    ///
    /// # Errors
    /// As there.
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
    /// As there.
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
    /// As there.
    pub fn improbe(&mut self, pattern: &Pattern) -> Result<Option<(MessageId, Status)>> {
        on_layer!(&mut self.layer, layer => layer.improbe(&mut self.bml, pattern))
    }

    /// See [`pml::Receives::imrecv`].
    ///
    /// # Errors
    /// As there.
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

    /// See [`pml::LayerState::changes`].
    pub fn changes(&self) -> u32 {
        on_layer!(&self.layer, layer => layer.changes()).wrapping_add(self.active.changes())
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
        on_layer!(&mut self.layer, layer => layer.send_short(&mut self.bml, to, origin, tag, data))
    }

    /// See [`pml::FastMessages::send_now`].
    #[inline(always)]
    pub fn send_now(&mut self, to: &SendTo, data: UserMem) -> bool {
        on_layer!(&mut self.layer, layer => layer.send_now(&mut self.bml, to, data))
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
        on_layer!(&mut self.layer, layer => layer.recv_short(&mut self.bml, pattern, into, status))
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
        on_layer!(&mut self.layer, layer => layer.recv_within(&mut self.bml, pattern, into, status, polls))
    }

    /// See [`pml::FastMessages::recv_kept`].
    #[inline(always)]
    pub fn recv_kept(
        &mut self,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        on_layer!(&mut self.layer, layer => layer.recv_kept(&mut self.bml, pattern, into, status))
    }

    /// See [`pml::FastMessages::recv_longer`].
    #[inline(always)]
    pub fn recv_longer(
        &mut self,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        on_layer!(&mut self.layer, layer => layer.recv_longer(&mut self.bml, pattern, into, status))
    }

    /// See [`pml::FastMessages::irecv_now`].
    #[inline(always)]
    pub fn irecv_now(&mut self, pattern: &Pattern, into: UserMem) -> Option<ReqId> {
        on_layer!(&mut self.layer, layer => layer.irecv_now(&mut self.bml, pattern, into))
    }
}

impl<B> std::fmt::Debug for P2p<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("P2p").field("active", &self.active).finish_non_exhaustive()
    }
}
