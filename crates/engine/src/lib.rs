//! What moves operations forward, below the objects of MPI and above message layers and transports.
//!
//! * [`Domain`], [`Token`], [`Guard`]: who may touch the state, and when.
//! * [`Requests`], [`Operation`], [`advance_all`]: requests, and the registry of what must be advanced.
//! * [`wait`]: waiting, with one thread that polls for all.
#![deny(unsafe_code)]

mod domain;
mod requests;
mod wait;

pub use domain::{Attempt, Domain, Guard, News, Owner, PlainGuard, Token, enter, enter_any, enter_plain};
pub use requests::{Afterlife, Fate, Operation, Requesting, Requests, Turn, advance_all, with, with_as};
pub use wait::{Interest, Progress, wait};
pub use waiting::{How, Mode, Threads};
