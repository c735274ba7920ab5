//! The tracer: a tool over the wrappers that keeps each rank's last calls, requests and messages with their times.
//!
//! ```text
//!   a rank                                          mpiexec, after all ranks have ended
//!     tracer     calls, as they end                   holds the memory, whatever happened to the rank
//!     messages   which message of its channel it is   alhena timeline reads it, joins both ends of each message,
//!     clocks     this host's clock beside rank 0's    and writes Perfetto's or Chrome's format
//!       └── events: a ring of rows in shared memory ──►
//! ```
//!
//! A message is named by communicator, sender, receiver, tag, and its number among those: MPI keeps their order
//! (MPI-5.0 section 3.5), so both ends count alike, and nothing is added to a message.
#![forbid(unsafe_code)]

mod clocks;
pub mod events;
mod messages;
mod tracer;

pub use tracer::TRACER;
