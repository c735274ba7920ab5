//! Collective operations (MPI-5.0 chapter 6 and section 8.6) as schedules.
//!
//! # From call to result
//!
//! ```text
//!   arguments ─► tuned::RuleTable::select ─► Choice: algorithm, segments, fanout        once per kind of call
//!                                           │
//!                 Params ─────────────► algorithm(&Params) ─► Schedule               once per Params::key
//!                                           │
//!   counts, types ─► Shape ──────────► Execution::start                             every call
//!                                           │
//!   transport, buffers ─► impl Port ─► Execution::advance … State::Done             as often as there is progress
//! ```
//!
//! - A [`Schedule`] is one rank's list of steps: send, receive, wait, copy, reduce, and exchanges through
//!   shared memory. It names data as fractions of the call's count, never by address or length, so it is
//!   built once and kept: under [`Params::key`], per communicator, whatever the counts. Only the number of
//!   pipeline *segments* changes the list and is in the key; [`tuned`] rounds it so that few different ones
//!   occur. (The alternative, counts in the key, would build a schedule for every new count of an
//!   application with varying message sizes.)
//! - An [`Execution`] is the machine: a cursor in the list and a few request slots. [`Execution::start`]
//!   binds counts and types, resolving each place once; a call with the same schedule and shape as the last
//!   one skips even that. [`Execution::advance`] runs steps until one must wait. Blocking, nonblocking and
//!   persistent calls differ only in their caller. Nothing is allocated on a repeated call.
//! - A [`Port`] is what the machine stands on: starts and tests of sends and receives, local copies and
//!   reductions, and the shared area of a node ([`shared`] states what that must offer). The machine does no
//!   I/O of its own; this crate has no clock, socket or pointer.
//! - The user's reduction functions must run outside the library's lock, so `advance` returns
//!   [`State::UserReduce`] for them, and goes on after [`Execution::reduced`].
//!
//! Steps run in program order: a dependency is a [`schedule::Step::Wait`] before the step that needs it.
//! The algorithms place them so that what can overlap does (receives are posted ahead, sends waited for
//! late).
//!
//! # Where to find what
//!
//! | | |
//! |---|---|
//! | [`algorithms`] | one function each, with a step diagram; [`algorithms::registry`] lists them |
//! | [`tuned`] | the table of choices, rule files, forcing by parameter |
//! | [`schedule`] | steps and references to data |
//! | [`shared`] | the contract of shared areas |
//! | [`exchange`] | plain data through slots of an area, without a schedule |
//! | [`executor`] | runs schedules of many virtual ranks in one process: for tests and simulators |
//!
//! To add an algorithm: write its function in the file of its family, add its line to the registry and to
//! the test of its family.
//!
//! # Which arguments mean what
//!
//! [`Shape`] gives counts per block:
//!
//! | | `send` | `recv` | `packed` |
//! |---|---|---|---|
//! | bcast | | the buffer, on every rank | its bytes |
//! | gather, allgather | own block | one block of the result (gather: root only) | bytes of a block |
//! | scatter | one block (root only) | own block | bytes of a block |
//! | alltoall | one block | one block | bytes of a block |
//! | v and w variants | own block, where single | own block, where single | largest receive block, if any |
//! | reduce, allreduce, scan, exscan | the vector | the vector, on every rank | |
//! | reduce_scatter(_block) | one block (in place too) | one block | |
//!
//! With `MPI_IN_PLACE` the send side is left at its default except in reductions, where both sides always
//! give count and type. Reductions take scratch for whole elements with the type's extent as spacing,
//! placed by its true lower bound and true extent; the machine hands a user function the same layout as the
//! user's buffers have.
//!
//! # Areas of a node
//!
//! The processes of a communicator on one node publish slots that the others read, one cache-line transfer a level.
//! What fits a cache line crosses with the word that announces it; up to 4 KiB lie behind it, up to 32 KiB in a bounce
//! buffer. With more ranks than processors the last process to arrive sets a release flag, so that each is scheduled
//! once; vectors of several buffers are released eight buffers at a time. Where such ranks wait for one on another
//! processor, the one whose turn comes next keeps polling for some microseconds while the others yield (`shm::hint`,
//! `coll_tuned_hint`).
//!
//! In irregular calls a rank knows the length of its own blocks only. So the owner of a block and its reader both
//! choose the way by the block's length: a per-peer part of a slot, slots of its own, or a message
//! (`algorithms::node::parts`). A rank publishes only after every fourth short call which calls it has finished with
//! (`Area::retire_soon`), since that takes a locked instruction. When a communicator is freed, the next one takes its
//! area. A process that waits for a free slot sets its bit in the area; a process that frees slots rings all whose bit
//! is set.
//!
//! **Wide nodes.** Where more than 16 ranks with a core each are bound to several last-level caches or memory nodes,
//! barriers and short broadcasts, reductions and allreduces go by trees over them (`slots_caches`): ranks below the
//! leader of their cache, those below the leader of their memory node, wherever ranks were placed (`tree::nested`). The
//! ranks exchange what they are bound to in the vote of the first blocking call; communicators made of this one inherit
//! that. Two ranks do so, too: the table has rules for two ranks of one cache (`near`). `coll_tuned_caches` sets it
//! where the system does not show it, and in tests. The simulator chose the radix (docs/measurements/collectives.md,
//! Wide nodes). Clusters of wide nodes do not use these trees yet.
//!
//! **Forced algorithms.** What a parameter forces runs, or the call fails and its error names what it lacks
//! (`tuned::Misfit`); all processes judge by the same `Query`, so all fail. Exempt are calls that the library makes by
//! itself, communicators of another kind, and those of one rank. `coll_tuned_fallback` lets the table decide instead;
//! trials (`coll_tuned_online`) always do. The state variables `coll_*_algorithm` of the tool interface name the
//! algorithm of the latest call.
//!
//! **Reproducible sums** (`coll_reproducible`) are exact: a reduction on fixed-point numbers wide enough for any
//! double, rounded once. What is not a floating-point sum goes through one tree in rank order.
#![forbid(unsafe_code)]

pub mod algorithms;
mod binding;
mod builder;
pub mod exchange;
mod execution;
pub mod executor;
mod params;
mod port;
pub mod schedule;
pub mod shared;
mod tree;
pub mod tuned;

pub use execution::{Execution, Layout, Shape, State, Waiting};
pub use params::{ByNode, Coll, Key, Locality, Neighbours, Params, Root, Topology};
pub use port::{Base, Port, Region, Side, Ty};
pub use schedule::{Peer, Schedule};
