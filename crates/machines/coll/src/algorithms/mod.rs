//! The algorithms, one file per family, one function each.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
mod fold;
pub mod gather;
mod halving;
pub mod hierarchical;
pub mod inter;
pub mod neighbour;
pub mod node;
pub mod reduce;
pub mod reduce_scatter;
pub mod registry;
pub mod scan;
pub mod scatter;
