//! Chance that follows from a seed: the one generator of random numbers ([`Rng`]), draws by key ([`drawn`]), and plans of
//! the faults that networks in software inject.
//!
//! A crate that injects faults declares a [`plan!`], whose fields are the names in a description such as
//! `seed=1,drop=0.01,mdds=8`, and draws from a [`Rng`].
//!
//! Secrets come from the system (`platform::random`), never from here.
#![forbid(unsafe_code)]

mod mix;
mod plan;
mod rng;

pub use mix::{drawn, mix};
pub use plan::{BadFault, Value};
pub use rng::Rng;
