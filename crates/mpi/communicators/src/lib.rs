//! Communicators come and go: creation, duplicates, inter-communicators, virtual topologies (MPI-5.0 chapters 7 and 8).
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

mod agreement;
mod cart;
mod create;
mod dims;
mod dist_graph;
mod graph;
mod idup;
mod inter;
mod retire;
mod topology;

pub use cart::*;
pub use create::*;
pub use dims::dims_create;
pub use dist_graph::*;
pub use graph::*;
pub use idup::{idup, idup_with_info};
pub use inter::{
    create as intercomm_create, create_from_groups as intercomm_create_from_groups, merge as intercomm_merge,
};
pub use topology::topo_test;
