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
pub mod buffer;
mod buffer_pool;
mod call;
pub mod coll;
pub mod comm;
pub mod communicators;
mod datatype;
mod domain;
pub mod env;
pub mod errcode;
pub mod errhandler;
mod facts;
mod fatal;
pub mod file;
pub mod grequest;
pub mod group;
mod handle;
mod hint;
mod immediate;
pub mod info;
mod lost;
mod memory;
pub mod op;
pub mod p2p;
pub mod pack;
mod params;
pub mod partitioned;
pub mod persistent;
pub mod probe;
mod raise;
pub mod request;
pub mod resources;
pub mod session;
mod sessions;
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
