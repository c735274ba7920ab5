//! The Gemini network interface: a Rust reading of Cray's *user Generic Network Interface* (uGNI).
//!
//! This crate holds no implementation. It names what a Gemini NIC offers to a user program, call by call, so
//! that transports are written once and run over the software NIC of `gni-soft`, over the same NIC on virtual
//! time, or over a real one.
//!
//! # A program's life
//!
//! ```text
//!   cdm_attach ── NIC ─┬─ cq_create            queues for what ends here and for what arrives here
//!                      ├─ mem_register         memory the NIC may touch; may name a queue for arrivals
//!                      ├─ ep_create ─ ep_bind  one endpoint per peer
//!                      ├─ ep_post_data*        128 bytes each way, to get to know each other
//!                      ├─ smsg_init            mailboxes: short messages, in order, with credits
//!                      ├─ post_fma             PUT, GET, atomics: the CPU stores into a window
//!                      ├─ post_rdma            PUT, GET: the block transfer engine copies by itself
//!                      └─ cq_get_event ─ get_completed
//! ```
//!
//! # Differences from the C interface
//!
//! * Handles are small values ([`Ep`], [`Cq`]) of one NIC instead of pointers, and are checked on use.
//! * A descriptor is copied when it is posted and returned by value from [`Gni::get_completed`]; nothing has to
//!   stay alive in between. Memory does: it is given as [`mem::UserMem`], whose constructor takes that promise.
//! * Output arguments are results; `GNI_RC_SUCCESS` is `Ok`, the other codes are [`Error`].
//! * An implementation in software needs to be given time and turns: [`Gni::progress`] does both. Hardware
//!   ignores it. For a program that never calls it, as one written for hardware, the calls that look for
//!   something (`GetEvent` on an empty queue, `PostDataTest`, ...) give the turns.
//! * Blocking calls (`CqWaitEvent`, `EpPostDataWait`) are loops over the others with the caller's clock
//!   ([`wait`]), since no implementation may hold a clock of its own.
//!
//! Not covered: segmented registration, virtual memory-domain handles, the collective engine, job
//! configuration (the launcher's business) and the error subscription queue.
//!
//! A NIC is not thread safe, as on the hardware: calls take `&mut self` and the caller serialises them.
#![forbid(unsafe_code)]

mod cdm;
mod cq;
mod datagram;
mod error;
pub mod limits;
mod memory;
mod msgq;
mod nic;
mod post;
mod smsg;
mod time;
pub mod wait;

pub use cdm::{Cookie, InstId, JobKey, Modes, PeAddr, Ptag};
pub use cq::{Cq, CqEntry, CqFault, EventType, HwStatus};
pub use datagram::{Datagram, PostState};
pub use error::{Error, Result};
pub use memory::{HandleFields, MemFlags, MemHandle};
pub use msgq::{MsgqAttr, MsgqMessage};
pub use nic::{Armed, Ep, Gni, JobResource, ResourceUse};
pub use post::{Amo, CqMode, Delivery, PostDescriptor, PostKind};
pub use smsg::{ANY_TAG, SmsgAttr, SmsgMessage, SmsgType};
pub use time::{Clock, Time};
