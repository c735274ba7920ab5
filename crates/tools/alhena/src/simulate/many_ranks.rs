//! `alhena sim allreduce` and `alhena sim halo`.

use std::error::Error;
use std::time::Instant;

use clap::Args;
use coll::Coll;
use coll::tuned::Choice;
use figures::curves::{Curve, Over, Panel};
use figures::significant;
use serde::Serialize;
use sim::Setup;
use sim::experiments::{
    Algorithm, Dimensions, Outcome, algorithms, allreduce, chosen, collective as by_choice, halo,
};

use super::machine::{CostTable, Machine};
use super::output::{Output, row};
use super::progress;

/// The job.
#[derive(Args, Clone, Debug)]
struct Job {
    /// Sizes of the job
    #[arg(long, value_delimiter = ',', default_values_t = [16, 64, 256, 1024])]
    ranks: Vec<u32>,
    /// Ranks of one node
    #[arg(long, default_value_t = 16)]
    ranks_per_node: u32,
    /// Use the costs of independent sources instead of the fitted ones
    #[arg(long)]
    sourced: bool,
}

impl Job {
    fn table(&self) -> CostTable {
        CostTable::of(self.sourced)
    }
}

/// One simulation: what it finds, and what it took.
#[derive(Serialize)]
struct Row {
    ranks: u32,
    what: String,
    /// Virtual microseconds of one call or exchange.
    microseconds: Option<f64>,
    /// The most that a rank registered, in MiB.
    registered_mib: Option<f64>,
    /// How often a rank was run.
    turns: Option<u64>,
    /// Seconds that the simulation took.
    seconds: f64,
    /// Most memory of this process meanwhile, in MiB.
    memory_mib: Option<f64>,
    /// Why there is no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Runs a simulation and watches what it takes.
fn watched(
    setup: &Setup,
    ranks: u32,
    what: &str,
    run: impl FnOnce(&Setup) -> Result<Outcome, sim::Error>,
) -> Result<Row, sim::Error> {
    forget_peak();
    let start = Instant::now();
    let result = progress::shown(setup, ranks, what, run);
    let seconds = start.elapsed().as_secs_f64();
    let blank = Row {
        ranks,
        what: what.into(),
        microseconds: None,
        registered_mib: None,
        turns: None,
        seconds,
        memory_mib: peak(),
        reason: None,
    };
    match result {
        Ok(Outcome { nanoseconds, registered, report }) => Ok(Row {
            microseconds: Some(nanoseconds / 1000.0),
            registered_mib: Some(registered as f64 / f64::from(1 << 20)),
            turns: Some(report.turns),
            ..blank
        }),
        Err(sim::Error::Unsupported(reason)) => Ok(Row { reason: Some(reason.into()), ..blank }),
        Err(error) => Err(error),
    }
}

/// Makes the kernel forget this process's highest memory use; where it does not, the highest of all runs is shown.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The highest memory use in MiB.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let head = row(["ranks", "", "µs", "registered MiB", "turns", "took s", "turns/s", "MiB", "KiB a rank"]);
    let line = |r: &Row| {
        let figure = r.microseconds.map(significant).unwrap_or_else(|| "not simulated".to_string());
        vec![
            r.ranks.to_string(),
            r.what.clone(),
            figure,
            r.registered_mib.map_or(String::new(), |mib| format!("{mib:.2}")),
            r.turns.map_or(String::new(), |turns| turns.to_string()),
            format!("{:.2}", r.seconds),
            r.turns.map_or(String::new(), |turns| format!("{:.0}", turns as f64 / r.seconds)),
            r.memory_mib.map_or(String::new(), significant),
            r.memory_mib.map_or(String::new(), |mib| format!("{:.0}", mib * 1024.0 / f64::from(r.ranks))),
        ]
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

fn panel(title: String, rows: &[Row]) -> Panel {
    let mut curves: Vec<Curve> = Vec::new();
    for row in rows {
        let Some(value) = row.microseconds.filter(|value| *value > 0.0) else { continue };
        let point = (f64::from(row.ranks), value);
        match curves.iter_mut().find(|curve| curve.label == row.what) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { label: row.what.clone(), points: vec![point], joined: true }),
        }
    }
    Panel { title, over: Over::Ranks, unit: "µs", curves }
}

/// A collective that can be simulated.
fn collective(name: &str) -> Result<Coll, String> {
    let known = [Coll::Allreduce, Coll::Barrier, Coll::Bcast, Coll::Reduce, Coll::Allgather, Coll::Alltoall];
    let found = known.into_iter().find(|coll| coll.name() == name);
    found.ok_or_else(|| "choose from allreduce, barrier, bcast, reduce, allgather, alltoall".into())
}

/// What the library's table chooses, with its segments and its radix, as a name among the algorithms.
const BY_TABLE: &str = "table";

/// An allreduce by each algorithm, and as the library's table chooses.
#[derive(Args)]
pub struct Allreduce {
    /// Algorithms, or `table`; all that suit the job if none is named
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    algorithms: Vec<String>,
    /// Length of the vector, or of a block, in 8-byte integers
    #[arg(long, default_value_t = 1)]
    words: u64,
    /// Another collective instead, with root 0: barrier, bcast, reduce, allgather, alltoall
    #[arg(long, value_name = "NAME", default_value = "allreduce", value_parser = collective)]
    collective: Coll,
    #[command(flatten)]
    job: Job,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

impl Allreduce {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let setup = self.machine.nodes(self.job.table(), self.job.ranks_per_node)?;
        let mut rows = Vec::new();
        for &ranks in &self.job.ranks {
            let by_table = chosen(&setup, self.collective, ranks, self.words);
            if let Some(choice) = by_table.filter(|_| self.wants(BY_TABLE)) {
                let what = format!("table: {}", way(&choice));
                rows.push(watched(&setup, ranks, &what, |setup| {
                    by_choice(setup, &choice, ranks, self.words)
                })?);
            }
            for algorithm in self.chosen(&setup, ranks)? {
                rows.push(watched(&setup, ranks, algorithm.name, |setup| {
                    allreduce(setup, algorithm, ranks, self.words)
                })?);
            }
        }
        let bytes = 8 * self.words;
        let (name, per_node) = (self.collective.name(), self.job.ranks_per_node);
        let title = format!("{name} of {bytes} bytes, {per_node} ranks per node");
        let panel = panel(format!("simulated {title}"), &rows);
        self.output.show(&title, &table(&rows), &rows, &[panel])
    }

    fn chosen(&self, setup: &Setup, ranks: u32) -> Result<Vec<&'static Algorithm>, String> {
        let all = || algorithms(setup, self.collective, ranks);
        if self.algorithms.is_empty() {
            return Ok(all().collect());
        }
        let find = |name: &String| {
            all().find(|algorithm| algorithm.name == name).ok_or_else(|| {
                let known: Vec<&str> = all().map(|algorithm| algorithm.name).collect();
                let known = known.join(", ");
                format!("alhena: choosing an algorithm failed\n  seen: {ranks} ranks have no {name}\n  next: choose from {known}")
            })
        };
        self.algorithms.iter().filter(|name| *name != BY_TABLE).map(find).collect()
    }

    fn wants(&self, name: &str) -> bool {
        self.algorithms.is_empty() || self.algorithms.iter().any(|wanted| wanted == name)
    }
}

/// An algorithm with what a row of the table gives it.
fn way(choice: &Choice) -> String {
    let mut way = choice.algorithm.get().name.to_string();
    if choice.segments > 1 {
        way += &format!(" in {}", choice.segments);
    }
    if choice.fanout > 0 {
        way += &format!(", radix {}", choice.fanout);
    }
    way
}

/// A halo exchange.
#[derive(Args)]
pub struct Halo {
    /// Bytes of one face
    #[arg(long, default_value_t = 4096)]
    face: usize,
    /// Dimensions of the grid of ranks
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=3))]
    dimensions: u8,
    #[command(flatten)]
    job: Job,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

impl Halo {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let setup = self.machine.nodes(self.job.table(), self.job.ranks_per_node)?;
        let dimensions = if self.dimensions == 3 { Dimensions::Three } else { Dimensions::Two };
        let mut rows = Vec::new();
        for &ranks in &self.job.ranks {
            rows.push(watched(&setup, ranks, "halo", |setup| halo(setup, ranks, dimensions, self.face))?);
        }
        let title = format!(
            "{}-D halo exchange, faces of {} bytes, {} ranks per node",
            self.dimensions, self.face, self.job.ranks_per_node
        );
        let panel = panel(format!("simulated {title}"), &rows);
        self.output.show(&title, &table(&rows), &rows, &[panel])
    }
}
