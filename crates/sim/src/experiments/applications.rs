//! Programs as they run in the papers.

use super::collectives::Algorithm;
use crate::cluster::{Cluster, Report};
use crate::error::Error;
use crate::jitter::Jitter;
use crate::programs::{Amg, AmgPlan, FUNCTIONS, Lammps, ORDINARY, Plan, TIMED, grid};
use crate::schedules::Schedules;
use crate::setup::Setup;
use gni::Time;
use std::sync::Arc;

/// The paper's largest run of LAMMPS: ranks, seconds of 100 steps, parallel efficiency.
pub const LAMMPS_PAPER: (u32, f64, f64) = (49_152, 95.65, 0.882);
/// Seconds that LAMMPS computes for 100 steps, by that run.
pub const LAMMPS_COMPUTE: f64 = LAMMPS_PAPER.1 * LAMMPS_PAPER.2;
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
    /// The same for each function: `MPI_Send`, `MPI_Wait`, `MPI_Sendrecv`.
    pub shares: [(&'static str, f64); 3],
    /// The simulation's own counts.
    pub report: Report,
}

/// A run of AMG2006's solve phase.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AmgRun {
    /// Seconds of an iteration.
    pub iteration: f64,
    /// Share of the time that ranks spend in MPI, on average.
    pub mpi: f64,
    /// The same for each function: `MPI_Allreduce`, `MPI_Waitall`.
    pub shares: [(&'static str, f64); 2],
    /// The simulation's own counts.
    pub report: Report,
}

/// AMG2006 on a 3-D 7-point Laplace problem, weak scaling; each rank computes for `compute` seconds in an iteration and
/// reduces by `algorithm`. One iteration is simulated, after messages that make its connections.
///
/// # Errors
/// [`Error`].
pub fn amg(setup: &Setup, algorithm: &Algorithm, ranks: u32, compute: f64) -> Result<AmgRun, Error> {
    let jitter = Jitter { deviation: setup.software.amg_jitter, ..Jitter::of(setup) };
    let plan = Arc::new(AmgPlan::new(ranks, compute * 1e9, jitter));
    let mut schedules = Schedules::new(algorithm, ranks, setup.ranks_per_node, 1);
    let mut cluster = Cluster::new(setup, ranks, |rank| Amg::new(&plan, schedules.of(rank), rank))?;
    let report = cluster.run()?;
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    let latest = |mark: usize| programs().map(|program| program.marks()[mark]).max().unwrap_or(Time::START);
    let iteration = (latest(1) - latest(0)).0 as f64 / f64::from(TIMED);
    let share = |function: usize| {
        let within: f64 = programs().map(|program| program.within()[function] as f64).sum();
        let whole: f64 = programs().map(|program| (program.marks()[1] - program.marks()[0]).0 as f64).sum();
        within / whole.max(1.0)
    };
    let shares = [("MPI_Allreduce", share(0)), ("MPI_Waitall", share(1))];
    Ok(AmgRun { iteration: iteration / 1e9, mpi: shares[0].1 + shares[1].1, shares, report })
}

/// LAMMPS's Lennard-Jones benchmark, weak scaling, on `ranks` ranks. A few steps are simulated and stand for all.
///
/// # Errors
/// [`Error`].
pub fn lammps(setup: &Setup, ranks: u32) -> Result<Run, Error> {
    let plan = Plan { grid: grid(ranks), compute: LAMMPS_COMPUTE * 1e9 / STEPS, jitter: Jitter::of(setup) };
    let mut cluster = Cluster::new(setup, ranks, |rank| Lammps::new(plan, rank))?;
    let report = cluster.run()?;
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    let latest = |mark: usize| programs().map(|program| program.marks()[mark]).max().unwrap_or(Time::START);
    let seconds = |from: usize, to: usize| (latest(to) - latest(from)).0 as f64 / 1e9;
    let (ordinary, renewal) = (seconds(0, 1) / f64::from(ORDINARY), seconds(1, 2));
    let mpi = programs().map(|program| program.mpi_share()).sum::<f64>() / f64::from(ranks);
    let share = |function: usize| {
        let within: f64 = programs().map(|program| program.within()[function] as f64).sum();
        let whole: f64 = programs().map(|program| (program.marks()[2] - program.marks()[0]).0 as f64).sum();
        (FUNCTIONS[function], within / whole.max(1.0))
    };
    let shares = [share(0), share(1), share(2)];
    Ok(Run { shares, loop_time: (STEPS - RENEWALS) * ordinary + RENEWALS * renewal, mpi, report })
}
