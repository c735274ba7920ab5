//! `alhena bench one-sided`: puts, gets, accumulates and the ways to synchronise of windows.

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
    /// Which: put, put-computing (the target makes no call meanwhile), get, light-put and light-get (alhena.h),
    /// gather and light-gather, messages (Isend and Irecv), accumulate, get_accumulate, fetch_and_op,
    /// compare_and_swap, lock-put-unlock, fence, post-start-complete-wait
    /// [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    operations: Vec<String>,
    /// Numbers of ranks; those beyond the processors show how ranks share them
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [2])]
    ranks: Vec<u32>,
    /// Smallest size in bytes, at least 8
    #[arg(long, default_value_t = 8)]
    min: u64,
    /// Largest size in bytes
    #[arg(long, default_value_t = 1 << 20)]
    max: u64,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 8)]
    factor: u64,
}

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let chosen: Vec<&'static Mode> = match &arguments.operations[..] {
        [] => modes::ONE_SIDED.iter().collect(),
        names => modes::named(names, &modes::ONE_SIDED)?,
    };
    let subject = |mode: &'static Mode, ranks: u32| Subject {
        mode,
        ranks,
        of: None,
        options: options(arguments, mode),
    };
    let subjects: Vec<Subject> =
        chosen.iter().flat_map(|mode| arguments.ranks.iter().map(|&ranks| subject(mode, ranks))).collect();
    campaign::run(&arguments.options, &subjects)
}

fn options(arguments: &Arguments, mode: &Mode) -> Vec<String> {
    let limits = [("--min", arguments.min.max(8)), ("--max", arguments.max), ("--factor", arguments.factor)];
    let sizes = limits.iter().filter(|_| mode.sized);
    sizes.flat_map(|(name, value)| [name.to_string(), value.to_string()]).collect()
}
