//! Two ranks.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::programs::{Pairs, PingPong, Stream};
use crate::setup::{Library, Setup};

/// A ping-pong's result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Latency {
    /// Half a round trip.
    pub nanoseconds: f64,
    /// The protocol that the transport reports.
    pub protocol: &'static str,
}

/// Round trips and windows over which is averaged. Virtual time does not vary; connections and pools are made before.
const ROUNDS: u32 = 4;

/// Half the round trip of a message of `bytes` between ranks 0 and 1, received in buffers `offset`
/// bytes off a page's start.
///
/// # Errors
/// [`Error`].
pub fn latency(setup: &Setup, bytes: usize, offset: usize) -> Result<Latency, Error> {
    let mut cluster = Cluster::new(setup, 2, |_| PingPong::new(Pairs(1), bytes, offset, ROUNDS))?;
    cluster.run()?;
    let Some(first) = cluster.program(0).filter(|program| program.is_intact()) else {
        return Err(Error::WrongData { rank: 0 });
    };
    Ok(Latency { nanoseconds: first.latency(), protocol: protocol(setup, &cluster) })
}

/// What rank 0's transport has counted, and so, since both do the same, rank 1's.
fn protocol(setup: &Setup, cluster: &Cluster<PingPong>) -> &'static str {
    let Some(end) = cluster.end(0) else { return "" };
    let Some(stats) = end.transport().ugni().map(|ugni| ugni.stats()) else { return "" };
    if setup.library == Library::Mpich2 {
        let counts = end.counters();
        return match (counts.puts, counts.gets, stats.fma_gets + stats.bte_gets) {
            (1.., ..) => "R1",
            (0, 1.., _) => "R0",
            (0, 0, 1..) => "E1",
            (0, 0, 0) => "E0",
        };
    }
    // With mailboxes by use the first messages take another way than the others.
    match (stats.fma_puts + stats.bte_puts, stats.fma_gets + stats.bte_gets) {
        (1.., _) => "Put Fallback",
        _ if stats.eager_gets > stats.smsg_sends => "Eager GET",
        (0, 1..) if stats.eager_gets == 0 => "rendezvous GET",
        _ if stats.msgq_sends > stats.smsg_sends => "MSGQ",
        _ => "SMSG",
    }
}

/// Bytes per nanosecond of windows of `window` messages of `bytes` from rank 0 to rank 1.
///
/// # Errors
/// [`Error`].
pub fn bandwidth(setup: &Setup, bytes: usize, window: u32) -> Result<f64, Error> {
    let mut cluster = Cluster::new(setup, 2, |_| Stream::new(Pairs(1), bytes, window, ROUNDS))?;
    cluster.run()?;
    Ok(cluster.program(0).map_or(0.0, Stream::rate))
}
