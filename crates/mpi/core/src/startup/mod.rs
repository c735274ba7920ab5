//! MPI begins and ends in a process: initialization, finalization, sessions, lost peers (MPI-5.0 chapter 11).

pub mod env;
mod facts;
mod lost;
pub mod session;
