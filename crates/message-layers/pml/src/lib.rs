//! The contract of a message layer (PML, point-to-point management).
//!
//! A message layer matches messages with receives and carries their bytes. The engine above it knows communicators,
//! handles and threads; the transport below it (`btl`) knows bytes and peers. The layer alone knows what a tag is.
//!
//! ```text
//!   engine      isend, irecv, iprobe, cancel …            take, poll: how did it end
//!                        │                                        ▲
//!   MessageLayer ────────┴── matching, protocols, requests ───────┘
//!                        │                                        ▲
//!   transport   send, get, put                            arrivals, events
//! ```
//!
//! A layer is a machine: it has no thread, clock, lock or global, and it changes only inside its calls. Each call that
//! may move bytes is lent the transport. So one layer runs over a real transport, over the aggregate of several
//! (`bml`) and over a simulated network on virtual time, and the suite `pml-conformance` runs it over the latter.
//!
//! # Who owns which buffer when
//!
//! * A [`Data`] belongs to the layer from the start of its operation until the request is complete: until
//!   [`LayerState::poll`] shows a result, or at once where the start itself reports completion. The caller keeps
//!   the memory valid for that time. It does not read the buffer of a receive, and does not write that of a send.
//! * A detached request ([`LayerState::detach`]) still uses its buffer until the peer has it. Its end can no longer
//!   be seen, so the caller detaches only what it never frees, or what owns its bytes itself ([`Stream`]).
//! * A cancelled request uses its buffer until it is complete, like any other.
//! * Where a fast path refuses, nothing was begun and the buffer is the caller's.
//! * The payload of an arrival belongs to the transport. The layer copies what it keeps and gives the arrival back
//!   inside the call that was handed it.
//!
//! # What MPI fixes
//!
//! * **Order** (MPI-5.0 section 3.5). Two messages from one process in one context, which one receive matches both,
//!   are matched in the order of their sends, however they are sent: short, long, synchronous, by fast path. The
//!   transport may let them overtake each other; the layer restores the order before it matches. Two receives that
//!   match one message get theirs in the order in which they were posted.
//! * **Wildcards.** A receive from `ANY_SOURCE` takes the oldest arrival that matches. `ANY_TAG` takes tags in the
//!   order of the sends. Contexts never mix.
//! * **Matching is not completion.** A long message that was matched first may complete after a short one.
//! * **Progress of a posted receive** does not depend on other receives being posted.
//! * **Probe.** A receive with the same pattern and no other receive in between gets the message that
//!   [`Receives::iprobe`] showed. [`Receives::improbe`] takes the message out of matching: only
//!   [`Receives::imrecv`] can receive it, whatever else is received meanwhile.
//! * **Modes.** See [`Mode`]. A synchronous send completes after its message was matched and not before.
//! * **Truncation.** A message that is longer than its receive fills the buffer, and the receive ends with
//!   `ERR_TRUNCATE`. Nothing behind the buffer is touched, and the sender sees success.
//! * **Cancel** (section 3.8.4). Either the operation takes place or it is cancelled, never both, never neither.
//!
//! # What may be called from where
//!
//! All calls come from one thread at a time. No call blocks, sleeps or calls back. Those of [`MessageLayer`] may do
//! work for other requests, too; those of [`FastMessages`] do their own and nothing else, and may always refuse.
//! A layer must not be called from inside its own transport.
//!
//! # Errors
//!
//! A start fails only when names of requests or memory are used up (`ERR_NO_MEM`); then nothing was begun. What goes
//! wrong later is in [`Done::error`]. What a peer sends is not trusted: a frame that no honest peer sends is dropped
//! and counted ([`Counters::bad_frames`]).
#![forbid(unsafe_code)]

mod counters;
mod data;
mod fast_path;
mod layer;
mod matching;
mod notice;
mod request;

pub use crate::counters::Counters;
pub use crate::data::{Data, Stream};
pub use crate::fast_path::{FastMessages, Sent};
pub use crate::layer::{LayerState, MessageLayer, Receives, Sends};
pub use crate::matching::{Envelope, Mode, Origin, Pattern, SendTo};
pub use crate::notice::{Notice, Notices};
pub use crate::request::{
    Awaited, Done, GENERATION_BITS, INDEX_BITS, MessageId, Open, OpenKind, Progress, ReqId, Request, Requests,
};
