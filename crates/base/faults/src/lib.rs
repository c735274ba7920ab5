//! Faults on demand, as the networks in software inject them: how a description of them is read, and a generator of
//! chance that gives equal sequences for equal seeds.
//!
//! A room that injects faults declares a plan, whose fields are the names in a description such as
//! `seed=1,drop=0.01,mdds=8`, and draws from a [`Rng`].
#![forbid(unsafe_code)]

mod plan;
mod rng;

pub use plan::{BadFault, Value};
pub use rng::Rng;
