//! Fitting three costs to three of the paper's points.

use crate::error::Error;
use crate::experiments::{Latency, latency};
use crate::paper::{self, MPICH2_POINTS, POINTS, Point};
use crate::setup::Setup;
use crate::software::SoftwareCosts;
use gni_timed::Costs;

/// Rounds of the fit; each point depends almost linearly on its own cost, and little on the later ones.
const ROUNDS: u32 = 6;

/// What a machine lacks, in nanoseconds, to the figure for aligned messages of `bytes`.
fn missing(setup: &Setup, points: &[Point], bytes: usize) -> Result<f64, Error> {
    let target = points.iter().find(|point| point.bytes == bytes).map_or(0.0, |point| point.latency);
    let Latency { nanoseconds, .. } = latency(setup, bytes, 0)?;
    Ok(target * 1000.0 - nanoseconds)
}

/// The table with three values replaced: `request` such that 1 byte takes 1.20 µs, `bte_start` such that 8,192
/// bytes take 5.12 µs, and `nic_rate` such that 1 MiB takes 189.54 µs. All others are those of `costs`, with software
/// as in `software`.
///
/// # Errors
/// As [`latency`].
pub fn fit(mut costs: Costs, software: SoftwareCosts) -> Result<Costs, Error> {
    let missing =
        |costs: Costs, bytes: usize| missing(&Setup { software, ..paper::setup(costs) }, &POINTS, bytes);
    for _ in 0..ROUNDS {
        costs.request += missing(costs, 1)?;
        costs.bte_start += missing(costs, 8192)?;
        let bytes = f64::from(1 << 20);
        costs.nic_rate = bytes / (bytes / costs.nic_rate + missing(costs, 1 << 20)?);
    }
    Ok(costs)
}

/// The other MPI's software on a machine with these costs: `software` with the message layer's three costs times one
/// factor, such that 1 byte takes 1.32 µs, and `staging` such that 1,024 bytes take 5.77 µs.
///
/// # Errors
/// As [`latency`].
pub fn fit_mpich2(costs: Costs, software: SoftwareCosts) -> Result<SoftwareCosts, Error> {
    let mut fitted = software;
    let setup = |software| Setup { software, ..paper::with_mpich2(paper::setup(costs)) };
    let message = software.pml_send + software.pml_recv;
    for _ in 0..ROUNDS {
        let factor =
            (fitted.pml_send + fitted.pml_recv + missing(&setup(fitted), &MPICH2_POINTS, 1)?) / message;
        fitted.pml_send = software.pml_send * factor;
        fitted.pml_recv = software.pml_recv * factor;
        fitted.pml_event = software.pml_event * factor;
        // One buffer is filled and one is emptied.
        fitted.staging += missing(&setup(fitted), &MPICH2_POINTS, 1024)? / 2.0;
    }
    Ok(fitted)
}
