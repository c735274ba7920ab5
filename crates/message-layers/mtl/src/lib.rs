//! The contract of a matching transport layer (MTL): a network whose own interface matches messages with receives.
//!
//! A network of this kind gets receives before their messages. It compares 64 *match bits* itself, stores the
//! payload in the receive's memory, and keeps what has no receive. The message layer over it (`pml-cm`) is thin: it
//! makes bits of an envelope, and knows requests and datatypes.
//!
//! ```text
//!   message layer   send, inject      recv (bits, ignored bits, memory)     peek, claim
//!                      │                        │                              │
//!   network            └───── bits, data, payload ────► posted receives ───────┘
//!                                                       unexpected messages
//!                      ◄──────────── events: sent, received, cancelled ────────
//! ```
//!
//! # What a message consists of
//!
//! * **Bits**, of which the lowest [`Limits::match_bits`] are the user's; those above are 0. A receive names the bits that it
//!   wants and those that it ignores: a message matches if both agree in all bits that are not ignored.
//! * **Data**: [`Limits::data_bits`] more bits that travel with the message, are not matched, and are shown with it. Where a
//!   network has fewer than 64, those above are lost; where it has none, data is 0 on arrival.
//! * **Payload**: one run of memory, at most [`Limits::max_message`] bytes.
//! * **The sender**, as the network knows it. A receive may ask for one ([`Want::from`]).
//!
//! # Order
//!
//! Of two messages from one process to another that both match a receive, the one that was sent first is matched first,
//! by whatever call each was sent. Of two receives that match one message, the one that was posted first gets it, but for
//! [`Limits::directed`]. Events come in any order.
//!
//! # Who owns which memory when
//!
//! * The payload of [`Mtl::send`] and the memory of a receive are the network's from the call, if that succeeds, until the
//!   event that ends the operation. The owner keeps them valid and does not write the former or read the latter.
//! * The payload of [`Mtl::inject`] is the caller's again when the call returns.
//! * A cancelled receive is over at its event, not before.
//! * When the network itself is dropped, nothing is touched any more.
//!
//! # What may be called from where
//!
//! All calls come from one thread at a time. None blocks on a peer, sleeps or calls back. [`Mtl::peek`] may wait for this
//! process's own interface, which answers without help of a peer.
//!
//! # Progress and sleep
//!
//! The network advances in [`Mtl::next_event`]; while something is under way or a receive is posted, its owner calls
//! that again and again, or sleeps as [`Mtl::arm`] allows.
//!
//! # Refusals
//!
//! [`Busy`] means: nothing was begun, try again after the next events. A sender that was refused keeps the order of its
//! messages itself: it sends no later one first.
#![forbid(unsafe_code)]

use std::os::fd::BorrowedFd;

pub use btl::{Busy, Loss, Peer};
use mem::UserMem;

/// What a network can do; constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Match bits that the user has, from the lowest; at most 64.
    pub match_bits: u32,
    /// Bits of data that travel beside them, from the lowest; 0, or at most 64.
    pub data_bits: u32,
    /// Whether receives that ask for a sender are matched in one order with those that name none. If not, a user
    /// whose receives may take the same message asks for any sender, and finds another place for the source.
    pub directed: bool,
    /// Largest payload in bytes that [`Mtl::inject`] takes.
    pub inject: usize,
    /// Largest payload in bytes of one message.
    pub max_message: u64,
}

/// What a receive or a probe asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    /// The sender; `None`: any sender.
    pub from: Option<Peer>,
    /// Wanted bits.
    pub bits: u64,
    /// Bits of which any value will do.
    pub ignore: u64,
}

impl Want {
    /// Whether a message from `from` with these bits is wanted.
    pub fn takes(&self, from: Peer, bits: u64) -> bool {
        self.from.is_none_or(|wanted| wanted == from) && (self.bits ^ bits) & !self.ignore == 0
    }
}

/// A message, as the network shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Its sender, as the network knows it.
    pub from: Peer,
    /// Its match bits.
    pub bits: u64,
    /// Its data; 0 where the network carries none.
    pub data: u64,
    /// Length of the whole payload in bytes, also where less was stored.
    pub len: u64,
}

/// Names a receive from its start until its event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posted(pub u32);

/// Names a message that was taken out of matching by [`Mtl::claim`], until it is received or discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim(pub u32);

/// The end of an operation, named by the cookie that it was given; or news of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A send's memory is free. The message may still wait for its receive.
    Sent(u64),
    /// A receive has its message.
    Received {
        /// The receive.
        cookie: u64,
        /// The message.
        message: Message,
        /// Bytes stored: the whole, or what the receive's memory holds.
        stored: u64,
    },
    /// A receive is over without a message, since [`Mtl::cancel`] or [`Mtl::give_up`] asked for that.
    Cancelled(u64),
    /// The network could not do it; the operation is over and its memory free.
    Failed(u64),
    /// Nothing more comes from or reaches this peer. The operations with it that are under way end, too.
    PeerLost(Peer),
}

/// A network that matches; see the module's documentation for the promises.
pub trait Mtl {
    /// What it can do.
    fn limits(&self) -> &Limits;

    /// Sends `payload`; ends with [`Event::Sent`] or [`Event::Failed`].
    ///
    /// # Errors
    /// [`Busy`].
    fn send(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem, cookie: u64) -> Result<(), Busy>;

    /// Sends a payload of at most [`Limits::inject`] bytes, copying it. No event follows.
    ///
    /// # Errors
    /// [`Busy`].
    fn inject(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem) -> Result<(), Busy>;

    /// Posts a receive; ends with [`Event::Received`], [`Event::Cancelled`] or [`Event::Failed`].
    ///
    /// # Errors
    /// [`Busy`].
    fn recv(&mut self, want: &Want, into: UserMem, cookie: u64) -> Result<Posted, Busy>;

    /// The oldest message without a receive that `want` takes. A receive of the same that is posted next gets this
    /// message.
    ///
    /// # Errors
    /// [`Busy`]: nothing is known.
    fn peek(&mut self, want: &Want) -> Result<Option<Message>, Busy>;

    /// As [`Mtl::peek`], and takes the message out of matching.
    ///
    /// # Errors
    /// [`Busy`]: nothing was taken.
    fn claim(&mut self, want: &Want) -> Result<Option<(Claim, Message)>, Busy>;

    /// Receives a claimed message, whose name is free from then on; ends as [`Mtl::recv`].
    ///
    /// # Errors
    /// [`Busy`]; the message is still there.
    fn recv_claimed(&mut self, claim: Claim, into: UserMem, cookie: u64) -> Result<(), Busy>;

    /// Drops a claimed message, whose name is free from then on. To its sender it is as if it had been received.
    ///
    /// # Errors
    /// [`Busy`]; the message is still there.
    fn discard(&mut self, claim: Claim) -> Result<(), Busy>;

    /// Asks for the end of a receive, which ends in any case: with its message or as cancelled. No effect if it is over.
    fn cancel(&mut self, receive: Posted);

    /// The owner knows that `peer` is gone: ends what is under way with it, by events, as far as that is not over already.
    fn give_up(&mut self, peer: Peer);

    /// Advances the network and reports one event.
    fn next_event(&mut self) -> Option<Event>;

    /// Why `peer` was given up, asked for after [`Event::PeerLost`].
    fn loss(&self, peer: Peer) -> Loss;

    /// Announces that the owner is going to sleep on [`Mtl::descriptor`], after a poll that found nothing and before
    /// another one. `false`: the owner keeps polling, since there is nothing to sleep on, or something to do that
    /// the network does not announce.
    fn arm(&mut self) -> bool;

    /// A descriptor that is readable while there is something to do here, for a sleep between [`Mtl::arm`] and the next
    /// [`Mtl::next_event`]; level-triggered, the same as long as the network lives. Its owner reads nothing from it.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}
