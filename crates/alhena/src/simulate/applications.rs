//! `alhena sim lammps`.

use std::error::Error;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use sim::experiments::{LAMMPS_COMPUTE, lammps};

use super::machine::{Machine, Table};
use super::output::{Output, row};
use crate::bench::picture::{Curve, Over, Panel};

/// A skeleton of LAMMPS.
#[derive(Args)]
pub struct Lammps {
    /// Sizes of the job
    #[arg(long, value_delimiter = ',', default_values_t = [32, 64, 1024])]
    ranks: Vec<u32>,
    /// Ranks of one node
    #[arg(long, default_value_t = 16)]
    ranks_per_node: u32,
    /// Share of its time that a rank computes longer at most, drawn anew for each rank and step
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    imbalance: f64,
    #[command(flatten)]
    machine: Machine,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<&'static str>,
    /// Seconds that the simulation took.
    seconds: f64,
}

/// What the paper says of Open MPI.
const PAPER: [(u32, &str); 2] = [(32_768, "about 20 % in MPI"), (49_152, "95.65 s, 88.2 %")];

impl Lammps {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        if !(0.0..=10.0).contains(&self.imbalance) {
            return Err(format!(
                "alhena: reading the command line failed\n  seen: --imbalance {}\n  next: give a share from 0 to 10, \
                 as in --imbalance 0.1",
                self.imbalance
            )
            .into());
        }
        let setup = self.machine.nodes(Table::Fitted, self.ranks_per_node)?;
        let mut rows = Vec::new();
        for &ranks in &self.ranks {
            eprintln!("simulating LAMMPS on {ranks} ranks");
            let start = Instant::now();
            let run = lammps(&setup, ranks, self.imbalance)?;
            rows.push(Row {
                ranks,
                loop_time: run.loop_time,
                efficiency: LAMMPS_COMPUTE / run.loop_time,
                mpi: run.mpi,
                paper: PAPER.iter().find(|(of, _)| *of == ranks).map(|(_, says)| *says),
                seconds: start.elapsed().as_secs_f64(),
            });
        }
        let title = format!(
            "LAMMPS, Lennard-Jones, 256,000 atoms a rank, 100 steps; computing alone takes {LAMMPS_COMPUTE:.2} s, \
             imbalance {}",
            self.imbalance
        );
        let curve = Curve {
            label: "simulated".into(),
            points: rows.iter().map(|row| (f64::from(row.ranks), 100.0 * row.efficiency)).collect(),
            joined: true,
        };
        let title_of_panel = "LAMMPS: parallel efficiency".to_string();
        let panel = Panel { title: title_of_panel, over: Over::Ranks, unit: "%", curves: vec![curve] };
        self.output.show(&title, &table(&rows), &rows, &[panel])
    }
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let head = row(["ranks", "loop s", "efficiency", "in MPI", "paper", "took s"]);
    let line = |r: &Row| {
        vec![
            r.ranks.to_string(),
            format!("{:.2}", r.loop_time),
            format!("{:.1} %", 100.0 * r.efficiency),
            format!("{:.1} %", 100.0 * r.mpi),
            r.paper.unwrap_or_default().to_string(),
            format!("{:.2}", r.seconds),
        ]
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}
