//! Collective operations as schedules.
#![forbid(unsafe_code)]

pub mod algorithms;
mod binding;
mod builder;
mod execution;
pub mod executor;
mod params;
mod port;
pub mod schedule;
pub mod shared;
mod tree;
pub mod tuned;

pub use execution::{Execution, Layout, Shape, State, Waiting};
pub use params::{Coll, Key, Neighbours, Params, Root, Topology};
pub use port::{Base, Port, Region, Side, Ty};
pub use schedule::{Peer, Schedule};
