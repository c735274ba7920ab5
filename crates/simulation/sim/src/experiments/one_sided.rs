//! The poster's comparison: puts and gets by the light interface, by MPI, and the same by two-sided messages.

use crate::cluster::{Cluster, Program};
use crate::error::Error;
use crate::programs::{Calls, Gather, OneSided, Pairs, PingPong, PutPingPong, Stream, Timed, span};
use crate::replay::{Collective, CommId, Schedules};
use crate::setup::Setup;
use crate::windows::{DataDirection, Interface};
use coll::Coll;
use coll::tuned::RuleTable;
use std::sync::Arc;

/// The calls that move the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    /// `alhena_put` and `alhena_get`.
    Light,
    /// `MPI_Put` and `MPI_Get`.
    Mpi,
    /// `MPI_Isend` and `MPI_Irecv`.
    Messages,
}

impl Contender {
    fn interface(self) -> Option<Interface> {
        match self {
            Contender::Light => Some(Interface::Light),
            Contender::Mpi => Some(Interface::Mpi),
            Contender::Messages => None,
        }
    }
}

/// What is measured between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// From the put until its target has seen the last byte; of a message, until it is received. Half a round trip.
    Arrival,
    /// From the put until the flush after it has returned; of a message, until an empty answer to it is received.
    PutDone,
    /// From the get until the flush after it has returned; of a message, from an empty one that asks for it.
    GetDone,
    /// As [`Measure::PutDone`], of so many puts with one flush.
    Puts(u32),
    /// As [`Measure::GetDone`], of so many gets with one flush.
    Gets(u32),
}

const ROUNDS: u32 = 4;
const NO_GATHER: Error = Error::Unsupported("the library's table has no gather for this job");

/// Nanoseconds of `bytes`, at least 1, between partners on two nodes, all of whose ranks take part and begin
/// together: until the last of them is done. Of several accesses, of all together.
///
/// # Errors
/// [`Error`].
pub fn one_sided(setup: &Setup, by: Contender, measure: Measure, bytes: usize) -> Result<f64, Error> {
    let pairs = Pairs(setup.ranks_per_node);
    let accesses = |interface, way, window| {
        let make = |_| OneSided::new(pairs, (interface, way), bytes, window, ROUNDS);
        let cluster = run(setup, pairs, make)?;
        check(&cluster, pairs, |program, end| program.is_intact(end))?;
        Ok(time(&cluster, pairs, OneSided::time))
    };
    // A message with an empty answer takes as long as an empty message that asks for one.
    let messages = |window| {
        let cluster = run(setup, pairs, |_| Stream::new(pairs, bytes, window, ROUNDS))?;
        Ok(time(&cluster, pairs, Stream::time))
    };
    match (by.interface(), measure) {
        (Some(interface), Measure::Arrival) => {
            let cluster = run(setup, pairs, |_| PutPingPong::new(pairs, interface, bytes, ROUNDS))?;
            check(&cluster, pairs, |program, end| program.is_intact(end))?;
            Ok(time(&cluster, pairs, PutPingPong::time) / 2.0)
        }
        (Some(interface), Measure::PutDone) => accesses(interface, DataDirection::Put, 1),
        (Some(interface), Measure::GetDone) => accesses(interface, DataDirection::Get, 1),
        (Some(interface), Measure::Puts(window)) => accesses(interface, DataDirection::Put, window),
        (Some(interface), Measure::Gets(window)) => accesses(interface, DataDirection::Get, window),
        (None, Measure::Arrival) => {
            let cluster = run(setup, pairs, |_| PingPong::new(pairs, bytes, 0, ROUNDS))?;
            check(&cluster, pairs, |program, end| !pairs.is_first(end.rank()) || program.is_intact())?;
            Ok(time(&cluster, pairs, PingPong::time) / 2.0)
        }
        (None, Measure::PutDone | Measure::GetDone) => messages(1),
        (None, Measure::Puts(window) | Measure::Gets(window)) => messages(window),
    }
}

/// Nanoseconds of a gather of `bytes` from each of `nodes` ranks, each on a node of its own, to rank 0, until that has
/// all data: by `alhena_rput`, or by `MPI_Gather`.
///
/// # Errors
/// [`Error`].
pub fn gather(setup: &Setup, by: Interface, calls: Calls, nodes: u32, bytes: usize) -> Result<f64, Error> {
    let setup = Setup { ranks_per_node: 1, ..setup.clone() };
    let schedules = Schedules::new(&setup, &Arc::new(RuleTable::builtin()), 1);
    let call =
        Collective { coll: Coll::Gather, comm: CommId::WORLD, root: 0, count: bytes as u64, element: 1 };
    let group: Arc<[u32]> = (0..nodes).collect();
    let rounds = if calls == Calls::Apart { 1 } else { ROUNDS };
    let mut cluster = Cluster::empty(&setup, nodes)?;
    for rank in 0..nodes {
        let prepared = match by {
            Interface::Light => None,
            Interface::Mpi => Some(schedules.choose(&call, Arc::clone(&group), rank).ok_or(NO_GATHER)?),
        };
        let program = Gather::new((rank, nodes), bytes, prepared, calls, rounds);
        cluster.insert(rank, program.map_err(|error| Error::Mpi { rank, error })?)?;
    }
    cluster.run()?;
    let root = cluster.program(0).filter(|root: &&Gather| root.is_intact());
    root.map(Gather::each).ok_or(Error::WrongData { rank: 0 })
}

fn run<P: Program>(setup: &Setup, pairs: Pairs, make: impl FnMut(u32) -> P) -> Result<Cluster<P>, Error> {
    let mut cluster = Cluster::new(setup, 2 * pairs.0, make)?;
    cluster.run()?;
    Ok(cluster)
}

fn check<P: Program>(
    cluster: &Cluster<P>,
    pairs: Pairs,
    is_intact: impl Fn(&P, &crate::Endpoint) -> bool,
) -> Result<(), Error> {
    let intact = |rank: &u32| {
        let found = cluster.program(*rank).zip(cluster.end(*rank));
        found.is_some_and(|(program, end)| is_intact(program, end))
    };
    match (0..2 * pairs.0).find(|rank| !intact(rank)) {
        Some(rank) => Err(Error::WrongData { rank }),
        None => Ok(()),
    }
}

/// Of a round of the first node's ranks.
fn time<P: Program>(cluster: &Cluster<P>, pairs: Pairs, of: impl Fn(&P) -> Timed) -> f64 {
    span((0..pairs.0).filter_map(|rank| cluster.program(rank)).map(of), ROUNDS)
}
