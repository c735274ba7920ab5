//! Collective operations: from the arguments of a call to a running schedule (MPI-5.0 chapter 6, section 8.6).
//!
//! ```text
//!   entry points (movement, irregular, reductions, neighbour)
//!        │  check the arguments (arguments.rs) ──► Call                (call.rs)
//!        ├─ pick an algorithm, find or build its schedule             (select.rs)
//!        └─ Running: the schedule's execution, bound to the buffers   (run.rs, launch.rs)
//!              └─ Port: its messages are point-to-point operations    (port.rs)
//! ```
//!
//! Small plain data takes a shorter way (fast_path/). Which call has the communicator's shared area, and which is next,
//! stands in turns.rs.
//!
//! Blocking, nonblocking and persistent calls differ in what advances the [`Running`]: the call itself, progress,
//! or progress after each start. A communicator keeps finished ones, so that a repeated call allocates nothing.
//!
//! # Decisions
//!
//! **Plain data takes no schedule.** Where one publication by each process decides a collective of plain data, an
//! exchange runs it (`coll::exchange`): the row of the algorithm names the exchange, and `fast_path` makes its
//! arguments. A nonblocking one takes no request if it is over at once. What the collectives keep with a communicator
//! is a table of theirs (`kept`): the communicator has the number of its place, which the fast paths carry along, so a
//! call looks the communicator up once and not four times.
//!
//! **Turns.** One collective at a time has the area of a communicator, in the order of the calls, which is the same
//! everywhere (`turns`). Persistent collectives are started in any order; so each has an area to itself, which its processes
//! agree on in the `_init` call (`votes`). That call is collective and may wait for the others (MPI-5.0 section 6.13); no start
//! does. Long data keeps to messages, which are faster there (`select::gains_from_area`), and so do all where there is no memory
//! for such areas (`coll_area_memory`). A communicator that finds none of the node's areas free makes one of its own, too, in the first
//! blocking call after some others (`CollState::is_area_due`).
//!
//! **Large data on one node.** Ranks publish where their buffers are, and read from each other with `process_vm_readv`:
//! each byte is copied once, and a reduction is cut into slices. The ranks vote once whether all can read all, in a
//! communicator's first blocking collective; communicators made of it inherit a yes. Nonblocking calls before that use
//! what needs no vote. What a process has just copied is dirty in its core's cache and slow for others to read; so they
//! read what the caller gave, not the copy in its receive buffer.
//!
//! **Calls that differ.** A digest of operation, root and bytes is part of the tag of a collective's messages and
//! stands beside the epoch of its slots. So calls that differ never take each other's data. Each process keeps a log of
//! its last calls in shared memory. A process that waits long compares the logs, and all get an error that names each
//! rank's call (`check`, parameter `coll_check`). A release flag is set only if all came with the same digest.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

mod advance;
mod area;
mod arguments;
mod await_turn;
mod call;
mod callback;
mod check;
mod exact;
mod fast_path;
mod finalize;
mod irregular;
mod kept;
mod launch;
mod localities;
mod mode;
mod movement;
mod neighbour;
mod online;
mod parts;
mod persistent;
mod port;
mod reaches;
mod reductions;
mod run;
mod select;
mod sharing;
mod signature;
mod slots;
mod stage;
mod state;
mod turns;
mod votes;
mod words;

pub use irregular::*;
pub use movement::*;
pub use neighbour::*;
pub use reductions::*;

pub use await_turn::await_turn;
pub use check::forget as forget_log;
pub use finalize::meet_to_finalize;
pub use kept::{forget, hints_changed, refuse};
pub use mode::Mode;
pub use run::Running;
pub use sharing::{open_world_area, share as share_area};
pub use words::{
    Swap, deal_words, gather_words, largest, reduce_words, share_words, smallest, starts, swap_words,
    tell_words,
};

/// The calls of a communicator borrow another one's context, all under `tag`, which is not negative. Each begins where the
/// one before it has ended, so the order of messages distinguishes them.
pub fn start_apart(state: &mut objects::state::State, comm: abi::Comm, tag: i32) -> abi::Result<()> {
    kept::find(state, comm)?.start_apart(tag);
    Ok(())
}
