//! NICs of one process: for tests and for virtual time.
//!
//! A [`SharedNetwork`] is a network with its nodes. NICs attached to it share it under a lock, so they may live in
//! different threads. Without a [`Model`] every transaction is carried out when it is submitted; with one, at
//! the moment that the model gives it, in the order of these moments.

mod apply;
mod blocks;
mod config;
mod network;
mod nic;
mod shared_network;
mod shared_queue;

pub use config::{Flow, Model, NetworkConfig, Timing, Wake};
pub use nic::InProc;
pub use shared_network::SharedNetwork;
