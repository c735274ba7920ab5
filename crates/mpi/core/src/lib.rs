//! The objects of MPI, progress and waiting; what stands between the C face (`capi`) and the message layer.
//!
//! A function of MPI is a public function here, with the arguments of the C function in safe types: it takes a
//! [`Token`] (proof of being inside MPI), locks the state for as long as it needs, and gives an error class or
//! nothing. `capi` brings errors to the handler of the object by [`raise`].
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

pub mod abi_info;
pub mod alloc;
pub mod attr;
mod buffer_pool;
mod call;
pub mod coll;
pub mod comm;
pub mod communicators;
mod datatype;
mod domain;
pub mod errcode;
pub mod errhandler;
mod fatal;
pub mod file;
pub mod group;
mod handle;
mod hint;
mod immediate;
pub mod info;
mod memory;
pub mod messages;
pub mod op;
pub mod pack;
mod params;
mod raise;
pub mod resources;
mod sessions;
pub mod startup;
mod state;
pub mod status;
mod stream;
pub mod tool;
mod topology;
mod transport;
pub mod types;
mod wait;
pub mod win;

pub use domain::{Attempt, Token, enter, enter_any};
pub use pml::Mode as SendMode;
pub use raise::{On, Raised, raise};
