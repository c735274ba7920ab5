//! `alhena bench pop`: an application-like loop, a nine-point halo exchange and a small allreduce per iteration, with
//! each algorithm of allreduce.

use clap::Args;

use crate::campaign::{self, Options, Subject, Variant};
use crate::error::Error;
use crate::modes::POP;

/// What to measure.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Numbers of ranks
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [2, 4, 8, 16])]
    ranks: Vec<u32>,
    /// Shortest edge of a rank's block in bytes, eight for each number
    #[arg(long, default_value_t = 64)]
    min: u64,
    /// Longest edge
    #[arg(long, default_value_t = 1024)]
    max: u64,
}

macro_rules! variants {
    ($($name:literal),*) => {
        [Variant::PLAIN, $(Variant::new($name, &["--mca", "coll_tuned_allreduce_algorithm", $name])),*]
    };
}

/// What the table chooses, beside the four algorithms of the paper.
static VARIANTS: [Variant; 5] = variants!["recursive_doubling", "ring", "tree", "linear"];

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let options: Vec<String> =
        ["--min".into(), arguments.min.to_string(), "--max".into(), arguments.max.to_string()].into();
    let subject = |&ranks: &u32| Subject { mode: &POP, ranks, of: None, options: options.clone() };
    let subjects: Vec<Subject> = arguments.ranks.iter().map(subject).collect();
    campaign::compare(&arguments.options, &subjects, &VARIANTS)
}
