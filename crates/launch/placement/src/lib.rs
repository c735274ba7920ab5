//! Which processors each rank may use: what can be asked for, and how it is worked out.
//!
//! A rank is first *mapped* to an object (a socket, a core, …), then *bound* to processors of it. Nothing
//! asked for: the processors this process may use are split evenly between the ranks, core by core. Of more ranks than
//! processors, each processor gets the same number, in turn, so that neighbours run at the same time; if that does not
//! come out even, or under a quota of processor time, no rank is bound.
//!
//! Measured with 8 ranks on 2 cores: an exchange with both neighbours 2.9 us; with ranks 0 to 3 on one core and 4 to 7
//! on the other 3.6; unbound 2.3 to 4.7, as it happens to be.
//!
//! ```text
//!   -bind-to, -map-by ──► words ──┐
//!   rank file ──────────► slots ──┴► plan ──► processors of each rank, or why that cannot be
//!                          hardware::Topology ─┘
//! ```
//!
//! On which host a rank runs is decided before (`mpiexec`); this is done on the rank's host.
#![forbid(unsafe_code)]

mod plan;
#[cfg(test)]
mod plan_tests;
mod slots;
mod words;

pub use plan::{BindingPlan, Refusal};
pub use slots::Slots;
pub use words::{Bind, Map, MapOptions, Placement};
