//! The node's shared segment and the lock-free structures that live in it.
//!
//! One memory file per node and job is mapped by every rank ([`Segment`]). Where what lies is a pure function
//! of the number of ranks and a few sizes ([`Layout`]); nothing about the layout is read from the segment.
//! The structures are generic over the slots they are given and over one module's atomics ([`sync`]), so that
//! loom checks them with two slots and the transport runs them on mapped memory:
//!
//! | structure    | writers → readers | carries                                                    |
//! |--------------|-------------------|------------------------------------------------------------|
//! | [`fastbox`]  | 1 → 1             | short messages whole, longer ones with a block of data     |
//! | [`queue`]    | n → 1             | references to buffers, announcements of new fastboxes        |
//! | [`bounce`]     | owner ↔ 1         | payload too long for a fastbox, or before there is one     |
//! | [`doorbell`] | n → 1             | wake-ups, and the owner's wish for less payload            |
//! | [`joint`]    | 1 ↔ 1             | chunks of a long message that both sides copy              |
//! | [`record`]   | n → n             | what each process called last, read after too long a wait  |
//! | [`area`]     | n → n             | collectives of one node: lines, counters, buffers            |
//! | [`hint`]     | n → n             | which process runs where and waits, and whose turn is next |
//!
//! Peers are not trusted: every length, offset and index that another process can write is read once and
//! checked before it is used; garbage in the segment loses messages and never memory safety.

pub mod area;
pub mod bounce;
pub mod doorbell;
pub mod fastbox;
pub mod hint;
pub mod joint;
mod layout;
#[cfg(not(loom))]
mod mapping;
pub mod queue;
pub mod record;
#[cfg(not(loom))]
mod row;
#[cfg(not(loom))]
mod shared;
pub mod sync;

pub use layout::{Layout, Shape, area_bytes};
#[cfg(not(loom))]
pub use mapping::{MapError, Segment};
#[cfg(not(loom))]
pub use row::Row;
#[cfg(not(loom))]
pub use shared::SharedMemory;
