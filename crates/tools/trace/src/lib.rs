//! The tracer: a tool over the wrappers that keeps each rank's last calls, requests and messages with their times.
//!
//! ```text
//!   a rank                                          mpiexec, after all ranks have ended
//!     tracer     calls, as they end                   holds the memory, whatever happened to the rank
//!     clocks     this host's clock beside rank 0's    alhena timeline reads it, joins both ends of each message,
//!                                                     and writes Perfetto's or Chrome's format
//!       └── events: a ring of rows in shared memory ──►
//! ```
//!
//! Which message is which, [`interpose::messages`] finds.
#![forbid(unsafe_code)]

mod clocks;
pub mod events;
mod tracer;

pub use tracer::TRACER;
