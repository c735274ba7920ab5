//! What the handles of MPI name, and the state they are in: communicators, groups, datatypes, errors, attributes, info,
//! sessions; progress and waiting.
//!
//! A function of MPI is a public function of one of the crates of `mpi`, with the arguments of the C function in safe types: it takes
//! a [`Token`] (proof of being inside MPI), locks the state for as long as it needs, and gives an error class or nothing.
//! What the crates above keep stands in tables of their own that the lock guards ([`engine::Guarded`]).
//!
//! # Handles
//!
//! A handle is `kind | generation | index` below 2^31; predefined handles have the ABI's values. Slots are reused
//! first-in first-out. A request of a point-to-point operation is the message layer's own slab key: there is no second
//! object.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]
#![allow(clippy::new_without_default, reason = "the one state makes each table once")]

pub mod abi_info;
pub mod attr;
pub mod buffer_pool;
pub mod comm;
pub mod datatype;
pub mod domain;
pub mod errcode;
pub mod errhandler;
pub mod failures;
pub mod fatal;
pub mod group;
pub mod handle;
pub mod hint;
pub mod immediate;
pub mod info;
pub mod memory;
pub mod op;
pub mod pack;
pub mod params;
pub mod reason;
pub mod resources;
pub mod sessions;
mod shown;
pub mod state;
pub mod status;
pub mod stream;
mod survival;
mod tables;
pub mod topology;
pub mod types;
pub mod wait;

pub use domain::{Attempt, Token, enter, enter_any};
pub use pml::Mode as SendMode;
