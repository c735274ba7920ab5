//! The figures that `docs/evaluation.md` rests on, in sizes at which each takes a moment: to see what it hangs on, one
//! changes a cost, fits anew ([`Fitted::fit`]) and asks for all of them again ([`percents`]).

use crate::calibrate;
use crate::error::Error;
use crate::experiments::{
    AmgPart, AmgWork, Contender, Dimensions, LAMMPS_COMPUTE, Measure, allreduce, allreduce_algorithms, amg,
    gather, halo, lammps, latency, one_sided,
};
use crate::paper::{self, MPICH2_POINTS, POINTS, Point};
use crate::programs::Calls;
use crate::setup::Setup;
use crate::software::SoftwareCosts;
use crate::windows::Interface;
use btl_ugni::{UgniParams, UseMsgq};
use gni_timed::Costs;

/// Costs that a figure is computed with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fitted {
    /// Network and NIC.
    pub costs: Costs,
    /// This library's software.
    pub software: SoftwareCosts,
    /// The other MPI's.
    pub other: SoftwareCosts,
}

impl Fitted {
    /// Fits both MPIs to their points.
    ///
    /// # Errors
    /// As [`calibrate::fit`].
    pub fn fit(costs: Costs, software: SoftwareCosts) -> Result<Fitted, Error> {
        let costs = calibrate::fit(costs, software)?;
        Ok(Fitted { costs, software, other: calibrate::fit_mpich2(costs, software)? })
    }

    fn pair(&self) -> Setup {
        Setup { software: self.software, ..paper::setup(self.costs) }
    }

    fn nodes(&self) -> Setup {
        Setup { ranks_per_node: 16, node_spacing: 1, ..self.pair() }
    }

    fn of_other(&self, setup: Setup) -> Setup {
        Setup { software: self.other, ..paper::with_mpich2(setup) }
    }
}

/// Ranks of the jobs, and those of AMG.
const RANKS: u32 = 256;
const AMG_RANKS: u32 = 64;
/// Seconds that a rank of AMG computes in an iteration.
const AMG_COMPUTE: f64 = 1.5e-3;

/// What the figures are, in the order of [`percents`].
pub const HEADLINES: [&str; 16] = [
    "1,024 B, off the paper's",
    "8,195 B",
    "8 MiB",
    "MPICH2, 8,195 B",
    "MPICH2, 1 MiB",
    "MPICH2, 8 MiB",
    "LAMMPS, parallel efficiency",
    "AMG, in MPI",
    "AMG, in allreduce by tree",
    "AMG, in allreduce by hierarchical",
    "allreduce by tree behind hierarchical",
    "by tree behind MPICH2's hierarchical",
    "MPICH2's hierarchical behind ours",
    "3-D halo over MSGQ behind SMSG",
    "message and answer of 8 B behind put and flush",
    "MPI_Gather of 4 KiB behind puts, 16 nodes",
];

/// All of them in percent, with these costs. What several are made of is simulated once.
///
/// # Errors
/// As the experiments.
pub fn percents(with: &Fitted) -> Result<[f64; HEADLINES.len()], Error> {
    let (pair, nodes) = (with.pair(), with.nodes());
    let (other_pair, other_nodes) = (with.of_other(with.pair()), with.of_other(with.nodes()));
    let by_tree = run_amg(&nodes, "tree")?;
    let by_hierarchical = run_amg(&nodes, "hierarchical")?;
    let tree = reduced(&nodes, "tree")?;
    let hierarchical = reduced(&nodes, "hierarchical")?;
    let of_other = reduced(&other_nodes, "hierarchical")?;
    let params = UgniParams { use_msgq: UseMsgq::Always, ..nodes.params.clone() };
    let queue = Setup { params, ..nodes.clone() };
    let halo = |setup| Ok::<f64, Error>(halo(setup, RANKS, Dimensions::Three, 64)?.nanoseconds);
    let access = |by| one_sided(&pair, by, Measure::PutDone, 8);
    let gathered = |by| gather(&pair, by, Calls::Apart, 16, 4096);
    Ok([
        off(&pair, &POINTS[1])?,
        off(&pair, &POINTS[3])?,
        off(&pair, &POINTS[5])?,
        off(&other_pair, &MPICH2_POINTS[2])?,
        off(&other_pair, &MPICH2_POINTS[3])?,
        off(&other_pair, &MPICH2_POINTS[4])?,
        100.0 * LAMMPS_COMPUTE / lammps(&nodes, RANKS)?.loop_time,
        100.0 * by_tree.mpi,
        100.0 * by_tree.shares[0].1,
        100.0 * by_hierarchical.shares[0].1,
        more(tree, hierarchical),
        more(tree, of_other),
        more(of_other, hierarchical),
        more(halo(&queue)?, halo(&nodes)?),
        more(access(Contender::Messages)?, access(Contender::Light)?),
        more(gathered(Interface::Mpi)?, gathered(Interface::Light)?),
    ])
}

/// By how many percent a time is longer than another.
fn more(time: f64, than: f64) -> f64 {
    100.0 * (time / than - 1.0)
}

fn off(setup: &Setup, point: &Point) -> Result<f64, Error> {
    Ok(more(latency(setup, point.bytes, point.offset)?.nanoseconds / 1000.0, point.latency))
}

fn run_amg(setup: &Setup, name: &'static str) -> Result<AmgPart, Error> {
    let found = allreduce_algorithms(setup, AMG_RANKS).find(|algorithm| algorithm.name == name);
    let work = AmgWork { compute: AMG_COMPUTE, iterations: None };
    Ok(amg(setup, found.ok_or(Error::Unsupported(name))?, AMG_RANKS, work)?.iteration)
}

fn reduced(setup: &Setup, name: &'static str) -> Result<f64, Error> {
    let found = allreduce_algorithms(setup, RANKS).find(|algorithm| algorithm.name == name);
    Ok(allreduce(setup, found.ok_or(Error::Unsupported(name))?, RANKS, 1)?.nanoseconds)
}
