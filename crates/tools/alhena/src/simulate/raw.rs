//! `alhena sim raw`: Gemini itself beside MPI over it.

use std::error::Error;

use clap::Args;
use figures::curves::{Curve, Over, Panel};
use serde::Serialize;
use sim::experiments::{latency, raw_latency};
use sim::raw::Carrier;

use super::machine::{CostTable, Machine};
use super::output::{Output, row};

/// Messages by the calls of uGNI, and by MPI.
#[derive(Args)]
pub struct Raw {
    /// Longest message in bytes
    #[arg(long, default_value_t = 32 << 10)]
    max: usize,
    /// Use the costs of independent sources instead of the fitted ones
    #[arg(long)]
    sourced: bool,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

/// One length, half round trips in microseconds.
#[derive(Serialize)]
struct Row {
    bytes: usize,
    /// By what carries the message; nothing where that takes none of this length.
    raw: Vec<(&'static str, Option<f64>)>,
    mpi: f64,
    /// MPI's over the fastest of the others.
    overhead: f64,
}

/// The lengths: those for which the papers give MPI's overhead, and powers of eight.
fn lengths(max: usize) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(1usize), |size| size.checked_mul(8));
    std::iter::once(0).chain(powers.take_while(move |size| *size <= max))
}

impl Raw {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let setup = self.machine.pair(CostTable::of(self.sourced))?;
        let mut rows = Vec::new();
        for bytes in lengths(self.max) {
            let time = |carrier: Carrier| -> Result<_, sim::Error> {
                let took = carrier.takes(bytes).then(|| raw_latency(&setup, carrier, bytes)).transpose()?;
                Ok((carrier.name(), took.map(|nanoseconds| nanoseconds / 1000.0)))
            };
            let raw = Carrier::ALL.into_iter().map(time).collect::<Result<Vec<_>, _>>()?;
            let mpi = latency(&setup, bytes, 0)?.nanoseconds / 1000.0;
            let least = raw.iter().filter_map(|(_, time)| *time).fold(f64::MAX, f64::min);
            rows.push(Row { bytes, raw, mpi, overhead: mpi - least });
        }
        let title = "half round trip in µs: messages and puts of Gemini itself, MPI, and MPI's time over the least of them";
        self.output.show(title, &table(&rows), &rows, &[panel(&rows)])
    }
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let [smsg, fma, bte] = Carrier::ALL.map(Carrier::name);
    let line = |r: &Row| {
        let raw = r.raw.iter().map(|(_, time)| time.map_or(String::new(), |time| format!("{time:.3}")));
        let mpi = [format!("{:.3}", r.mpi), format!("{:.3}", r.overhead)];
        std::iter::once(r.bytes.to_string()).chain(raw).chain(mpi).collect()
    };
    std::iter::once(row(["bytes", smsg, fma, bte, "MPI", "overhead"])).chain(rows.iter().map(line)).collect()
}

fn panel(rows: &[Row]) -> Panel {
    // Axes are logarithmic.
    let drawn = || rows.iter().filter(|row| row.bytes > 0);
    let raw = |(place, carrier): (usize, Carrier)| Curve {
        label: carrier.name().into(),
        points: drawn().filter_map(|row| Some((row.bytes as f64, row.raw[place].1?))).collect(),
        joined: true,
    };
    let mpi = Curve {
        label: "MPI".into(),
        points: drawn().map(|row| (row.bytes as f64, row.mpi)).collect(),
        joined: true,
    };
    Panel {
        title: "simulated ping-pong: half round trip".into(),
        over: Over::Bytes,
        unit: "µs",
        curves: Carrier::ALL.into_iter().enumerate().map(raw).chain([mpi]).collect(),
    }
}
