//! The Portals 3.3 network interface: a Rust reading of the calls that programs of the Cray XT3, the XT4 and Red Storm
//! had.
//!
//! This crate holds no implementation. It names what the interface offers, call by call, so that message layers and
//! transports are written once and run over the NIC in software of `portals-soft`, or over the same NIC on virtual time.
//!
//! # How a message finds its place
//!
//! ```text
//!   portal table         match list of one index, in order               memory             events
//!     0
//!     1 ──────────────▶  entry ──▶ entry ──▶ entry ──▶ entry
//!     2                    │         │         │         │
//!    ...                  (no       memory    memory    memory ───────▶  queue (a ring: what it has no room
//!                       memory)   descriptor descriptor descriptor       for overwrites the oldest)
//! ```
//! The target's NIC walks the list of the index that the initiator names. It takes the first entry whose source and match
//! bits fit and whose memory descriptor is active and accepts the operation. The application takes no part. A message that
//! no descriptor accepts is dropped and counted, without an event.
//!
//! # A program's life
//!
//! ```text
//!   attach ── NIC ─┬─ eq_alloc ── eq_get                   queues of events
//!                  ├─ me_attach, me_insert ── md_attach    what others may reach
//!                  ├─ me_md_post                           both at once, unless something has arrived
//!                  ├─ md_bind ── put, get, get_put         what this process sends or fetches
//!                  └─ ac_entry                             who may reach it
//! ```
//!
//! # Differences from the C interface
//!
//! * Handles are small values of one NIC, checked on use; a handle of something that is gone is refused.
//! * Output arguments are results; `PTL_OK` is `Ok`, the other codes are [`Error`]. `PTL_EQ_DROPPED` means an event *and*
//!   a warning, so it is a field of what [`Portals::eq_get`] returns ([`Taken::dropped`]).
//! * `PtlInit`, `PtlNIInit` and `PtlNIFini` are the making and dropping of an implementation's value.
//! * `PtlEQWait` and `PtlEQPoll` are loops over [`Portals::eq_get`] with the caller's clock ([`wait`]), since no
//!   implementation may hold a clock of its own.
//! * A NIC in software needs turns: [`Portals::progress`]. Hardware ignores it. For a program that never calls it, asking an
//!   empty queue for an event is a turn.
//! * [`Portals::lost`] and [`Portals::arm`] have no counterpart in the interface.
//!
//! A NIC is not thread safe: calls take `&mut self` and the caller serialises them.
//!
//! Sources: the interface of the Sandia reference implementation of Portals 3.3, and the text of Portals 3.2 where the two
//! agree.
#![deny(unsafe_code)]

mod descriptor;
mod error;
mod event;
mod identity;
mod interface;
mod limits;
mod memory;
mod shared;
pub mod wait;

pub use descriptor::{Descriptor, Memory, Options, Threshold};
pub use error::{Error, Result, SetupError};
pub use event::{Event, EventKind, Failure, Handler, Taken};
pub use identity::{AccessEntry, Jid, Nid, Pid, ProcessId, ProcessMatch, Uid};
pub use interface::{Ack, Armed, Eq, MatchBits, Md, Me, NewEntry, Portals, Position, Target, Unlink};
pub use limits::{Limits, Status};
pub use memory::lasting;
pub use shared::Shared;
