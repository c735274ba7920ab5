//! `alhena sim pingpong` and `alhena sim bandwidth`.

use std::error::Error;

use clap::Args;
use figures::curves::{Curve, Over, Panel};
use figures::significant;
use serde::Serialize;
use sim::experiments::{bandwidth, latency};
use sim::paper::{self, MPICH2_POINTS, POINTS, Point};

use super::machine::{CostTable, Machine};
use super::output::{Output, percent, row};

/// Bytes in NetPIPE's megabyte, in which the paper gives bandwidths.
const MIB: f64 = 1048576.0;

/// Lengths to simulate.
#[derive(Args, Clone, Debug)]
struct Sizes {
    /// Smallest message in bytes
    #[arg(long, default_value_t = 1)]
    min: usize,
    /// Largest message in bytes
    #[arg(long, default_value_t = 8 << 20)]
    max: usize,
}

impl Sizes {
    fn powers_of_two(&self) -> impl Iterator<Item = usize> {
        let (min, max) = (self.min, self.max);
        (0..usize::BITS - 1).map(|exponent| 1 << exponent).filter(move |size| (min..=max).contains(size))
    }
}

/// A message to and fro.
#[derive(Args)]
pub struct Pingpong {
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

/// One length: with the fitted costs, with those of independent sources, and the paper's.
#[derive(Serialize)]
struct LatencyRow {
    bytes: usize,
    /// Bytes that the receive buffer is off a page's start.
    offset: usize,
    protocol: &'static str,
    fitted_us: f64,
    sourced_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper_us: Option<f64>,
    /// MPICH2's, and the paper's of Cray MPT.
    mpich2_us: f64,
    mpich2_protocol: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper_mpich2_us: Option<f64>,
    /// Whether the costs are fitted to this very point.
    is_fitted_to: bool,
}

impl Pingpong {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let (fitted, sourced) =
            (self.machine.pair(CostTable::Fitted)?, self.machine.pair(CostTable::Sourced)?);
        let other = paper::with_mpich2(fitted.clone());
        let mut rows = Vec::new();
        for (bytes, offset) in self.lengths() {
            let is_it = |point: &&Point| (point.bytes, point.offset) == (bytes, offset);
            let point = POINTS.iter().find(is_it);
            let with_fitted = latency(&fitted, bytes, offset)?;
            let with_mpich2 = latency(&other, bytes, offset)?;
            rows.push(LatencyRow {
                bytes,
                offset,
                protocol: with_fitted.protocol,
                fitted_us: with_fitted.nanoseconds / 1000.0,
                sourced_us: latency(&sourced, bytes, offset)?.nanoseconds / 1000.0,
                paper_us: point.map(|point| point.latency),
                mpich2_us: with_mpich2.nanoseconds / 1000.0,
                mpich2_protocol: with_mpich2.protocol,
                paper_mpich2_us: MPICH2_POINTS.iter().find(is_it).map(|point| point.latency),
                is_fitted_to: point.is_some_and(|point| point.fitted),
            });
        }
        let title = "half round trip in µs; fitted: three costs fit the points marked *, sourced: none does; MPICH2: two \
                     more fit 1 B and 1,024 B";
        self.output.show(title, &latency_table(&rows), &rows, &latency_panels(&rows))
    }

    /// Powers of two, and from the first rendezvous on the lengths that need the Put Fallback.
    fn lengths(&self) -> Vec<(usize, usize)> {
        let odd = |size: usize| (size >= 8192).then_some((size + 3, 1));
        self.sizes.powers_of_two().flat_map(|size| [Some((size, 0)), odd(size)]).flatten().collect()
    }
}

fn latency_table(rows: &[LatencyRow]) -> Vec<Vec<String>> {
    let head = row([
        "bytes",
        "protocol",
        "fitted",
        "MiB/s",
        "sourced",
        "paper",
        "fitted off",
        "sourced off",
        "MPICH2",
        "",
        "Cray MPT",
    ]);
    let line = |r: &LatencyRow| {
        let off = |value: f64| r.paper_us.map_or(String::new(), |paper| percent(value / paper - 1.0));
        let mark = if r.is_fitted_to { " *" } else { "" };
        vec![
            format!("{}{}", r.bytes, if r.offset == 0 { "" } else { ", odd address" }),
            r.protocol.to_string(),
            format!("{:.3}", r.fitted_us),
            significant(r.bytes as f64 / MIB / (r.fitted_us / 1e6)),
            format!("{:.3}", r.sourced_us),
            r.paper_us.map_or(String::new(), |paper| format!("{paper:.2}{mark}")),
            off(r.fitted_us),
            off(r.sourced_us),
            format!("{:.3}", r.mpich2_us),
            r.mpich2_protocol.to_string(),
            r.paper_mpich2_us.map_or(String::new(), |paper| format!("{paper:.2}")),
        ]
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

fn latency_panels(rows: &[LatencyRow]) -> Vec<Panel> {
    let panel = |title: &str, unit, of: fn(f64, f64) -> f64| {
        let curve = |label: &str, odd: bool, value: fn(&LatencyRow) -> f64| Curve {
            label: label.to_string(),
            points: rows
                .iter()
                .filter(|row| (row.offset > 0) == odd)
                .map(|row| (row.bytes as f64, of(row.bytes as f64, value(row))))
                .collect(),
            joined: true,
        };
        let paper = |label: &str, points: &[Point]| Curve {
            label: label.to_string(),
            points: points
                .iter()
                .map(|point| (point.bytes as f64, of(point.bytes as f64, point.latency)))
                .collect(),
            joined: false,
        };
        Panel {
            title: title.to_string(),
            over: Over::Bytes,
            unit,
            curves: vec![
                curve("aligned, fitted costs", false, |row| row.fitted_us),
                curve("odd address, fitted costs", true, |row| row.fitted_us),
                curve("aligned, MPICH2", false, |row| row.mpich2_us),
                curve("odd address, MPICH2", true, |row| row.mpich2_us),
                paper("paper (Open MPI on Cielo)", &POINTS),
                paper("paper (Cray MPT)", &MPICH2_POINTS),
            ],
        }
    };
    vec![
        panel("simulated ping-pong: half round trip", "µs", |_, us| us),
        panel("simulated ping-pong: bandwidth", "MiB/s", |bytes, us| bytes / MIB / (us / 1e6)),
    ]
}

/// Windows of messages.
#[derive(Args)]
pub struct Bandwidth {
    /// Messages under way together
    #[arg(long, default_value_t = 16)]
    window: u32,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct RateRow {
    bytes: usize,
    fitted_mib_s: f64,
    sourced_mib_s: f64,
}

impl Bandwidth {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let (fitted, sourced) =
            (self.machine.pair(CostTable::Fitted)?, self.machine.pair(CostTable::Sourced)?);
        let mut rows = Vec::new();
        for bytes in self.sizes.powers_of_two() {
            // Bytes per nanosecond.
            let rate = |setup| bandwidth(setup, bytes, self.window).map(|rate| rate * 1e9 / MIB);
            rows.push(RateRow { bytes, fitted_mib_s: rate(&fitted)?, sourced_mib_s: rate(&sourced)? });
        }
        let line = |r: &RateRow| {
            vec![r.bytes.to_string(), significant(r.fitted_mib_s), significant(r.sourced_mib_s)]
        };
        let table: Vec<_> =
            std::iter::once(row(["bytes", "fitted", "sourced"])).chain(rows.iter().map(line)).collect();
        let curve = |label: &str, of: fn(&RateRow) -> f64| Curve {
            label: label.to_string(),
            points: rows.iter().map(|row| (row.bytes as f64, of(row))).collect(),
            joined: true,
        };
        let panel = Panel {
            title: format!("simulated stream, windows of {}", self.window),
            over: Over::Bytes,
            unit: "MiB/s",
            curves: vec![
                curve("fitted costs", |row| row.fitted_mib_s),
                curve("sourced costs", |row| row.sourced_mib_s),
            ],
        };
        let title = format!("MiB/s of windows of {} messages", self.window);
        self.output.show(&title, &table, &rows, &[panel])
    }
}
