//! `alhena sim lammps` and `alhena sim amg`.

use std::error::Error;
use std::time::Instant;

use clap::Args;
use figures::curves::{Curve, Over, Panel};
use serde::Serialize;
use sim::experiments::{AmgPart, AmgWork, LAMMPS_COMPUTE, LAMMPS_PAPER, allreduce_algorithms, amg, lammps};

use super::machine::{CostTable, Machine};
use super::output::{Output, row};
use super::progress;

/// A skeleton of LAMMPS.
#[derive(Args)]
pub struct Lammps {
    /// Sizes of the job
    #[arg(long, value_delimiter = ',', default_values_t = [32, 64, 1024])]
    ranks: Vec<u32>,
    /// Ranks of one node
    #[arg(long, default_value_t = 16)]
    ranks_per_node: u32,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Row {
    ranks: u32,
    /// Seconds of 100 steps.
    loop_time: f64,
    /// Against computing alone.
    efficiency: f64,
    /// Share of the time in MPI.
    mpi: f64,
    /// Of that, in percent of the time.
    shares: Vec<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<&'static str>,
    /// Seconds that the simulation took.
    seconds: f64,
}

/// A function's share of the time.
#[derive(Clone, Serialize)]
struct Share {
    function: &'static str,
    percent: f64,
}

impl Share {
    fn of((function, share): (&'static str, f64)) -> Share {
        Share { function, percent: 100.0 * share }
    }
}

fn shown(shares: &[Share]) -> String {
    let shown = |Share { function, percent }: &Share| {
        format!("{} {percent:.1} %", function.trim_start_matches("MPI_"))
    };
    shares.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The shares of functions as mpiP's picture stacks them: each curve is all functions up to its own.
fn stacked<'a, R: 'a>(rows: &'a [R], of: impl Fn(&'a R) -> (u32, &'a [Share])) -> Vec<Curve> {
    let count = rows.first().map_or(0, |row| of(row).1.len());
    (0..count)
        .map(|top| {
            let point = |row| {
                let (ranks, shares) = of(row);
                (f64::from(ranks), shares[..=top].iter().map(|share| share.percent).sum())
            };
            let names =
                rows.first().map_or(Vec::new(), |row| of(row).1[..=top].iter().map(|s| s.function).collect());
            Curve { label: names.join(" + "), points: rows.iter().map(point).collect(), joined: true }
        })
        .collect()
}

/// The paper's figures of Open MPI.
const PAPER: [(u32, &str); 2] = [(32_768, "about 20 % in MPI"), (49_152, "95.65 s, 88.2 %")];

impl Lammps {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let setup = self.machine.nodes(CostTable::Fitted, self.ranks_per_node)?;
        let mut rows = Vec::new();
        for &ranks in &self.ranks {
            let start = Instant::now();
            let run = progress::shown(&setup, ranks, "LAMMPS", |setup| lammps(setup, ranks))?;
            rows.push(Row {
                ranks,
                loop_time: run.loop_time,
                efficiency: LAMMPS_COMPUTE / run.loop_time,
                mpi: run.mpi,
                shares: run.shares.map(Share::of).to_vec(),
                paper: PAPER.iter().find(|(of, _)| *of == ranks).map(|(_, says)| *says),
                seconds: start.elapsed().as_secs_f64(),
            });
        }
        let title = format!(
            "LAMMPS, Lennard-Jones, 256,000 atoms a rank, 100 steps; computing alone takes {LAMMPS_COMPUTE:.2} s, \
             jitter {} in {} parts",
            setup.software.jitter, setup.software.jitter_parts
        );
        let (of_paper, seconds, efficiency) = LAMMPS_PAPER;
        let panel = |title: &str, unit, of: fn(&Row) -> f64, paper| {
            let points = rows.iter().map(|row| (f64::from(row.ranks), of(row))).collect();
            let simulated = Curve { label: "simulated".into(), points, joined: true };
            let paper = Curve {
                label: "the paper".into(),
                points: vec![(f64::from(of_paper), paper)],
                joined: false,
            };
            Panel { title: title.to_string(), over: Over::Ranks, unit, curves: vec![simulated, paper] }
        };
        let loop_times = panel("LAMMPS: loop time", "s", |row| row.loop_time, seconds);
        let efficiencies =
            panel("LAMMPS: parallel efficiency", "%", |row| 100.0 * row.efficiency, 100.0 * efficiency);
        let curves = stacked(&rows, |row: &Row| (row.ranks, row.shares.as_slice()));
        let title_of_shares = "LAMMPS: share of the time in MPI, stacked".to_string();
        let shares = Panel { title: title_of_shares, over: Over::Ranks, unit: "%", curves };
        self.output.show(&title, &table(&rows), &rows, &[loop_times, efficiencies, shares])
    }
}

/// A skeleton of AMG2006.
#[derive(Args)]
pub struct Amg {
    /// Sizes of the job
    #[arg(long, value_delimiter = ',', default_values_t = [32, 64, 256])]
    ranks: Vec<u32>,
    /// Ranks of one node
    #[arg(long, default_value_t = 16)]
    ranks_per_node: u32,
    /// Algorithm of the allreduce
    #[arg(long, default_value = "hierarchical", value_name = "NAME")]
    allreduce: String,
    /// Milliseconds that a rank computes in an iteration; as long as in the live run if it is not given
    #[arg(long, default_value_t = 4.556)]
    compute: f64,
    /// Also simulate the set-up phase, and show the share of it and of so many iterations together
    #[arg(long, value_name = "COUNT")]
    iterations: Option<u32>,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct AmgRow {
    ranks: u32,
    /// Milliseconds of an iteration.
    iteration: f64,
    /// Points times iterations by seconds, 64,000 points a rank.
    figure_of_merit: f64,
    /// Share of the time in MPI.
    mpi: f64,
    shares: Vec<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_up: Option<AmgShares>,
    /// The set-up and all iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<AmgShares>,
    /// Seconds that the simulation took.
    seconds: f64,
}

/// A part of a run.
#[derive(Serialize)]
struct AmgShares {
    milliseconds: f64,
    /// Share of the time in MPI.
    mpi: f64,
    shares: Vec<Share>,
}

impl AmgShares {
    fn of(part: AmgPart) -> AmgShares {
        let shares = part.shares.map(Share::of).to_vec();
        AmgShares { milliseconds: part.time * 1e3, mpi: part.mpi, shares }
    }
}

/// Points of a rank in the recorded run.
const POINTS: f64 = 64_000.0;

impl Amg {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        if !(0.0..=1e6).contains(&self.compute) {
            return Err(format!(
                "alhena: reading the command line failed\n  seen: --compute {}\n  next: give milliseconds, as in \
                 --compute 0.5",
                self.compute
            )
            .into());
        }
        let setup = self.machine.nodes(CostTable::Fitted, self.ranks_per_node)?;
        let mut rows = Vec::new();
        for &ranks in &self.ranks {
            let found =
                allreduce_algorithms(&setup, ranks).find(|algorithm| algorithm.name == self.allreduce);
            let algorithm = found.ok_or_else(|| {
                let known: Vec<&str> = allreduce_algorithms(&setup, ranks).map(|algorithm| algorithm.name).collect();
                format!(
                    "alhena: choosing an algorithm failed\n  seen: {ranks} ranks have no {}\n  next: choose from {}",
                    self.allreduce,
                    known.join(", ")
                )
            })?;
            let start = Instant::now();
            let work = AmgWork { compute: self.compute / 1e3, iterations: self.iterations };
            let run = progress::shown(&setup, ranks, "AMG", |setup| amg(setup, algorithm, ranks, work))?;
            let AmgPart { time, mpi, shares } = run.iteration;
            rows.push(AmgRow {
                ranks,
                iteration: time * 1e3,
                figure_of_merit: POINTS * f64::from(ranks) / time,
                mpi,
                shares: shares[..2].iter().copied().map(Share::of).collect(),
                set_up: run.set_up.map(AmgShares::of),
                whole: run.whole.map(AmgShares::of),
                seconds: start.elapsed().as_secs_f64(),
            });
        }
        let iterations = self
            .iterations
            .map_or("solve phase".to_string(), |count| format!("set-up and {count} iterations"));
        let title = format!(
            "AMG2006, 3-D 7-point Laplace, {iterations}; computing alone takes {} ms an iteration, allreduce {}",
            self.compute, self.allreduce
        );
        let merit = Curve {
            label: format!("allreduce {}", self.allreduce),
            points: rows.iter().map(|row| (f64::from(row.ranks), row.figure_of_merit)).collect(),
            joined: true,
        };
        let merit = Panel {
            title: "AMG: figure of merit".to_string(),
            over: Over::Ranks,
            unit: "1/s",
            curves: vec![merit],
        };
        let curves = stacked(&rows, |row: &AmgRow| {
            (row.ranks, row.whole.as_ref().map_or(&row.shares, |whole| &whole.shares).as_slice())
        });
        let title_of_shares = "AMG: share of the time in MPI, stacked".to_string();
        let shares = Panel { title: title_of_shares, over: Over::Ranks, unit: "%", curves };
        self.output.show(&title, &amg_table(&rows), &rows, &[merit, shares])
    }
}

fn amg_table(rows: &[AmgRow]) -> Vec<Vec<String>> {
    let is_whole = rows.iter().any(|row| row.whole.is_some());
    let mut head = row(["ranks", "iteration ms", "figure of merit", "in MPI", "of that", "took s"]);
    if is_whole {
        head.extend(row(["set-up ms", "in MPI", "of that", "whole run ms", "in MPI", "of that"]));
    }
    let part = |part: &AmgShares| {
        [format!("{:.1}", part.milliseconds), format!("{:.1} %", 100.0 * part.mpi), shown(&part.shares)]
    };
    let line = |r: &AmgRow| {
        let mut line = vec![
            r.ranks.to_string(),
            format!("{:.3}", r.iteration),
            format!("{:.3e}", r.figure_of_merit),
            format!("{:.1} %", 100.0 * r.mpi),
            shown(&r.shares),
            format!("{:.2}", r.seconds),
        ];
        line.extend(r.set_up.iter().chain(&r.whole).flat_map(part));
        line
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let head = row(["ranks", "loop s", "efficiency", "in MPI", "of that", "paper", "took s"]);
    let line = |r: &Row| {
        vec![
            r.ranks.to_string(),
            format!("{:.2}", r.loop_time),
            format!("{:.1} %", 100.0 * r.efficiency),
            format!("{:.1} %", 100.0 * r.mpi),
            shown(&r.shares),
            r.paper.unwrap_or_default().to_string(),
            format!("{:.2}", r.seconds),
        ]
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}
