//! Recorded runs.

use crate::cluster::{Cluster, Report};
use crate::error::Error;
use crate::programs;
use crate::replay::Job;
use crate::setup::Setup;
use coll::tuned::RuleTable;
use gni::Time;
use std::sync::Arc;

/// One function of a recorded program.
#[derive(Clone, PartialEq, Debug)]
pub struct Share {
    /// Its name.
    pub name: String,
    /// Calls, of all recorded ranks.
    pub calls: u64,
    /// Seconds within it, on average over the ranks: live, and replayed.
    pub seconds: [f64; 2],
}

/// A replay beside the live run.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    /// Seconds from `MPI_Init` to `MPI_Finalize` on rank 0: live, and replayed.
    pub whole: [f64; 2],
    /// The longest time between two barriers of the world, or from the start or to the end: live, and replayed. A
    /// program that times its loop has a barrier before and behind it.
    pub longest: [f64; 2],
    /// By function, the longest first.
    pub shares: Vec<Share>,
    /// The simulation's own counts.
    pub report: Report,
}

/// Replays `copies` of a job side by side.
///
/// # Errors
/// [`Error`].
pub fn replay(setup: &Setup, job: &Arc<Job>, copies: u32) -> Result<Replayed, Error> {
    let ranks = job.ranks().checked_mul(copies.max(1));
    let ranks = ranks.ok_or(Error::Unsupported("there are too many ranks"))?;
    let table = Arc::new(RuleTable::builtin());
    let make = |rank| programs::Replay::new(job, setup, &table, copies.max(1), rank);
    let mut cluster = Cluster::new(setup, ranks, make)?;
    let report = cluster.run()?;
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    let live = job.marks();
    let again: Vec<u64> =
        programs().next().map_or(Vec::new(), |first| first.marks().iter().map(|at| at.0).collect());
    let span = |marks: &[u64], index: usize| (marks[index + 1] - marks[index]) as f64 / 1e9;
    let spans = live.len().min(again.len()).saturating_sub(1);
    let longest = (0..spans).max_by_key(|&index| live[index + 1] - live[index]);
    let whole = |marks: &[u64]| marks.last().map_or(0.0, |&end| Time(end).0 as f64 / 1e9);
    let (recorded, _) = job.recorded();
    let mut shares: Vec<Share> = recorded
        .iter()
        .zip(job.functions())
        .enumerate()
        .map(|(index, (&(calls, within), name))| {
            let replayed: u64 = programs().map(|program| program.within()[index]).sum();
            let seconds = [within as f64 / f64::from(job.ranks()), replayed as f64 / f64::from(ranks)];
            Share { name: name.clone(), calls, seconds: seconds.map(|nanoseconds| nanoseconds / 1e9) }
        })
        .collect();
    shares.sort_by(|one, other| other.seconds[0].total_cmp(&one.seconds[0]));
    Ok(Replayed {
        whole: [whole(&live), whole(&again)],
        longest: longest.map_or([0.0; 2], |index| [span(&live, index), span(&again, index)]),
        shares,
        report,
    })
}
