//! Dead-locks: which ranks wait for each other for good. Pure code over what the observation memory holds (`observe`).
//!
//! ```text
//!   snapshot ──► graph: each rank runs, has ended, or waits for …
//!                  │ signal reduction: a rank that runs frees those that wait for it, and so on
//!                  ▼
//!   what is left is dead-locked ──► the smallest circle in it ──► a report
//! ```
//! [`graph::Graph::dead`] is exact: what remains is all that is dead-locked in the snapshot, and nothing else. [`Finder`] compares two
//! snapshots, so that what holds is that all of the dead ranks waited at one and the same time. It asks of a snapshot that no message
//! is under way to a rank that waits in it; ranks see to that (`objects::shown`).
#![forbid(unsafe_code)]

mod finder;
pub mod graph;
mod report;

pub use finder::{Does, Finder, Found, Rank, Snapshot};
pub use report::{text, what_for};
