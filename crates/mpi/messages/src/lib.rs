//! Messages between two ranks, and the requests of all operations (MPI-5.0 chapters 3 and 4).
//!
//! # The walk of a message
//!
//! Both fast calls have a second path. That of `MPI_Send` takes whatever leaves in one frame. That of `MPI_Recv` polls
//! for a message that is not here yet, with all but the last poll and the copy done before. After a failed poll it
//! pauses, since each poll takes the cache line from the sender, which is about to write it. It also takes messages
//! that are kept already, longer ones, and those of synchronous mode, whose answer it sends.
//!
//! A short message takes no request, no allocation, no lock below `MPI_THREAD_MULTIPLE` and no system call. `pml-ob1`
//! and `btl-vader` describe how longer ones go.
//!
//! Buffered sends are charged to the attached buffer and packed into the library's memory (`buffer`). Each partition of
//! a partitioned send is a message of its own (`partitioned`).
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

pub mod buffer;
pub mod grequest;
pub mod p2p;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod request;
