//! The transport over transports that finds what was damaged on its way: verification.
//!
//! It has the place of all networks and of shared memory in the table of a process (`bml`), as data reliability has (`btl_dr`), and
//! has a table of these below it. Each frame travels with a sum of its envelope and one of its payload; each get and put is
//! compared with its owner's memory afterwards (`copies`). Memory that is put into is sealed with the last
//! question, so that nothing that arrives late is stored behind the sums. A difference ends the job, with its place. So the message
//! layer, windows by messages, files and goodbyes above it are verified from end to end, and nothing of it is there when it is not chosen.
//! Chosen by `--mca mpi_checksum verify`, under the message layer ob1.
//!
//! ```text
//!   pml-ob1, active messages                  header (up to 8 words), payload; get, put
//!     └─ btl-verify                           2 words │ header, payload: one body; a question and an answer for each copy
//!         └─ bml    the route of each peer
//!             ├─ btl-vader
//!             └─ btl-tcp, …
//! ```
//!
//! # What there is and is not
//!
//! * The owner of exposed memory answers in its calls of MPI: a get or put is over when it has.
//! * There are no fast verbs and no registered memory: windows go by messages. Operations on windows that ranks of a host do by
//!   loads and stores, and collectives through the node's areas, are no messages.
//! * What a rank sends to itself does not leave its memory, and processes of other jobs are reached without it.
//! * A frame that is lost or repeated is no damage; transports promise that they do neither.
//!
//! Faults for tests are injected here (`mpi_checksum_faults`).
#![forbid(unsafe_code)]

mod frame;
pub mod join;
mod transport;

pub use transport::{Describe, Hosts, Settings, Verify};
