//! The experiments of the papers between two nodes.

use crate::error::Error;
use crate::raw::Pattern;
use crate::seastar::cluster::Cluster;
use crate::seastar::machine::Machine;
use crate::seastar::programs::{Hoard, Mode, PingPong, Stream};
use crate::seastar::raw_pair;
use crate::seastar::system::System;
use portals::Status;

/// Rounds over which is averaged. Virtual time does not vary, but the first rounds differ.
const ROUNDS: u32 = 6;
/// Messages of a stream.
const MESSAGES: u32 = 24;
/// Receives that are posted together.
const AHEAD: usize = 8;

/// Nanoseconds of half a round trip of `bytes`.
///
/// # Errors
/// [`Error`].
pub fn latency(machine: &Machine, system: System, bytes: usize, mode: Mode) -> Result<f64, Error> {
    latency_between(machine, Machine::NEAR, system, bytes, mode)
}

/// As [`latency`], between two nodes.
///
/// # Errors
/// [`Error`].
pub fn latency_between(
    machine: &Machine,
    nodes: [u32; 2],
    system: System,
    bytes: usize,
    mode: Mode,
) -> Result<f64, Error> {
    let stack = (system, machine.software(system));
    let mut cluster = Cluster::new(machine, &nodes, stack, |me| PingPong::new(me, bytes, mode, ROUNDS))?;
    cluster.run()?;
    let wrong = cluster.programs().position(|program| !program.is_intact());
    match wrong {
        Some(rank) => Err(Error::WrongData { rank: rank as u32 }),
        None => Ok(cluster.rank(0).1.half_trip()),
    }
}

/// As [`latency`], by puts of Portals itself.
///
/// # Errors
/// [`Error`].
pub fn raw_latency(machine: &Machine, bytes: usize) -> Result<f64, Error> {
    raw_latency_between(machine, Machine::NEAR, bytes)
}

/// As [`raw_latency`], between two nodes.
///
/// # Errors
/// [`Error`].
pub fn raw_latency_between(machine: &Machine, nodes: [u32; 2], bytes: usize) -> Result<f64, Error> {
    raw_pair::run(machine, nodes, bytes, Pattern::PingPong, ROUNDS).map(|each| each / 2.0)
}

/// Bytes per nanosecond that rank 1 receives, or both do, of messages that are sent one after the other.
///
/// # Errors
/// [`Error`].
pub fn bandwidth(machine: &Machine, system: System, bytes: usize, both: bool) -> Result<f64, Error> {
    let stack = (system, machine.software(system));
    let stream = |_| Stream::new(bytes, both, AHEAD, MESSAGES);
    let mut cluster = Cluster::new(machine, &Machine::NEAR, stack, stream)?;
    cluster.run()?;
    let (begun, ended) = cluster.rank(1).1.span();
    let ways = if both { 2.0 } else { 1.0 };
    Ok(ways * f64::from(MESSAGES) * bytes as f64 * 1000.0 / (ended - begun).max(1) as f64)
}

/// As [`bandwidth`], by puts of Portals itself, each of which is waited for until it is acknowledged.
///
/// # Errors
/// [`Error`].
pub fn raw_bandwidth(machine: &Machine, bytes: usize, both: bool) -> Result<f64, Error> {
    let pattern = if both { Pattern::Both } else { Pattern::Stream };
    let each = raw_pair::run(machine, Machine::NEAR, bytes, pattern, MESSAGES)?;
    Ok(if both { 2.0 } else { 1.0 } * bytes as f64 / each)
}

/// What a rank takes of its NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicUse {
    /// Match entries.
    pub entries: u64,
    /// Memory descriptors.
    pub descriptors: u64,
    /// Event queues.
    pub queues: u64,
    /// Bytes of entries, descriptors and events.
    pub bytes: u64,
}

/// What a rank takes of its NIC while so many receives without a message, and long sends without a receive, are under way.
///
/// # Errors
/// [`Error`].
pub fn nic_use(machine: &Machine, system: System, receives: u32, sends: u32) -> Result<NicUse, Error> {
    let stack = (system, machine.software(system));
    let mut cluster = Cluster::new(machine, &Machine::NEAR, stack, |_| Hoard::new(receives, sends, 200_000))?;
    cluster.run()?;
    let rank = cluster.rank(0).0;
    Ok(NicUse {
        entries: rank.nic(Status::MatchEntries),
        descriptors: rank.nic(Status::MemoryDescriptors),
        queues: rank.nic(Status::EventQueues),
        bytes: rank.nic(Status::NicBytes),
    })
}
