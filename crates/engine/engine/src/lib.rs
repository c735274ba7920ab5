//! What moves operations forward, below the objects of MPI and above message layers and transports.
//!
//! * [`Domain`], [`Token`], [`Guard`]: who may touch the state, and when.
//! * [`Guarded`], [`Tables`]: tables that rooms keep outside the state, and that its lock guards.
//! * [`Requests`], [`Operation`], [`advance_all`]: requests, and the registry of what must be advanced.
//! * [`wait`]: waiting, with one thread that polls for all.
//! * [`need_progress`], [`run_apart`], [`run_blocking`], [`run_apart_in_turns`]: work outside MPI, by threads of the library.
//! * [`P2p`], [`Layer`]: the way to other processes: transports, the message layer over them, active messages.
//! * [`Peers`]: which process of which job a peer is.
//! * [`poll`], [`Classes`], [`Handler`]: the one place that polls, and who takes which frames.
//!
//! # Frames of other classes
//!
//! Windows, files and connections talk to their like by active messages ([`active`] has the promises: order, bounds,
//! room). A class is a type without fields that implements [`Handler`] for the state, and one line that adds it to the
//! state's [`Classes`]. It sends with [`P2p::request`] and [`P2p::answer`]:
//!
//! ```
//! use btl::{Class, Peer};
//! use engine::{Head, Linked, Message, P2p, Refused, Handler};
//! use mem::PeerBytes;
//!
//! const ADD: u8 = 0;
//! const SUM: u8 = 1;
//!
//! /// Adds up numbers for others. `S` is the state; counts are kept in it (here they are not, for brevity).
//! struct Sums;
//!
//! impl<S: Linked> Handler<S> for Sums {
//!     const CLASS: Class = Class::Osc;
//!
//!     fn on_message(state: &mut S, message: &Message<'_>) {
//!         match (message.kind, message.words()) {
//!             // The answer leaves now or when there is room; a handler never waits for that.
//!             (ADD, &[number, one, other]) => {
//!                 let head = Head { class: Class::Osc, kind: SUM, words: &[number, one.wrapping_add(other)] };
//!                 state.p2p().answer(message.from, head, &mut PeerBytes::of(&[]));
//!             }
//!             (SUM, &[_number, _sum]) => { /* note it, complete a request of the program */ }
//!             // Peers are not trusted.
//!             _ => {}
//!         }
//!     }
//!
//!     fn on_room(state: &mut S) { /* send again what was refused as busy */ }
//! }
//!
//! /// `false`: the caller keeps it until `on_room`.
//! fn ask<S: Linked>(state: &mut S, whom: Peer, number: u64, one: u64, other: u64) -> Result<bool, Refused> {
//!     let head = Head { class: Class::Osc, kind: ADD, words: &[number, one, other] };
//!     match state.p2p().request(whom, head, &mut PeerBytes::of(&[])) {
//!         Ok(()) => Ok(true),
//!         Err(Refused::Busy) => Ok(false),
//!         Err(lost) => Err(lost),
//!     }
//! }
//! ```
//! Payload is anything that implements [`mem::Source`]: `UserMem`, [`mem::PeerBytes`] of own bytes, a datatype's
//! stream. One message takes up to [`P2p::most`] bytes. Gets and puts of a class name it in their cookie
//! ([`btl::Class::cookie`]); their ends come to [`Handler::on_event`].
#![deny(unsafe_code)]

mod classes;
mod domain;
mod guarded;
mod open;
mod outside;
mod p2p;
mod params;
mod peers;
mod requests;
mod variables;
mod wait;

pub use active::{Active, Head, MAX_WORDS, Message, Refused};
pub use classes::{
    Classes, Handler, Linked, begin_send, isend, poll, poll_if_due, recv_now, send_copied_now,
};
pub use domain::{
    Attempt, Domain, Guard, News, Owner, PlainGuard, Token, close_in_children, enter, enter_any, enter_plain,
};
pub use guarded::{Guarded, Tables};
pub use outside::{
    Lane, end_outside, need_progress, release_progress, run_apart, run_apart_in_turns, run_blocking,
    see_to_connections,
};
pub use p2p::{Layer, OnPortals, OnShmem, P2p};
pub use params::{EngineParams, MessageLayer, Network, PmlParams};
pub use peers::{Peers, Process};
pub use requests::{
    Advance, Afterlife, Blocking, Fate, Operation, Requesting, Requests, advance_all, with, with_as,
};
pub use variables::VARIABLES;
pub use wait::{Interest, Progress, wait, wait_until};
pub use waiting::{How, Mode, Threads};
