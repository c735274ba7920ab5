//! Programs as they run in the papers.

use crate::cluster::{Cluster, Report};
use crate::error::Error;
use crate::programs::{Lammps, ORDINARY, Plan, grid};
use crate::setup::Setup;
use gni::Time;

/// Seconds that LAMMPS computes for 100 steps: its loop time at 49,152 ranks, 95.65 s, at 88.2 % efficiency.
pub const LAMMPS_COMPUTE: f64 = 95.65 * 0.882;
/// Steps of the benchmark, and after how many neighbours are new.
const STEPS: f64 = 100.0;
const RENEWALS: f64 = 5.0;

/// A run of LAMMPS.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// Seconds of 100 steps.
    pub loop_time: f64,
    /// Share of the time that ranks spend in MPI, on average.
    pub mpi: f64,
    /// The simulation's own counts.
    pub report: Report,
}

/// LAMMPS's Lennard-Jones benchmark, weak scaling, on `ranks` ranks; each computes up to `imbalance` of its time longer in
/// each step. A few steps are simulated and stand for all.
///
/// # Errors
/// [`Error`].
pub fn lammps(setup: &Setup, ranks: u32, imbalance: f64) -> Result<Run, Error> {
    let plan = Plan { grid: grid(ranks), compute: LAMMPS_COMPUTE * 1e9 / STEPS, imbalance };
    let mut cluster = Cluster::new(setup, ranks, |rank| Lammps::new(plan, rank))?;
    let report = cluster.run()?;
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    let latest = |mark: usize| programs().map(|program| program.marks()[mark]).max().unwrap_or(Time::START);
    let seconds = |from: usize, to: usize| (latest(to) - latest(from)).0 as f64 / 1e9;
    let (ordinary, renewal) = (seconds(0, 1) / f64::from(ORDINARY), seconds(1, 2));
    let mpi = programs().map(|program| program.mpi_share()).sum::<f64>() / f64::from(ranks);
    Ok(Run { loop_time: (STEPS - RENEWALS) * ordinary + RENEWALS * renewal, mpi, report })
}
