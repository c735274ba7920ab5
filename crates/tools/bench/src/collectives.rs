//! `alhena bench collectives`: the time of each collective operation, for several numbers of ranks.

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
    /// Which: barrier, bcast, reduce, allreduce, reduce_scatter_block, scan, gather, scatter, allgather, alltoall
    /// [default: these]; reduce_scatter, exscan, gatherv, scatterv, allgatherv, alltoallv, alltoallw,
    /// neighbor_allgather, neighbor_alltoall; ibarrier, ibcast, ireduce, iallreduce, igather, iscatter, iallgather,
    /// ialltoall; persistent: pbarrier, pbcast, preduce, pallreduce, preduce_scatter_block, pscan, pgather, pscatter,
    /// pallgather, pallgatherv, palltoall, palltoallv, palltoallw
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
    /// A barrier before each call, and the mean of the ranks' times in it, as OSU's programs do it
    #[arg(long)]
    paced: bool,
}

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let chosen = if arguments.collectives.is_empty() {
        modes::named(&modes::REGULAR.map(String::from), &modes::COLLECTIVES)?
    } else {
        modes::named(&arguments.collectives, &modes::COLLECTIVES)?
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
    let limits = [("--min", arguments.min), ("--max", arguments.max), ("--factor", arguments.factor)];
    let sizes = limits.iter().filter(|_| mode.sized);
    let paced = [("--paced", 1)];
    let all = sizes.chain(paced.iter().filter(|_| arguments.paced));
    all.flat_map(|(name, value)| [name.to_string(), value.to_string()]).collect()
}
