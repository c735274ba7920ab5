//! `alhena bench collectives`: the time of each collective operation, for several numbers of ranks.

use clap::Args;

use super::campaign::{self, Options, Subject};
use super::error::Error;
use super::modes::{self, Mode};

/// What to measure.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Which: barrier, bcast, reduce, allreduce, reduce_scatter, scan, gather, scatter, allgather, alltoall
    /// [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    collectives: Vec<String>,
    /// Numbers of ranks; those beyond the processors show how ranks share them
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [2, 4, 8, 16])]
    ranks: Vec<u32>,
    /// Smallest vector or block in bytes
    #[arg(long, default_value_t = 8)]
    min: u64,
    /// Largest vector or block in bytes
    #[arg(long, default_value_t = 4 << 20)]
    max: u64,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 2)]
    factor: u64,
}

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let chosen = if arguments.collectives.is_empty() {
        modes::COLLECTIVES.iter().collect()
    } else {
        modes::named(&arguments.collectives, &modes::COLLECTIVES)?
    };
    let subject = |mode: &'static Mode, ranks: u32| Subject {
        mode,
        ranks,
        of: None,
        options: if mode.sized { sizes(arguments) } else { Vec::new() },
    };
    let subjects: Vec<Subject> =
        chosen.iter().flat_map(|mode| arguments.ranks.iter().map(|&ranks| subject(mode, ranks))).collect();
    campaign::run(&arguments.options, &subjects)
}

fn sizes(arguments: &Arguments) -> Vec<String> {
    let limits = [("--min", arguments.min), ("--max", arguments.max), ("--factor", arguments.factor)];
    limits.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]).collect()
}
