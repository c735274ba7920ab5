//! `alhena sim replay`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use sim::Setup;
use sim::experiments::{Replayed, Share, replay};
use sim::replay::Job;

use super::machine::{CostTable, Machine};
use super::output::{Output, percent, row};

/// A recorded run, played again.
#[derive(Args)]
pub struct Replay {
    /// The folder that mpiexec -record has written
    #[arg(value_name = "DIR")]
    recording: PathBuf,
    /// As many such jobs side by side, with the collectives of the world over all of them
    #[arg(long, default_value_t = 1)]
    copies: u32,
    /// Ranks of one node; those of the recording if it is not given
    #[arg(long)]
    ranks_per_node: Option<u32>,
    /// Processors of a node for which its ranks wait; each has its own if it is not given
    #[arg(long)]
    cores: Option<u32>,
    /// End with an error if the replayed time of the loop is off the live one by more than this share
    #[arg(long, value_name = "SHARE")]
    within: Option<f64>,
    #[command(flatten)]
    pub(super) machine: Machine,
    #[command(flatten)]
    output: Output,
}

/// Everything that was found.
#[derive(Serialize)]
struct Figures {
    ranks: u32,
    whole_live: f64,
    whole_replayed: f64,
    longest_live: f64,
    longest_replayed: f64,
    functions: Vec<Row>,
    /// Standard deviation of phases of computing, as a share of their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    unevenness: Option<f64>,
    /// Seconds that the simulation took.
    seconds: f64,
}

#[derive(Serialize)]
struct Row {
    name: String,
    calls: u64,
    live: f64,
    replayed: f64,
}

impl Replay {
    /// Replays and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let job = Arc::new(Job::read(&self.recording)?);
        for (name, calls) in job.unknown() {
            eprintln!("{name} ({calls} calls) is replayed as computing");
        }
        let ranks_per_node = self.ranks_per_node.unwrap_or(job.ranks());
        let setup = self.machine.nodes(CostTable::Fitted, ranks_per_node)?;
        let setup = Setup { cores: self.cores.filter(|&cores| cores > 0), ..setup };
        let start = Instant::now();
        let Replayed { whole, longest, shares, .. } = replay(&setup, &job, self.copies)?;
        let seconds = start.elapsed().as_secs_f64();
        let ranks = job.ranks() * self.copies.max(1);
        let unevenness = job.unevenness();
        let uneven = unevenness
            .map_or(String::new(), |share| format!("; phases of computing vary by {:.2} %", 100.0 * share));
        let title = format!(
            "{} ranks, recorded on {}; from MPI_Init to MPI_Finalize {:.3} s live, {:.3} s replayed ({}); the longest time \
             between barriers {:.3} s live, {:.3} s replayed ({}){uneven}; took {seconds:.1} s",
            ranks,
            job.ranks(),
            whole[0],
            whole[1],
            percent(off(whole)),
            longest[0],
            longest[1],
            percent(off(longest)),
        );
        let rows: Vec<Row> = shares.iter().map(as_row).collect();
        let table = table(&rows, whole);
        let figures = Figures {
            ranks,
            whole_live: whole[0],
            whole_replayed: whole[1],
            longest_live: longest[0],
            longest_replayed: longest[1],
            functions: rows,
            unevenness,
            seconds,
        };
        self.output.show(&title, &table, &figures, &[])?;
        match self.within {
            Some(most) if off(longest).abs() > most => Err(format!(
                "alhena: comparing the replay with the live run failed\n  seen: the loop is {} off\n  next: look at which \
                 function differs, and at what else ran while it was recorded",
                percent(off(longest))
            )
            .into()),
            _ => Ok(()),
        }
    }
}

fn off([live, replayed]: [f64; 2]) -> f64 {
    if live > 0.0 { replayed / live - 1.0 } else { 0.0 }
}

fn as_row(share: &Share) -> Row {
    let [live, replayed] = share.seconds;
    Row { name: share.name.clone(), calls: share.calls, live, replayed }
}

fn table(rows: &[Row], whole: [f64; 2]) -> Vec<Vec<String>> {
    let head = row(["function", "calls", "live s", "of all", "replayed s", "of all"]);
    let share = |seconds: f64, whole: f64| format!("{:.1} %", 100.0 * seconds / whole.max(f64::MIN_POSITIVE));
    let line = |r: &Row| {
        vec![
            r.name.clone(),
            r.calls.to_string(),
            format!("{:.4}", r.live),
            share(r.live, whole[0]),
            format!("{:.4}", r.replayed),
            share(r.replayed, whole[1]),
        ]
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}
