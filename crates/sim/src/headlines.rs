//! The figures that `docs/evaluation.md` rests on, in sizes at which each takes a moment: to see what it hangs on, one
//! changes a cost, fits anew ([`Fitted::fit`]) and asks for all of them again.

use crate::calibrate;
use crate::error::Error;
use crate::experiments::{
    AmgRun, Contender, Dimensions, LAMMPS_COMPUTE, Measure, allreduce, allreduce_algorithms, amg, gather,
    halo, lammps, latency, one_sided,
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

/// A figure in percent.
pub struct Headline {
    /// What it is.
    pub name: &'static str,
    percent: fn(&Fitted) -> Result<f64, Error>,
}

impl Headline {
    /// The figure with these costs.
    ///
    /// # Errors
    /// As the experiment.
    pub fn percent(&self, with: &Fitted) -> Result<f64, Error> {
        (self.percent)(with)
    }
}

/// Ranks of the jobs, and those of AMG.
const RANKS: u32 = 256;
const AMG_RANKS: u32 = 64;
/// Seconds that a rank of AMG computes in an iteration.
const AMG_COMPUTE: f64 = 1.5e-3;

/// All of them.
pub const HEADLINES: [Headline; 16] = [
    Headline { name: "1,024 B, off the paper's", percent: |with| off(&with.pair(), &POINTS[1]) },
    Headline { name: "8,195 B", percent: |with| off(&with.pair(), &POINTS[3]) },
    Headline { name: "8 MiB", percent: |with| off(&with.pair(), &POINTS[5]) },
    Headline { name: "MPICH2, 8,195 B", percent: |with| off(&with.of_other(with.pair()), &MPICH2_POINTS[2]) },
    Headline { name: "MPICH2, 1 MiB", percent: |with| off(&with.of_other(with.pair()), &MPICH2_POINTS[3]) },
    Headline { name: "MPICH2, 8 MiB", percent: |with| off(&with.of_other(with.pair()), &MPICH2_POINTS[4]) },
    Headline {
        name: "LAMMPS, parallel efficiency",
        percent: |with| Ok(100.0 * LAMMPS_COMPUTE / lammps(&with.nodes(), RANKS)?.loop_time),
    },
    Headline { name: "AMG, in MPI", percent: |with| Ok(100.0 * run_amg(with, "tree")?.mpi) },
    Headline {
        name: "AMG, in allreduce by tree",
        percent: |with| Ok(100.0 * run_amg(with, "tree")?.shares[0].1),
    },
    Headline {
        name: "AMG, in allreduce by hierarchical",
        percent: |with| Ok(100.0 * run_amg(with, "hierarchical")?.shares[0].1),
    },
    Headline {
        name: "allreduce by tree behind hierarchical",
        percent: |with| Ok(more(reduced(&with.nodes(), "tree")?, reduced(&with.nodes(), "hierarchical")?)),
    },
    Headline {
        name: "by tree behind MPICH2's hierarchical",
        percent: |with| {
            let other = with.of_other(with.nodes());
            Ok(more(reduced(&with.nodes(), "tree")?, reduced(&other, "hierarchical")?))
        },
    },
    Headline {
        name: "MPICH2's hierarchical behind ours",
        percent: |with| {
            let other = with.of_other(with.nodes());
            Ok(more(reduced(&other, "hierarchical")?, reduced(&with.nodes(), "hierarchical")?))
        },
    },
    Headline {
        name: "3-D halo over MSGQ behind SMSG",
        percent: |with| {
            let boxes = with.nodes();
            let params = UgniParams { use_msgq: UseMsgq::Always, ..boxes.params.clone() };
            let queue = Setup { params, ..boxes.clone() };
            let time = |setup| Ok(halo(setup, RANKS, Dimensions::Three, 64)?.nanoseconds);
            Ok(more(time(&queue)?, time(&boxes)?))
        },
    },
    Headline {
        name: "message and answer of 8 B behind put and flush",
        percent: |with| {
            let time = |by| one_sided(&with.pair(), by, Measure::PutDone, 8);
            Ok(more(time(Contender::Messages)?, time(Contender::Light)?))
        },
    },
    Headline {
        name: "MPI_Gather of 4 KiB behind puts, 16 nodes",
        percent: |with| {
            let time = |by| gather(&with.pair(), by, Calls::Apart, 16, 4096);
            Ok(more(time(Interface::Mpi)?, time(Interface::Light)?))
        },
    },
];

/// By how many percent a time is longer than another.
fn more(time: f64, than: f64) -> f64 {
    100.0 * (time / than - 1.0)
}

fn off(setup: &Setup, point: &Point) -> Result<f64, Error> {
    Ok(more(latency(setup, point.bytes, point.offset)?.nanoseconds / 1000.0, point.latency))
}

fn run_amg(with: &Fitted, name: &'static str) -> Result<AmgRun, Error> {
    let setup = with.nodes();
    let found = allreduce_algorithms(&setup, AMG_RANKS).find(|algorithm| algorithm.name == name);
    amg(&setup, found.ok_or(Error::Unsupported(name))?, AMG_RANKS, AMG_COMPUTE)
}

fn reduced(setup: &Setup, name: &'static str) -> Result<f64, Error> {
    let found = allreduce_algorithms(setup, RANKS).find(|algorithm| algorithm.name == name);
    Ok(allreduce(setup, found.ok_or(Error::Unsupported(name))?, RANKS, 1)?.nanoseconds)
}
