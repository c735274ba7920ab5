//! Programs as they run in the papers.

use super::collectives::{Algorithm, allreduce_algorithms};
use crate::cluster::{Cluster, Report};
use crate::error::Error;
use crate::jitter::Jitter;
use crate::programs::{Amg, AmgPhase, AmgPlan, FUNCTIONS, Lammps, LammpsPlan, ORDINARY, grid};
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

/// What AMG2006's ranks do, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct AmgWork {
    /// Seconds for which a rank computes in an iteration.
    pub compute: f64,
    /// Iterations of the whole run, with its set-up; none: an iteration alone.
    pub iterations: Option<u32>,
}

/// A run of AMG2006, or a part of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AmgPart {
    /// Seconds of the part.
    pub time: f64,
    /// Share of the time that ranks spend in MPI, on average.
    pub mpi: f64,
    /// The same for each function: `MPI_Allreduce`, `MPI_Waitall`, and all others.
    pub shares: [(&'static str, f64); 3],
}

/// A run of AMG2006.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AmgRun {
    /// An iteration of the solve phase.
    pub iteration: AmgPart,
    /// The set-up phase.
    pub set_up: Option<AmgPart>,
    /// The set-up and all iterations.
    pub whole: Option<AmgPart>,
    /// The simulation's own counts.
    pub report: Report,
}

impl AmgPart {
    /// Of so many nanoseconds, and the sums over all ranks of what each function took, and of all.
    fn new(time: f64, within: [f64; 3], all: f64) -> AmgPart {
        let share = |function: usize| within[function] / all.max(1.0);
        let shares = [("MPI_Allreduce", share(0)), ("MPI_Waitall", share(1)), ("others", share(2))];
        AmgPart { time: time / 1e9, mpi: shares.iter().map(|(_, share)| share).sum(), shares }
    }
}

/// AMG2006 on a 3-D 7-point Laplace problem, weak scaling, with this allreduce. One iteration is simulated, after messages that make
/// its connections, and stands for all.
///
/// # Errors
/// [`Error`].
pub fn amg(setup: &Setup, algorithm: &Algorithm, ranks: u32, work: AmgWork) -> Result<AmgRun, Error> {
    let jitter = Jitter { deviation: setup.software.amg_jitter, ..Jitter::of(setup) };
    let plan = Arc::new(AmgPlan::new(ranks, work.compute * 1e9, jitter, work.iterations.is_some()));
    let schedules = |algorithm| Schedules::new(algorithm, ranks, setup.ranks_per_node, 1);
    let tree = || {
        let found = allreduce_algorithms(setup, ranks).find(|algorithm| algorithm.name == "tree");
        found.ok_or(Error::Unsupported("ranks agree by a tree, and there is none"))
    };
    let mut reduce = schedules(algorithm);
    let mut agree = work.iterations.map(|_| tree().map(schedules)).transpose()?;
    let part = |rank| Amg::new(&plan, reduce.of(rank), agree.as_mut().map(|agree| agree.of(rank)), rank);
    let mut cluster = Cluster::new(setup, ranks, part)?;
    let report = cluster.run()?;
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    // Phases, and how often each counts.
    let summed = |phases: &[(AmgPhase, u32)]| {
        let (mut time, mut within, mut all) = (0.0, [0.0; 3], 0.0);
        for &(phase, times) in phases {
            let times = f64::from(times);
            let latest = |end: usize| programs().map(|it| it.span(phase)[end]).max().unwrap_or(Time::START);
            time += times * (latest(1) - latest(0)).0 as f64;
            for program in programs() {
                let [begun, ended] = program.span(phase);
                all += times * (ended - begun).0 as f64;
                for (sum, part) in within.iter_mut().zip(program.within(phase)) {
                    *sum += times * part as f64;
                }
            }
        }
        AmgPart::new(time, within, all)
    };
    let (iteration, set_up) = (AmgPhase::Iteration, AmgPhase::SetUp);
    Ok(AmgRun {
        iteration: summed(&[(iteration, 1)]),
        set_up: work.iterations.map(|_| summed(&[(set_up, 1)])),
        whole: work.iterations.map(|count| summed(&[(iteration, count), (set_up, 1)])),
        report,
    })
}

/// LAMMPS's Lennard-Jones benchmark, weak scaling, on `ranks` ranks. A few steps are simulated and stand for all.
///
/// # Errors
/// [`Error`].
pub fn lammps(setup: &Setup, ranks: u32) -> Result<Run, Error> {
    let plan =
        LammpsPlan { grid: grid(ranks), compute: LAMMPS_COMPUTE * 1e9 / STEPS, jitter: Jitter::of(setup) };
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
