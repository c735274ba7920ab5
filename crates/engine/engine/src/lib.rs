//! What moves operations forward, below the objects of MPI and above message layers and transports.
//!
//! * [`Domain`], [`Token`], [`Guard`]: which thread may touch the state, and when.
//! * [`Guarded`], [`Tables`]: tables that crates of `mpi` keep outside the state, and that its lock guards.
//! * [`Requests`], [`Operation`], [`advance_all`]: requests, and the registry of what must be advanced.
//! * [`wait`]: waiting, with one thread that polls for all.
//! * [`need_progress`], [`run_apart`], [`run_blocking`], [`run_apart_in_turns`]: work outside MPI, by threads of the library.
//! * [`P2p`], [`Layer`]: the way to other processes: transports, the message layer over them, active messages.
//! * [`Peers`]: which process of which job a peer is.
//! * [`poll`], [`Classes`], [`Handler`]: the one place that polls, and the owners of frames.
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
//!
//! # Decisions
//!
//! **One place polls** ([`poll`]). A message layer never asks for arrivals, so it cannot drop a frame of another class.
//! The fast verbs leave frames of other classes where they are. A message layer that has used up what it may send
//! before the next poll reports that (`MessageLayer::needs_poll`), and the engine polls.
//!
//! **Every completion passes one place.** Where several threads may wait, one function gives the state back: it asks
//! what has changed and wakes the threads that wait for it (`domain::give_back`). A message layer counts its changes;
//! other completions call `Threads::changed`. So a cancellation, a last partition, a callback or another thread's
//! progress leaves no thread asleep. A thread that brings work to a sleeping poller wakes it.
//!
//! **Work outside MPI.** A window, a file or a transport that must be served while the program computes calls
//! [`need_progress`], which counts. A first message over TCP whose connection is not made yet when the call returns
//! calls [`see_to_connections`]. The parameter `mpi_async_progress` does it for the whole program. Then the helper
//! thread runs, and the plain way in stays closed. The helper never calls the program. It pauses for 0.5 to 8 ms where
//! threads of the program come and go, so a program that has just left MPI may answer 8 ms late; no wake-up is lost by
//! that, since the poll after the pause finds what came.
//!
//! **Tables that the lock guards** ([`Guarded`]). The state has the one value that opens such tables ([`Tables`]) as a
//! field without size. So the state knows none of the crates that keep tables, and a table can be open while other
//! fields of the state are borrowed. A process that makes a second state panics.
//!
//! **Peers** are indices of this process's table; for its own job they are the world ranks. A record of a peer is made
//! at the first message to it; until then a peer takes a byte in `bml`, a pointer in the message layer, and four bytes
//! on its node. Processes of other jobs come behind: a transport learns of one (`Ugni::add_peer`), and [`P2p::meet`]
//! gives it the next index and a route. Two jobs call one process by different indices, so Gemini finds a caller by its
//! address. Vader reaches the processes of one node file alone.
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
    Classes, Handler, Linked, begin_send, has_failed, isend, poll, poll_if_due, recv_now, send_copied_now,
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
    Advance, Afterlife, Blocking, Fate, Operation, Requesting, Requests, Work, advance_all, with, with_as,
};
pub use variables::VARIABLES;
pub use wait::{Interest, Progress, Reason, note_failed_call, wait, wait_checked, wait_until};
pub use waiting::{How, LOOK, Mode, Threads};
