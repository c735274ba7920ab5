//! `alhena sim memory`: registered bytes of a rank against the size of the job.

use std::error::Error;

use clap::Args;
use figures::curves::{Curve, Over, Panel};
use serde::Serialize;
use sim::experiments::{Pattern, Registered, SendMethod, registered};

use super::machine::{CostTable, Machine};
use super::output::{Output, row};

const PATTERNS: [(Pattern, &str); 3] = [
    (Pattern::AllToAll, "all to all"),
    (Pattern::Nearest, "nearest neighbours"),
    (Pattern::Random16, "16 random peers"),
];
const WAYS: [(SendMethod, &str); 3] =
    [(SendMethod::Smsg, "SMSG only"), (SendMethod::EagerGet, "Eager GET"), (SendMethod::Msgq, "MSGQ")];

/// Registered memory of one rank.
#[derive(Args)]
pub struct Memory {
    /// Sizes of the job
    #[arg(long, value_delimiter = ',', default_values_t = [64, 256, 1024, 4096, 16384, 49152])]
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
    pattern: &'static str,
    way: &'static str,
    ranks: u32,
    peers: u32,
    mailbox_bytes: u64,
    buffer_bytes: u64,
    queue_bytes: u64,
    bytes: u64,
}

impl Memory {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let setup = self.machine.nodes(CostTable::Fitted, self.ranks_per_node)?;
        let mut rows = Vec::new();
        for (pattern, pattern_name) in PATTERNS {
            for &ranks in &self.ranks {
                for (way, way_name) in WAYS {
                    eprintln!("simulating {pattern_name} by {way_name} on {ranks} ranks");
                    let found = registered(&setup, pattern, way, ranks)?;
                    rows.push(Row::new(pattern_name, way_name, ranks, &found));
                }
            }
        }
        let title = format!(
            "registered bytes of a rank, messages of 1 KiB, {} ranks per node; pools of Eager GET at their largest",
            self.ranks_per_node
        );
        self.output.show(&title, &table(&rows), &rows, &panels(&rows))
    }
}

impl Row {
    fn new(pattern: &'static str, way: &'static str, ranks: u32, found: &Registered) -> Row {
        Row {
            pattern,
            way,
            ranks,
            peers: found.peers,
            mailbox_bytes: found.mailboxes,
            buffer_bytes: found.buffers,
            queue_bytes: found.queue,
            bytes: found.bytes(),
        }
    }
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let head = row(["pattern", "way", "ranks", "peers", "mailboxes", "buffers", "queue share", "MiB in all"]);
    let line = |r: &Row| {
        let numbers = [u64::from(r.ranks), r.peers.into(), r.mailbox_bytes, r.buffer_bytes, r.queue_bytes];
        let names = [r.pattern.to_string(), r.way.to_string()];
        let all = format!("{:.2}", r.bytes as f64 / 1048576.0);
        names.into_iter().chain(numbers.map(|number| number.to_string())).chain([all]).collect()
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |(_, pattern): (Pattern, &str)| {
        let curve = |(_, way): (SendMethod, &str)| Curve {
            label: way.to_string(),
            points: rows
                .iter()
                .filter(|row| (row.pattern, row.way) == (pattern, way))
                .map(|row| (f64::from(row.ranks), row.bytes as f64))
                .collect(),
            joined: true,
        };
        Panel {
            title: format!("registered memory of a rank: {pattern}"),
            over: Over::Ranks,
            unit: "bytes",
            curves: WAYS.map(curve).into(),
        }
    };
    PATTERNS.map(panel).into()
}
