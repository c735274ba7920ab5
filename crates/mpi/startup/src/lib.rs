//! MPI begins and ends in a process: initialization, finalization, sessions, lost peers (MPI-5.0 chapter 11).
//!
//! # Leaving
//!
//! The last user of MPI in a process, the world or a session, leaves in one way. Buffered messages go out, the message
//! layer and the transports come to rest, and all peers that would notice the end of the process get a goodbye, a frame
//! of a class of its own (`btl::Farewells`). The process may end when it owes nothing more to the processes that remain
//! (`Btl::owes`). Over TCP that is when the other kernels have all of it, since the end of a process resets connections
//! on which more comes in. A connection that ends after a goodbye is no loss; without one it is. A process that comes
//! back sends a word for that, too, and both words are numbered. `MPI_Finalize` waits for the whole world beside that.
//! A session waits only for processes that still receive something.
//!
//! A lost peer ends the job if the errors of any communicator or window that contains it are fatal. Else requests with
//! it fail, and the program goes on.
//!
//! `MPI_Abort` takes no lock and allocates nothing, so a signal handler may call it (`pmi::Abort`).
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

pub mod env;
mod facts;
mod lost;
pub mod session;
mod transport;
