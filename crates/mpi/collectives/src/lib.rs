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
//! Small plain data takes a shorter way (fast_path/). Who has the communicator's shared area, and who has it next, stands
//! in turns.rs.
//!
//! Blocking, nonblocking and persistent calls differ in who advances the [`Running`]: the call itself, progress,
//! or progress after each start. A communicator keeps finished ones, so that a repeated call allocates nothing.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

mod area;
mod arguments;
mod call;
mod check;
mod exact;
mod fast_path;
mod irregular;
mod kept;
mod launch;
mod localities;
mod movement;
mod neighbour;
mod online;
mod parts;
mod persistent;
mod port;
mod reductions;
mod run;
mod select;
mod slots;
mod turns;
mod words;

pub use irregular::*;
pub use movement::*;
pub use neighbour::*;
pub use reductions::*;

pub use area::{open_world_area, share as share_area};
pub use check::{forget as forget_log, meet_to_finalize};
pub use kept::forget;
pub use run::Running;
pub use turns::await_turn;
pub use words::{deal_words, gather_words, largest, reduce_words, share_words, smallest, starts, swap_words};

/// How a collective call is completed.
#[derive(Debug)]
pub enum Mode<'a> {
    /// When it returns.
    Blocking,
    /// When it returns; the library makes it by itself, so forced algorithms serve only where they fit.
    Own,
    /// By the request (`MPI_I…`).
    Nonblocking(&'a mut abi::Request),
    /// By the request, once for each start (`MPI_…_init`).
    Persistent(&'a mut abi::Request),
}

/// The calls of a communicator borrow another one's context, all under `tag`, which is not negative. Each begins where the
/// one before it has ended, so the order of messages tells them apart.
pub fn start_apart(state: &mut objects::state::State, comm: abi::Comm, tag: i32) -> abi::Result<()> {
    kept::find(state, comm)?.start_apart(tag);
    Ok(())
}
