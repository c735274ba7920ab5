//! The transport over transports that repairs what they do: data reliability (DR).
//!
//! It has the place of all networks and of shared memory in the table of a process (`bml`), and has a table of these below
//! it. A message is copied, numbered and put under checksums (`dr`), leaves by the fastest way to its peer, and is kept until
//! that peer has acknowledged it. What is lost or damaged leaves again; where a way fails, by another one. So the message
//! layer, windows by messages, files and goodbyes above it see one transport that keeps the contract of [`btl`], whatever those
//! below make of it. Chosen by `--mca pml dr`, which is the message layer ob1 over this transport; matching exists once.
//!
//! ```text
//!   pml-ob1, active messages                  header (up to 8 words), payload
//!     └─ btl-dr     one `dr::Pair` a peer     4 to 8 words │ header, payload: one body, kept until acknowledged
//!         └─ bml    ways in order of pace
//!             ├─ btl-vader
//!             └─ btl-tcp, …
//! ```
//!
//! # What there is and is not
//!
//! * Long messages go in fragments, since bytes that a NIC or the kernel moves by itself pass no checksum. `btl_dr_rdma` allows
//!   gets by the fastest way that has them, compared with their owner's memory afterwards (`gets`). There is no registered memory.
//! * The payload is under a checksum on ways that leave the host (`btl_dr_checksum`); headers always are.
//! * No time decides that a peer is dead. It is lost when each way to it reports that, or the launcher does.
//! * Room comes back with acknowledgements, which are arrivals; a timer among the descriptors ends a sleep when a frame is
//!   overdue.
//! * While the program computes, nothing is acknowledged and nothing leaves again; see `mpi_async_progress`.
//!
//! Ways that fail and return are reported, with transport, device and addresses (`btl_dr_report`).
//!
//! Faults for tests are injected here, into frames that leave (`btl_dr_faults`).
#![deny(unsafe_code)]

mod arriving;
mod faults;
mod frame;
mod gets;
pub mod join;
mod looks;
mod news;
mod params;
mod port;
mod transport;
mod under_way;

pub use faults::FaultPlan;
pub use params::{Checksum, DrParams, Rdma};
pub use transport::Dr;
