//! `alhena bench` without a topic: the papers' point-to-point modes.

use clap::Args;

use crate::campaign::{self, Options, Subject};
use crate::error::Error;
use crate::modes::{self, Mode};

/// What to measure.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// What to measure: pingpong, preposted, bidirectional, streaming, rate, ring, persistent-pingpong, persistent-both,
    /// threads-1, threads-2, threads-4
    /// [default: the first five; between hosts those that sockets can do]
    #[arg(long, value_delimiter = ',', value_name = "MODE")]
    modes: Vec<String>,
    /// Ranks of the ring (the others take two)
    #[arg(long, default_value_t = 2)]
    ranks: u32,
    /// Smallest message in bytes
    #[arg(long, default_value_t = 1)]
    min: u64,
    /// Largest message in bytes
    #[arg(long, default_value_t = 8 << 20)]
    max: u64,
    /// Measure also this many bytes below and above each power of two
    #[arg(long, default_value_t = 0)]
    perturb: u64,
}

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let hosts = &arguments.options.hosts;
    let names = match arguments.modes.as_slice() {
        [] => modes::PAPERS
            .into_iter()
            .filter(|mode| !hosts.are_given() || hosts.raw(mode).is_some())
            .map(String::from)
            .collect(),
        chosen => chosen.to_vec(),
    };
    let modes = modes::named(&names, &modes::POINT_TO_POINT)?;
    let subject = |mode: &'static Mode| Subject {
        mode,
        ranks: if mode.pair { 2 } else { arguments.ranks },
        of: None,
        options: if mode.sized { sizes(arguments) } else { Vec::new() },
    };
    campaign::run(&arguments.options, &modes.into_iter().map(subject).collect::<Vec<_>>())
}

fn sizes(arguments: &Arguments) -> Vec<String> {
    let limits = [("--min", arguments.min), ("--max", arguments.max), ("--perturb", arguments.perturb)];
    limits.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]).collect()
}
