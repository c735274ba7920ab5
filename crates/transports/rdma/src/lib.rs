//! What transports share whose network reads and writes remote memory.
//!
//! * [`EagerGets`]: Eager GET, both sides of it, after S. Gutierrez et al., *Performance Evaluation of Open MPI on Cray XE/XK
//!   Systems* (2012), figures 2 and 3.
//! * [`wire`]: what the messages of such a transport say.
//! * [`BufferPool`]: equal registered buffers, grown by blocks.
//! * [`UnderWay`]: which atomic operations on a word may be under way together.
//! * [`Keys`], [`Windows`]: memory that peers know by keys.
//! * [`Silent`]: operations in a peer's windows that report nothing until they are flushed.
//! * [`Quota`]: who may use how many of a process's registrations.
//!
//! None of it knows a network. A transport asks for the next request to fetch, posts the fetch, and reports its end; a
//! registered block comes from a [`Blocks`] of the transport.
#![deny(unsafe_code)]

mod atomics;
mod buffers;
mod eager_get;
mod quota;
mod windows;
pub mod wire;

pub use atomics::UnderWay;
pub use buffers::{Blocks, Buffer, BufferPool};
pub use eager_get::{Control, EagerGets, Fetch, Fetched};
pub use quota::{FEWEST, Quota, Use};
pub use windows::{Keys, Registrar, Silent, Windows};
