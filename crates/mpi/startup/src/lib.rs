//! MPI begins and ends in a process: initialization, finalization, sessions, lost peers (MPI-5.0 chapter 11).
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

pub mod env;
mod facts;
mod lost;
pub mod session;
mod transport;
