//! The Gemini network on virtual time: NICs of one process, a torus between them, and what everything costs.
//!
//! ```text
//!        program ── gni::Gni ──┐
//!                        TimedNic              processor time of each call, on the rank's own clock
//!                            │
//!                    gni_soft::SoftNic         the semantics, as everywhere else
//!                            │
//!            gni_soft::inproc::SharedNetwork  carries transactions out at the moment the model says
//!                            │
//!                        Network               when that is: torus, link and NIC occupancy, latencies
//! ```
//!
//! Nothing here waits. The giver of turns (the crate `sim`) takes the moments at which a rank finds something new
//! from [`TimedWorld::take_wakes`], and runs the rank whose moment comes first with its clock set to it.
//!
//! # What is modelled, and what not
//!
//! * A transaction takes its fixed latency, one hop latency per link, and holds every link and NIC port on its way
//!   for its length divided by their capacity (virtual cut-through): transactions that share a link or a NIC queue.
//! * Routes are minimal and dimension-ordered. With [`NetworkConfig::adaptive`] each transaction takes that order of
//!   dimensions in which its head arrives first. The hardware routes packet by packet, adaptively; its congestion lies
//!   between the two or below them.
//! * A transaction takes the first gap in a link's occupancy that is long enough when its head is there. Those
//!   submitted earlier are placed earlier, though their heads may come later; ranks run in the order of their clocks,
//!   and one may be ahead of another by the processor time of a single turn.
//! * FMA windows, BTE channels and request slots are counted, as by every [`gni_soft::SoftNic`]; the channels share
//!   the NIC's bandwidth.
#![forbid(unsafe_code)]

mod background;
mod clock;
mod costs;
pub mod draw;
mod network;
mod nic;
mod occupancy;
mod torus;
mod world;

pub use background::Background;
pub use clock::RankClock;
pub use costs::{Costs, Parameter};
pub use nic::TimedNic;
pub use torus::{Link, ORDERS, Route, Torus};
pub use world::{NetworkConfig, TimedWorld};
