//! `alhena sim one-sided` and `alhena sim gather`: the poster's comparison.

use std::error::Error;
use std::io::Write;

use clap::Args;
use figures::curves::{Curve, Over, Panel};
use figures::significant;
use serde::Serialize;
use sim::Interface;
use sim::experiments::{Contender, Measure, gather, one_sided};
use sim::programs::Calls;

use super::machine::{CostTable, Machine};
use super::output::{Output, row};

/// Puts and gets of the light interface, of MPI, and two-sided messages.
#[derive(Args)]
pub struct OneSided {
    /// Ranks of each of the two nodes, all of which take part at the same time
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16], value_parser = clap::value_parser!(u32).range(1..=64))]
    ranks_per_node: Vec<u32>,
    /// Smallest size in bytes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    min: u64,
    /// Largest size in bytes
    #[arg(long, default_value_t = 4 << 20)]
    max: u64,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(2..))]
    factor: u64,
    /// Puts, gets or messages under way together where bandwidth is measured
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    window: u32,
    /// Use the costs of independent sources instead of the fitted ones
    #[arg(long)]
    sourced: bool,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

/// Gathers to one rank, each rank on a node of its own.
#[derive(Args)]
pub struct Gather {
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_values_t = [4, 16, 64], value_parser = clap::value_parser!(u32).range(2..))]
    nodes: Vec<u32>,
    /// Smallest block in bytes
    #[arg(long, default_value_t = 4 << 10, value_parser = clap::value_parser!(u64).range(1..))]
    min: u64,
    /// Largest block in bytes
    #[arg(long, default_value_t = 4 << 20)]
    max: u64,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
    factor: u64,
    /// Use the costs of independent sources instead of the fitted ones
    #[arg(long)]
    sourced: bool,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

/// One measure at one size.
#[derive(Serialize)]
struct Row {
    what: &'static str,
    unit: &'static str,
    /// Of a node, or nodes with one rank each.
    ranks: u32,
    bytes: u64,
    /// By `alhena.h`.
    light: f64,
    mpi: f64,
    /// By two-sided messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<f64>,
}

/// What the poster states, and where it holds here.
#[derive(Serialize)]
struct Statement {
    statement: &'static str,
    holds_at: usize,
    of: usize,
    /// The least and the greatest ratio of the two sides; above 1 it holds.
    ratios: [f64; 2],
}

#[derive(Serialize)]
struct Figures {
    statements: Vec<Statement>,
    rows: Vec<Row>,
}

/// Bytes in a megabyte per second of bytes in a nanosecond.
const MB_S: f64 = 1000.0;

fn sizes(min: u64, max: u64, factor: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(min), move |size| size.checked_mul(factor))
        .take_while(move |&size| size <= max)
}

impl Row {
    /// Whether more is better.
    fn is_rate(&self) -> bool {
        self.unit == "MB/s"
    }

    /// How many times as fast as `other` the light interface is.
    fn lead_over(&self, other: f64) -> f64 {
        if self.is_rate() { self.light / other } else { other / self.light }
    }
}

impl OneSided {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let mut rows = Vec::new();
        let measures = [
            ("put until it has arrived", Measure::Arrival),
            ("put and flush", Measure::PutDone),
            ("get and flush", Measure::GetDone),
            ("puts, bandwidth", Measure::Puts(self.window)),
            ("gets, bandwidth", Measure::Gets(self.window)),
        ];
        for &ranks in &self.ranks_per_node {
            let setup =
                sim::Setup { ranks_per_node: ranks, ..self.machine.pair(CostTable::of(self.sourced))? };
            for (what, measure) in measures {
                for bytes in sizes(self.min, self.max, self.factor) {
                    let is_rate = matches!(measure, Measure::Puts(_) | Measure::Gets(_));
                    let moved = bytes as f64 * f64::from(self.window) * f64::from(ranks);
                    let of = |by| -> Result<f64, sim::Error> {
                        let nanoseconds = one_sided(&setup, by, measure, bytes as usize)?;
                        Ok(if is_rate { moved / nanoseconds * MB_S } else { nanoseconds / 1000.0 })
                    };
                    rows.push(Row {
                        what,
                        unit: if is_rate { "MB/s" } else { "µs" },
                        ranks,
                        bytes,
                        light: of(Contender::Light)?,
                        mpi: of(Contender::Mpi)?,
                        messages: Some(of(Contender::Messages)?),
                    });
                }
            }
        }
        let below = |row: &&Row| row.bytes < 512 << 10;
        let puts = |row: &&Row| row.what.starts_with("put");
        let statements = vec![
            statement("low-level put ahead of Isend/Recv", rows.iter().filter(puts), |row| row.messages),
            statement("low-level get ahead of Isend/Recv", rows.iter().filter(|row| !puts(row)), |row| {
                row.messages
            }),
            statement("Rput ahead of MPI_Put below 512 KB", rows.iter().filter(puts).filter(below), mpi),
            statement(
                "Rget ahead of MPI_Get below 512 KB",
                rows.iter().filter(|row| !puts(row)).filter(below),
                mpi,
            ),
        ];
        let title = format!(
            "puts and gets between two nodes; messages: half a round trip, or with an empty answer; bandwidth of a node, {} \
             under way a rank",
            self.window
        );
        show(&self.output, &title, "ranks a node", Figures { statements, rows })
    }
}

impl Gather {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let setup = self.machine.pair(CostTable::of(self.sourced))?;
        let setup = sim::Setup { node_spacing: 1, ..setup };
        let mut rows = Vec::new();
        let measures = [("gather", "µs", Calls::Apart), ("gathers, bandwidth", "MB/s", Calls::BackToBack)];
        for &nodes in &self.nodes {
            for (what, unit, calls) in measures {
                for bytes in sizes(self.min, self.max, self.factor) {
                    let moved = bytes as f64 * f64::from(nodes - 1);
                    let of = |by| -> Result<f64, sim::Error> {
                        let nanoseconds = gather(&setup, by, calls, nodes, bytes as usize)?;
                        Ok(match calls {
                            Calls::Apart => nanoseconds / 1000.0,
                            Calls::BackToBack => moved / nanoseconds * MB_S,
                        })
                    };
                    let (light, mpi) = (of(Interface::Light)?, of(Interface::Mpi)?);
                    rows.push(Row { what, unit, ranks: nodes, bytes, light, mpi, messages: None });
                }
            }
        }
        let statements = vec![statement("gather by low-level puts beside MPI_Gather", rows.iter(), mpi)];
        let title = "gathers to rank 0, one rank a node; bandwidth: into rank 0, calls in a row";
        show(&self.output, title, "nodes", Figures { statements, rows })
    }
}

fn mpi(row: &Row) -> Option<f64> {
    Some(row.mpi)
}

fn statement<'a>(
    statement: &'static str,
    rows: impl Iterator<Item = &'a Row>,
    other: impl Fn(&Row) -> Option<f64>,
) -> Statement {
    let leads: Vec<f64> = rows.filter_map(|row| Some(row.lead_over(other(row)?))).collect();
    let holds_at = leads.iter().filter(|&&lead| lead > 1.0).count();
    let fold = |by: fn(f64, f64) -> f64| leads.iter().copied().reduce(by).unwrap_or(0.0);
    Statement { statement, holds_at, of: leads.len(), ratios: [fold(f64::min), fold(f64::max)] }
}

fn show(output: &Output, title: &str, ranks: &str, figures: Figures) -> Result<(), Box<dyn Error>> {
    let has_messages = figures.rows.iter().any(|row| row.messages.is_some());
    let mut head = row(["", ranks, "bytes", "unit", "alhena.h", "MPI", "MPI / alhena.h"]);
    if has_messages {
        head.extend(row(["Isend/Recv", "Isend/Recv / alhena.h"]));
    }
    let line = |r: &Row| {
        let mut cells = vec![
            r.what.to_string(),
            r.ranks.to_string(),
            r.bytes.to_string(),
            r.unit.to_string(),
            significant(r.light),
            significant(r.mpi),
            format!("{:.3}", r.mpi / r.light),
        ];
        if let Some(messages) = r.messages {
            cells.extend([significant(messages), format!("{:.3}", messages / r.light)]);
        }
        cells
    };
    let table: Vec<_> = std::iter::once(head).chain(figures.rows.iter().map(line)).collect();
    output.show(title, &table, &figures, &panels(&figures.rows))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "the poster's statements here:")?;
    for Statement { statement, holds_at, of, ratios: [least, most] } in &figures.statements {
        writeln!(out, "  {statement}: at {holds_at} of {of} points, by factors of {least:.3} to {most:.3}")?;
    }
    Ok(())
}

/// One diagram a measure, with the contenders' curves of each number of ranks.
fn panels(rows: &[Row]) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for row in rows {
        let title = format!("simulated {}", row.what);
        let panel = match panels.iter().position(|panel| panel.title == title) {
            Some(index) => &mut panels[index],
            None => {
                panels.push(Panel { title, over: Over::Bytes, unit: row.unit, curves: Vec::new() });
                panels.last_mut().expect("one was pushed")
            }
        };
        let all = [("alhena.h", Some(row.light)), ("MPI", Some(row.mpi)), ("Isend/Recv", row.messages)];
        for (name, value) in all {
            let Some(value) = value else { continue };
            let label = format!("{name}, {}", row.ranks);
            let point = (row.bytes as f64, value);
            match panel.curves.iter_mut().find(|curve| curve.label == label) {
                Some(curve) => curve.points.push(point),
                None => panel.curves.push(Curve { label, points: vec![point], joined: true }),
            }
        }
    }
    panels
}
