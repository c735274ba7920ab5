//! The owners of frames: the one place that polls the transports, and the table of classes.
//!
//! ```text
//!   poll ──► bml.next_arrival ──► class of its first byte ─┬─ message layer ──► Layer::accept
//!                                                          ├─ a goodbye ──────► btl::Farewells
//!                                                          ├─ a class with a handler ──► Active ──► Handler::on_message
//!                                                          └─ any other ──► btl::Strays: counted, reported once
//! ```

use abi::Result;
use active::{Brought, Message};
use bml::Bml;
use btl::{Arrival, Bounds, Btl, Class, Event, Hub, Peer, Receiver};
use mem::UserMem;
use pml::{Data, Done, Mode, Pattern, ReqId, SendTo};

use crate::p2p::{P2p, on_layer};
use crate::wait::Progress;

/// A state that has a way to other processes.
pub trait Linked: Progress {
    /// The way to other processes.
    fn p2p(&mut self) -> &mut P2p;

    /// As [`Linked::p2p`], to read.
    fn links(&self) -> &P2p;

    /// The classes that take frames beside the message layer.
    fn classes(&self) -> &Classes<Self>;

    /// [`poll`] of this very state. Its crate compiles that once, for all crates above it.
    fn poll(&mut self) -> usize;
}

/// Takes the frames of one class: windows, files, connections between jobs.
///
/// All functions are called from inside a poll, with the state locked. None may block, wait or poll; [`P2p::request`]
/// and [`P2p::answer`] they may call. Polls that happen all the same find nothing.
pub trait Handler<S> {
    /// Whose frames.
    const CLASS: Class;

    /// Handles a request or an answer. What follows at once from a request is sent by [`P2p::answer`].
    fn on_message(state: &mut S, message: &Message<'_>);

    /// There may be room for a request that was refused as busy. Called at each poll after a refusal until none is
    /// refused.
    fn on_room(_state: &mut S) {}

    /// A get or put with this class's cookie (without the class, [`Class::cookie`]) is over, or has failed.
    fn on_event(_state: &mut S, _cookie: u64, _succeeded: bool) {}

    /// Nothing more comes from or reaches this peer.
    fn on_lost(_state: &mut S, _peer: Peer) {}
}

/// The functions of a [`Handler`].
struct Handlers<S> {
    on_message: fn(&mut S, &Message<'_>),
    on_room: fn(&mut S),
    on_event: fn(&mut S, u64, bool),
    on_lost: fn(&mut S, Peer),
}

impl<S> Clone for Handlers<S> {
    fn clone(&self) -> Handlers<S> {
        *self
    }
}

impl<S> Copy for Handlers<S> {}

/// The handlers of frames, by class.
pub struct Classes<S> {
    handlers: [Option<Handlers<S>>; Class::COUNT],
}

impl<S> Classes<S> {
    /// A table without handlers.
    pub const fn new() -> Classes<S> {
        Classes { handlers: [const { None }; Class::COUNT] }
    }

    /// `T` takes the frames of its class from now on. To be called before a peer may send some: they would be counted as
    /// strays.
    ///
    /// # Panics
    /// For the class of the message layer.
    #[must_use]
    pub fn with<T: Handler<S>>(mut self) -> Classes<S> {
        assert!(T::CLASS != Class::Pml, "the message layer takes its own frames");
        assert!(T::CLASS != Class::Farewell, "the engine takes goodbyes");
        self.handlers[T::CLASS as usize] = Some(Handlers {
            on_message: T::on_message,
            on_room: T::on_room,
            on_event: T::on_event,
            on_lost: T::on_lost,
        });
        self
    }

    fn of(&self, class: Class) -> Option<Handlers<S>> {
        self.handlers[class as usize]
    }
}

impl<S> Default for Classes<S> {
    fn default() -> Classes<S> {
        Classes::new()
    }
}

impl<S> std::fmt::Debug for Classes<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.handlers.iter().map(Option::is_some)).finish()
    }
}

/// Polls the transports and hands what they bring to its owners; how many things happened. Does nothing inside a
/// handler.
#[inline]
pub fn poll<S: Linked>(state: &mut S) -> usize {
    if state.links().handling { 0 } else { btl::poll(&mut Frames(state), Bounds::USUAL) }
}

/// Polls if sends of a schedule have used up what may be sent before that.
#[inline]
pub fn poll_if_due<S: Linked>(state: &mut S) {
    if std::mem::take(&mut state.p2p().poll_due) {
        state.poll();
    }
}

/// The launcher has announced that `peer` has failed, whatever its transport knows. What it had sent is handed over before.
pub fn has_failed<S: Linked>(state: &mut S, peer: Peer) {
    /// Polls at most: the others go on sending.
    const MOST: u32 = 4096;
    for _ in 0..MOST {
        if state.poll() == 0 {
            break;
        }
    }
    // Nothing is left to be sent to it, nor to be called.
    state.p2p().bml.has_ended(peer);
    Frames(state).on_event(Event::PeerLost(peer));
}

/// As [`P2p::isend`], after a poll where the message layer wants one.
///
/// # Errors
/// As [`P2p::isend`].
#[inline]
pub fn isend<S: Linked>(state: &mut S, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
    if let (Data::Contiguous(memory), false) = (&data, mode == Mode::Synchronous)
        && state.p2p().send_now(to, *memory)
    {
        return Ok(None);
    }
    begin_send(state, to, data, mode)
}

/// As [`isend`], of what [`P2p::send_now`] refused or does not send.
///
/// # Errors
/// As [`isend`].
#[inline(never)]
pub fn begin_send<S: Linked>(state: &mut S, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
    if state.p2p().needs_poll(to.peer, &data, false) {
        state.poll();
    }
    state.p2p().begin_send(to, data, mode)
}

/// As [`P2p::send_copied_now`], after a poll where the message layer wants one.
pub fn send_copied_now<S: Linked>(state: &mut S, to: &SendTo, data: UserMem) -> bool {
    if state.p2p().needs_poll(to.peer, &Data::Contiguous(data), true) {
        state.poll();
    }
    state.p2p().send_copied_now(to, data)
}

/// Receives a message that is here with its payload, without a request; polls for one arrival if none is kept. `None`:
/// nothing was stored. What else arrives goes to its handler. See [`pml::Receives::recv_now`] for offers.
#[inline]
pub fn recv_now<S: Linked>(state: &mut S, pattern: &Pattern, into: UserMem) -> Option<Done> {
    let p2p = state.p2p();
    if let Some(done) = p2p.recv_now(pattern, into) {
        return Some(done);
    }
    if p2p.handling {
        return None;
    }
    let arrival = match pattern.peer {
        Some(peer) => p2p.bml.next_arrival_from(peer)?,
        None => p2p.bml.next_arrival()?,
    };
    let done = if Class::of(arrival.header) == Some(Class::Pml) {
        p2p.accept_for(&arrival, pattern, into)
    } else {
        hand_over(state, &arrival);
        None
    };
    state.p2p().bml.release(arrival);
    done
}

/// The state as the one that polls.
struct Frames<'a, S>(&'a mut S);

impl<S: Linked> Hub for Frames<'_, S> {
    type Btl = Bml;

    #[inline(always)]
    fn btl(&mut self) -> &mut Bml {
        &mut self.0.p2p().bml
    }

    #[inline(always)]
    fn accept(&mut self, arrival: &Arrival) {
        if Class::of(arrival.header) == Some(Class::Pml) {
            let P2p { bml, layer, .. } = self.0.p2p();
            on_layer!(layer, layer => layer.accept(bml, arrival));
        } else {
            hand_over(self.0, arrival);
        }
    }

    fn on_event(&mut self, event: Event) {
        let P2p { bml, layer, active, .. } = self.0.p2p();
        let (cookie, succeeded) = match event {
            Event::Done(cookie) => (cookie, true),
            Event::Failed(cookie) => (cookie, false),
            // The operation that waits for it asks the transport.
            Event::Flushed(_) => return,
            Event::PeerLost(peer) => {
                on_layer!(layer, layer => layer.on_event(bml, event));
                active.peer_lost(peer);
                return on_lost(self.0, peer);
            }
        };
        match Class::of_cookie(cookie) {
            Some(Class::Pml) => on_layer!(layer, layer => layer.on_event(bml, event)),
            class => on_end(self.0, class, cookie, succeeded),
        }
    }

    #[inline(always)]
    fn awaits(&self) -> bool {
        let layer = &self.0.links().layer;
        on_layer!(layer, layer => Receiver::<Bml>::awaits(layer))
    }

    #[inline(always)]
    fn advance(&mut self) -> usize {
        let P2p { bml, layer, active, .. } = self.0.p2p();
        let happened = on_layer!(layer, layer => layer.advance(bml));
        if active.has_work() { happened + advance_active(self.0) } else { happened }
    }
}

/// Hands a frame that is not the message layer's to the handler of its class.
#[cold]
fn hand_over<S: Linked>(state: &mut S, arrival: &Arrival) {
    let class = Class::of(arrival.header);
    if class == Some(Class::Farewell) {
        return state.p2p().farewells.accept(arrival);
    }
    let found = class.and_then(|class| Some((class, state.classes().of(class)?)));
    let Some((class, handlers)) = found else {
        if let Some(stray) = state.p2p().strays.count(arrival) {
            eprintln!("alhena: {}", stray.to_string().replace('\n', "\nalhena: "));
        }
        return;
    };
    let Brought::Message(message) = state.p2p().active.accept(class, arrival) else { return };
    let (from, is_answer) = (message.from, message.is_answer);
    run(state, |state| (handlers.on_message)(state, &message));
    let mut next = state.p2p().active.handled(class, from, is_answer);
    while let Some(early) = next {
        run(state, |state| (handlers.on_message)(state, &early.message()));
        next = state.p2p().active.handled(class, from, false);
    }
}

/// Sends what waits for room, and lets classes try again whose requests were refused.
#[cold]
fn advance_active<S: Linked>(state: &mut S) -> usize {
    let P2p { bml, active, .. } = state.p2p();
    let sent = active.advance(bml);
    for class in active.take_refused() {
        if let Some(handlers) = state.classes().of(class) {
            run(state, handlers.on_room);
        }
    }
    sent
}

#[cold]
fn on_end<S: Linked>(state: &mut S, class: Option<Class>, cookie: u64, succeeded: bool) {
    if let Some(class) = class
        && let Some(handlers) = state.classes().of(class)
    {
        run(state, |state| (handlers.on_event)(state, class.own(cookie), succeeded));
    }
}

#[cold]
fn on_lost<S: Linked>(state: &mut S, peer: Peer) {
    for index in 0..Class::COUNT {
        if let Some(handlers) = state.classes().handlers[index] {
            run(state, |state| (handlers.on_lost)(state, peer));
        }
    }
}

/// Runs a handler; meanwhile no call polls.
fn run<S: Linked>(state: &mut S, handler: impl FnOnce(&mut S)) {
    state.p2p().handling = true;
    handler(state);
    state.p2p().handling = false;
}
