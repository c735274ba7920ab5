//! What moves operations forward, below the objects of MPI and above message layers and transports.
//!
//! * [`Domain`], [`Token`], [`Guard`]: who may touch the state, and when.
//! * [`wait`]: waiting, with one thread that polls for all.
#![deny(unsafe_code)]

mod domain;
mod wait;

pub use domain::{Attempt, Domain, Guard, News, Owner, PlainGuard, Token, enter, enter_any, enter_plain};
pub use wait::{Interest, Progress, wait};
pub use waiting::{How, Mode, Threads};
