//! Communicators come and go: creation, duplicates, inter-communicators, virtual topologies (MPI-5.0 chapters 7 and 8).
//!
//! # Context ids
//!
//! The usual case of an agreement is two reductions (`agreement`). Groups that agree beside the calls of a communicator
//! (`MPI_Comm_create_group`) have a class of sources of their own in its context, so all bits of their tag count. An id
//! is not given out again while a receive is posted in its context. Each new communicator gets an id or an error that
//! the process has none left.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

pub mod acquaint;
pub mod agreement;
mod cart;
mod create;
mod dims;
mod dist_graph;
mod graph;
mod idup;
mod inter;
mod retire;
mod sharing;
mod split_type;
mod topology;

pub use cart::*;
pub use create::*;
pub use dims::dims_create;
pub use dist_graph::*;
pub use graph::*;
pub use idup::{idup, idup_with_info};
pub use inter::{
    between, create as intercomm_create, create_from_groups as intercomm_create_from_groups,
    merge as intercomm_merge, refuse_between,
};
pub use split_type::split_type;
pub use topology::topo_test;
