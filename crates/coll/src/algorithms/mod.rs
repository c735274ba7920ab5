//! The algorithms, one file per family, one function each.

pub mod allgather;
pub mod allreduce;
pub mod barrier;
pub mod bcast;
mod fold;
pub mod gather;
pub mod reduce;
