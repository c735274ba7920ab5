//! A Gemini NIC in software, faithful where a program can notice.
//!
//! ```text
//!      program ── gni::Gni ──┐
//!                       SoftNic            one per rank: endpoints, queues, posts, mailboxes,
//!                       (engine)           datagrams, retransmission, faults on demand
//!                            │ Fabric      transactions: write, read, atomic, event; packets
//!             ┌──────────────┴─────────────┐
//!          InProc                       Host
//!       NICs of one process          NICs of one or several hosts: shared memory,
//!       (tests, virtual time)        single copy by the kernel, sockets
//! ```
//!
//! The engine holds the semantics and no clock, thread or global; [`gni::Gni::progress`] gives it the time and
//! turns. A [`Fabric`] carries its transactions to the target NIC, where they are checked
//! against the target's registrations and done without the target's help, as on the hardware.
//!
//! # Registrations
//!
//! A registration names addresses, which costs nothing, or holds the pages of registration time, as the hardware's
//! does (the *pinned mode*, [`inproc::NetworkConfig::pinned`]). Only then does a registration that was kept too long
//! show old data.
//!
//! # What differs from the hardware
//!
//! * The initiator's turns advance its block transfers, a bounded piece per turn, where hardware would go on by
//!   itself.
//! * Datagrams are matched in the target's turns; on hardware the kernel does it.
//! * A failed SILENT post makes an error entry, and its descriptor is then returned like another.
//! * `mem_deregister` answers `NOT_DONE` while this NIC's own posts or mailboxes use the memory.
//!
//! # Ways
//!
//! Within a host the NIC uses shared memory and single copy, beyond it TCP; or a whole network lies inside one process;
//! descriptors and queues are limited, and faults come on demand. `btl-ugni` is written against `gni` alone and gets
//! the time from its owner, so the same code runs between processes, between hosts and on virtual time.

mod access;
mod config;
mod engine;
mod fabric;
mod fault;
#[cfg(not(loom))]
pub mod host;
pub mod inproc;
mod mailbox;
#[cfg_attr(loom, allow(dead_code, reason = "of its users, the host fabric is not part of the model"))]
mod mapping;
mod params;
mod pinned;
#[cfg_attr(loom, allow(dead_code, reason = "its user, the host fabric, is not part of the model"))]
mod ring;

pub use chance::BadFault;
pub use config::{NicConfig, NodeLimits, Stats};
pub use engine::SoftNic;
pub use fabric::{
    Action, Arrived, Class, Fabric, Landed, Packet, PacketKind, PeerIndex, Registration, Source, Submit,
    Ticket, Tx, Undeliverable, Window,
};
pub use fault::FaultPlan;
pub use params::{GniParams, Reach};
