//! Fitting three costs to three of the paper's points.

use crate::error::Error;
use crate::experiments::{Latency, latency};
use crate::paper::{self, POINTS};
use crate::setup::Setup;
use crate::software::SoftwareCosts;
use gni_timed::Costs;

/// Rounds of the fit; each point depends almost linearly on its own cost, and little on the later ones.
const ROUNDS: u32 = 6;

/// The table with three values replaced: `request` such that 1 byte takes 1.20 µs, `bte_start` such that 8,192
/// bytes take 5.12 µs, and `nic_rate` such that 1 MiB takes 189.54 µs. All others are those of `costs`, with software
/// as in `software`.
///
/// # Errors
/// As [`latency`].
pub fn fit(mut costs: Costs, software: SoftwareCosts) -> Result<Costs, Error> {
    let missing = |costs: Costs, bytes: usize| {
        let target = POINTS.iter().find(|point| point.bytes == bytes).map_or(0.0, |point| point.latency);
        let Latency { nanoseconds, .. } = latency(&Setup { software, ..paper::setup(costs) }, bytes, 0)?;
        Ok::<f64, Error>(target * 1000.0 - nanoseconds)
    };
    for _ in 0..ROUNDS {
        costs.request += missing(costs, 1)?;
        costs.bte_start += missing(costs, 8192)?;
        let bytes = f64::from(1 << 20);
        costs.nic_rate = bytes / (bytes / costs.nic_rate + missing(costs, 1 << 20)?);
    }
    Ok(costs)
}
