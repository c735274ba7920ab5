//! Virtual ranks: ob1, the ugni transport and the collective schedules, unchanged, on virtual time.
//!
//! ```text
//!   Program                 what a rank does: a ping-pong, a halo exchange, a collective's schedule
//!     └─ Endpoint           its message layer and memory
//!          pml_ob1::Ob1     ┐ or pml_ch3::Ch3, the other MPI's
//!          Charged          │ the transport, with the software's processor time on the rank's clock
//!          btl_ugni::Ugni   ├ the library's own code
//!          btl_vader::Vader ┘
//!     └─ gni_timed::TimedNic┘ the network
//!   Cluster                 all ranks of a job; runs the one whose moment comes first
//! ```
//!
//! A [`Cluster`] is a discrete-event simulation whose events are the moments at which a NIC finds something new. A
//! rank that is woken makes progress, goes on with its program as far as it can, and sleeps again. Its clock is
//! advanced by what that costs: the calls of its NIC ([`gni_timed::Costs`]) and its software ([`SoftwareCosts`]).
//!
//! Ranks of one node share memory ([`Setup::vader`]): their messages go through vader and the schedules use the node's
//! area, both the library's code over a mapped segment. Without it they send through their NIC.
//!
//! [`seastar`] has ranks over Portals, on Red Storm and on the XT4; [`raw`] two processes without a message layer.
#![forbid(unsafe_code)]

pub mod calibrate;
mod charged;
mod cluster;
mod endpoint;
mod error;
pub mod experiments;
pub mod headlines;
mod jitter;
mod layer;
mod names;
mod node;
pub mod paper;
mod port;
pub mod programs;
pub mod raw;
pub mod replay;
mod schedules;
pub mod seastar;
mod setup;
mod software;
mod speaks;
mod timeline;
mod watch;
mod windows;

pub use cluster::{Cluster, Program, Report, Step};
pub use endpoint::Endpoint;
pub use error::Error;
pub use jitter::Jitter;
pub use setup::{Library, Setup};
pub use software::SoftwareCosts;
pub use speaks::Speaks;
pub use timeline::{Jobs, Timeline, TracedCall, TracedMessage, TracedRank, TracedRequest};
pub use watch::{Shown, Watch};
pub use windows::{Access, DataDirection, Interface, Remote};
