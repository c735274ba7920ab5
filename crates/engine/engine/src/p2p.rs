//! The way to other processes: the transports, the message layer over them, and active messages beside that.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;

use abi::{Result, Status};
use active::{Active, Head, Refused};
use bml::{Bml, Contact, SoftPortals, Unreachable};
use btl::{Arrival, Btl, Farewells, Lines, Loss, Peer, Sleep, Strays};
use mem::{Source, UserMem};
use mtl::Mtl;
use mtl_ofi::Ofi;
use mtl_portals::PortalsMtl;
use mtl_shmem::ShmemMtl;
use pml::{
    Awaited, Counters, Data, Done, FastMessages, LayerState, MessageId, MessageLayer, Mode, Notice, Open,
    Origin, Pattern, Receives, ReqId, SendTo, Sends, Sent,
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

/// What is known of peers that may have ended.
#[derive(Default)]
struct Losses {
    /// Those that calls wait for by no receive, and by how many.
    awaited: BTreeMap<Peer, u32>,
    /// Those that a call waits for that names them before each look.
    once: BTreeSet<Peer>,
    /// Those of this node that had ended at the last look.
    ended: BTreeSet<Peer>,
}

/// The way of a process to the others.
pub struct P2p {
    /// The transports.
    pub bml: Bml,
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
    losses: Losses,
}

impl P2p {
    /// A message layer over transports that reach `peers`, with nothing to do.
    pub fn new(bml: Bml, layer: Layer, peers: Peers) -> P2p {
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
            losses: Losses::default(),
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

    /// Whether all that was sent has left, or waits for peers alone that have left; see [`Farewells::is_flushed`].
    pub fn is_flushed(&self) -> bool {
        self.farewells.is_flushed(&self.bml, self.peers.next().0)
    }

    /// Sends a farewell to all peers that would miss this process, as far as there is room; whether it may end now. To
    /// be called again, between polls, until it may.
    pub fn leave(&mut self) -> bool {
        self.farewells.leave();
        let may_end = self.farewells.may_end(&mut self.bml, self.peers.next().0);
        self.waits_to_end = !may_end;
        may_end
    }

    /// Announces this process to the peers again, if it had left; whether that has reached all of them.
    pub fn come_back(&mut self) -> bool {
        self.farewells.come_back();
        self.farewells.advance(&mut self.bml, self.peers.next().0)
    }

    /// Whether this process has left.
    pub fn is_away(&self) -> bool {
        self.farewells.is_away()
    }

    /// A call begins to wait for something from `peer` by no receive: its end is looked for, too.
    pub fn await_from(&mut self, peer: Peer) {
        *self.losses.awaited.entry(peer).or_default() += 1;
    }

    /// The call that [`P2p::await_from`] was for waits no more.
    pub fn await_no_more(&mut self, peer: Peer) {
        if let Some(calls) = self.losses.awaited.get_mut(&peer) {
            *calls -= 1;
            if *calls == 0 {
                self.losses.awaited.remove(&peer);
            }
        }
    }

    /// Nothing is matched any more in a context; see [`Ob1::revoke`]. Networks that match know no such thing.
    pub fn revoke(&mut self, context: u32) {
        self.layer.ob1.revoke(&mut self.bml, context);
    }

    /// As [`Ob1::drop_kept`].
    pub fn drop_kept(&mut self, context: u32, peer: Peer) {
        self.layer.ob1.drop_kept(&mut self.bml, context, peer);
    }

    /// The end of `peer` is looked for, too, at the next look.
    pub fn await_once(&mut self, peer: Peer) {
        self.losses.once.insert(peer);
    }

    /// Whether peers may end without any word of it; see [`btl::Btl::must_look_for_losses`].
    pub fn must_look_for_losses(&self) -> bool {
        self.bml.must_look_for_losses()
    }

    /// Has the transports look for such; see [`btl::Btl::look_for_losses`]. `has_ended` tells of processes of this node,
    /// whatever transport leads to them.
    pub fn look_for_losses(&mut self, has_ended: impl Fn(Peer) -> bool) -> bool {
        // A connection that was made since may be with a peer that takes this process for one that has left.
        if !self.farewells.is_away() {
            self.farewells.advance(&mut self.bml, self.peers.next().0);
        }
        let mut awaited = std::mem::take(&mut self.losses.once);
        awaited.extend(self.losses.awaited.keys());
        self.each_awaited(&mut |_, peer| awaited.extend(peer));
        let ended: BTreeSet<Peer> = awaited.iter().copied().filter(|&peer| has_ended(peer)).collect();
        // What they had sent was polled for since the look before.
        for &peer in ended.intersection(&self.losses.ended) {
            self.bml.has_ended(peer);
        }
        self.losses.ended = ended;
        let awaited: Vec<Peer> = awaited.into_iter().collect();
        self.bml.look_for_losses(&awaited)
    }

    /// Whether `peer` has sent its farewell: its end is no loss.
    pub fn has_left(&self, peer: Peer) -> bool {
        self.farewells.has_left(peer)
    }
}

impl P2p {
    /// The way of a process that is alone.
    pub fn alone() -> P2p {
        P2p::new(Bml::solo(), Layer::ob1(Ob1::new(Config::new(1))), Peers::of_job(0, 1))
    }

    /// Lets processes of other jobs call this one: how they do so. `values`: the parameters in force.
    ///
    /// # Errors
    /// The lines to print: no port can be had, or the messages of this process are matched by its network, which reaches
    /// only the processes of its own job.
    pub fn listen(&mut self, job: u64, values: &mca::Values) -> std::result::Result<String, Lines> {
        if self.matches_below() {
            return Err(Lines::of(
                &"processes of other jobs cannot be reached\nseen: the parameter pml is cm, and the network that matches \
                  messages knows the processes of this job alone\nstart the job with --mca pml ob1",
            ));
        }
        self.bml.listen(job, values)
    }

    /// The number of a process of another job, which has introduced itself like this ([`P2p::listen`]), and whether the number is
    /// a new one. Of numbers that have become free, one that `may_be_used` again is taken.
    ///
    /// # Errors
    /// [`Unreachable`]: no transport reaches it, and it is as unknown as before.
    pub fn meet(
        &mut self,
        process: Process,
        introduction: &str,
        may_be_used: impl Fn(Peer) -> bool,
    ) -> std::result::Result<(Peer, bool), Unreachable> {
        self.forget_gone();
        if let Some(known) = self.peers.find(process) {
            self.bml.meet_again(known);
            return Ok((known, false));
        }
        let free = self.peers.free(may_be_used);
        let peer = free.unwrap_or(self.peers.next());
        let Process { job, rank } = process;
        self.bml.meet(peer, &Contact { job, rank, introduction })?;
        self.peers.put(peer, process);
        Ok((peer, true))
    }

    /// Parts from a process of another job, with which this one has nothing in common any more; the other one does the same. It
    /// keeps its number until it ends.
    pub fn part_from(&mut self, peer: Peer) {
        if !self.peers.is_bound(peer) {
            self.bml.part_from(peer);
            self.forget_gone();
        }
    }

    /// Numbers of processes that have ended since this one has parted from them are free.
    fn forget_gone(&mut self) {
        while let Some(gone) = self.bml.next_gone() {
            self.forget(gone);
            self.peers.is_gone(gone);
        }
    }

    /// Whether this process has parted from `peer`, and has not met it since.
    pub fn is_apart(&self, peer: Peer) -> bool {
        self.bml.is_apart(peer)
    }

    /// This process does not part from these peers until [`P2p::release`], since something with them is being made.
    pub fn hold(&mut self, peers: &[u32]) {
        peers.iter().for_each(|&peer| self.peers.hold(Peer(peer)));
    }

    /// What [`P2p::hold`] was called for is made, or is not.
    pub fn release(&mut self, peers: &[u32]) {
        peers.iter().for_each(|&peer| self.peers.release(Peer(peer)));
    }

    /// Processes of other jobs that this one knows.
    pub fn others(&self) -> impl Iterator<Item = Peer> {
        self.peers.others()
    }

    /// This process never parts from `peer`: a communicator with it was freed, and not disconnected.
    pub fn bind(&mut self, peer: Peer) {
        self.peers.bind(peer);
    }

    fn forget(&mut self, peer: Peer) {
        self.layer.ob1.forget(peer);
        self.active.forget(peer);
        self.farewells.forget(peer);
        self.losses.awaited.remove(&peer);
        self.losses.once.remove(&peer);
        self.losses.ended.remove(&peer);
    }
}

/// Calls of the message layer that have something of their own.
impl P2p {
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

    pub(crate) fn accept_for(&mut self, arrival: &Arrival, pattern: &Pattern, into: UserMem) -> Option<Done> {
        on_layer!(&mut self.layer, layer => layer.accept_for(&mut self.bml, arrival, pattern, into))
    }

    pub(crate) fn needs_poll(&mut self, to: Peer, data: &Data, copied: bool) -> bool {
        on_layer!(&mut self.layer, layer => layer.needs_poll(to, data, copied))
    }

    /// See [`pml::LayerState::changes`]; those of active messages count, too.
    pub fn changes(&self) -> u32 {
        on_layer!(&self.layer, layer => layer.changes()).wrapping_add(self.active.changes())
    }

    /// Whether all that was sent has come to where the peers find it, as far as it can be known here: nothing waits for room
    /// or for a connection, and no network carries it any more. For what is rare: it asks about each peer.
    pub fn is_settled(&self) -> bool {
        let waits = on_layer!(&self.layer, layer => layer.waits_for_room() || layer.needs_turn());
        let known = 0..self.peers.next().0;
        !waits && self.bml.is_flushed() && !known.into_iter().any(|peer| self.bml.owes(Peer(peer)))
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
}

/// Declares calls of a contract of the message layer that [`P2p`] hands on, in the contract's words. `bml`: those that also
/// get the transports; `ob1`: those that no other layer takes, as [`Layer`] explains.
macro_rules! hand_on {
    (shared $contract:ident: $($(#[$about:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $to:ty)?;)*) => {$(
        #[doc = concat!("See [`pml::", stringify!($contract), "::", stringify!($name), "`].")]
        $(#[$about])*
        pub fn $name(&self $(, $arg: $type)*) $(-> $to)? {
            on_layer!(&self.layer, layer => layer.$name($($arg),*))
        }
    )*};
    (layer $contract:ident: $($(#[$about:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $to:ty)?;)*) => {$(
        #[doc = concat!("See [`pml::", stringify!($contract), "::", stringify!($name), "`].")]
        $(#[$about])*
        pub fn $name(&mut self $(, $arg: $type)*) $(-> $to)? {
            on_layer!(&mut self.layer, layer => layer.$name($($arg),*))
        }
    )*};
    (bml $contract:ident: $($(#[$about:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $to:ty)?;)*) => {$(
        #[doc = concat!("See [`pml::", stringify!($contract), "::", stringify!($name), "`].")]
        $(#[$about])*
        pub fn $name(&mut self $(, $arg: $type)*) $(-> $to)? {
            on_layer!(&mut self.layer, layer => layer.$name(&mut self.bml $(, $arg)*))
        }
    )*};
    (ob1 $contract:ident: $($(#[$about:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $to:ty)?;)*) => {$(
        #[doc = concat!("See [`pml::", stringify!($contract), "::", stringify!($name), "`].")]
        $(#[$about])*
        pub fn $name(&mut self $(, $arg: $type)*) $(-> $to)? {
            self.layer.ob1.$name(&mut self.bml $(, $arg)*)
        }
    )*};
}

/// The calls of the message layer; see [`pml::MessageLayer`] and [`pml::FastMessages`].
#[rustfmt::skip]
impl P2p {
    hand_on! { bml Receives:
        irecv(pattern: &Pattern, into: Data) -> Result<ReqId>;
        /// [`crate::recv_now`] polls, too.
        recv_now(pattern: &Pattern, into: UserMem) -> Option<Done>;
        iprobe(pattern: &Pattern) -> Option<Status>;
        improbe(pattern: &Pattern) -> Result<Option<(MessageId, Status)>>;
        imrecv(message: MessageId, owner: u32, into: Data) -> Result<ReqId>;
        take_awaited(id: ReqId, polls: u32) -> Option<Done>;
    }
    hand_on! { bml MessageLayer:
        cancel(id: ReqId);
    }
    hand_on! { layer LayerState:
        detach(id: ReqId);
        #[inline]
        take(id: ReqId) -> Option<Done>;
        next_lost() -> Option<Peer>;
        seek(pattern: &Pattern);
        restart_peak();
        note_unexpected(wanted: bool);
        next_notice() -> Option<Notice>;
    }
    hand_on! { shared LayerState:
        #[inline]
        poll(id: ReqId) -> Option<&Done>;
        #[inline]
        is_complete(id: ReqId) -> Option<bool>;
        #[inline]
        is_quiet() -> bool;
        needs_turn() -> bool;
        contexts() -> u32;
        each_awaited(seen: &mut dyn FnMut(u32, Option<Peer>));
        each_open(seen: &mut dyn FnMut(Open));
        awaited(id: ReqId) -> Option<Awaited>;
        matches_below() -> bool;
        counters() -> Counters;
        #[inline]
        has_notices() -> bool;
    }
    hand_on! { bml FastMessages:
        /// [`crate::send_copied_now`] polls before, where it should.
        send_copied_now(to: &SendTo, data: UserMem) -> bool;
    }
    hand_on! { ob1 FastMessages:
        #[inline(always)]
        send_short(to: Peer, origin: Origin, tag: i32, data: UserMem) -> Sent;
        #[inline(always)]
        send_now(to: &SendTo, data: UserMem) -> bool;
        #[inline(always)]
        recv_short(pattern: &Pattern, into: UserMem, status: Option<&mut Status>) -> Option<usize>;
        #[inline(always)]
        recv_within(pattern: &Pattern, into: UserMem, status: Option<&mut Status>, polls: u32) -> Option<usize>;
        #[inline(always)]
        recv_kept(pattern: &Pattern, into: UserMem, status: Option<&mut Status>) -> Option<usize>;
        #[inline(always)]
        recv_longer(pattern: &Pattern, into: UserMem, status: Option<&mut Status>) -> Option<usize>;
        #[inline(always)]
        irecv_now(pattern: &Pattern, into: UserMem) -> Option<ReqId>;
    }
}

impl std::fmt::Debug for P2p {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("P2p").field("active", &self.active).finish_non_exhaustive()
    }
}
