//! Messages between two ranks, and the requests of all operations (MPI-5.0 chapters 3 and 4).
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

pub mod buffer;
pub mod grequest;
pub mod p2p;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod request;
