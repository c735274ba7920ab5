//! `alhena bench all`: every operation beside other MPIs, and the cells in which this one is behind.

use clap::Args;

use crate::campaign::{self, Options, Subject};
use crate::error::Error;
use crate::lost;
use crate::modes::{self, Mode};

/// What to measure.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Numbers of ranks of collectives
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [2])]
    ranks: Vec<u32>,
    /// Smallest message, vector or block in bytes
    #[arg(long, default_value_t = 8)]
    min: u64,
    /// Largest message, vector or block in bytes
    #[arg(long, default_value_t = 64 << 10)]
    max: u64,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 8)]
    factor: u64,
    /// Only operations with one of these in their names
    #[arg(long, value_delimiter = ',', value_name = "TEXT")]
    only: Vec<String>,
    /// How far behind the best other MPI a cell may be, in percent
    #[arg(long, default_value_t = 5.0)]
    behind: f64,
}

/// Measures, prints the cells that are behind, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    if !arguments.options.compares() {
        return Err(Error::NoOther);
    }
    let campaign = campaign::measure_all(&arguments.options, &subjects(arguments))?;
    let labels = campaign.labels();
    let cells = lost::cells(&labels, campaign.results());
    let limit = 1.0 + arguments.behind / 100.0;
    campaign.print_head();
    print!("{}", lost::table(&cells, limit));
    if let Some(path) = arguments.options.json() {
        campaign.write_json(path, Some(lost::report(&cells, limit)))?;
    }
    if let Some(stem) = arguments.options.picture() {
        lost::draw(stem, &cells)?;
    }
    campaign.outcome()
}

/// What other MPIs have as well: not the light calls, nor what measures a target that computes.
fn is_of_all(mode: &Mode) -> bool {
    !mode.name.starts_with("light-") && !matches!(mode.name, "put-computing" | "messages")
}

fn subjects(arguments: &Arguments) -> Vec<Subject> {
    let pairs = modes::POINT_TO_POINT.iter().chain(&modes::ONE_SIDED).map(|mode| (mode, vec![2]));
    let collectives = modes::COLLECTIVES.iter().map(|mode| (mode, arguments.ranks.clone()));
    let chosen = |mode: &Mode| {
        is_of_all(mode)
            && (arguments.only.is_empty()
                || arguments.only.iter().any(|text| mode.name.contains(text.as_str())))
    };
    let all = pairs.chain(collectives).filter(|(mode, _)| chosen(mode));
    let subject = |(mode, ranks): (&'static Mode, Vec<u32>)| {
        ranks.into_iter().map(move |ranks| Subject {
            mode,
            ranks,
            of: None,
            options: options(arguments, mode),
        })
    };
    all.flat_map(subject).collect()
}

fn options(arguments: &Arguments, mode: &Mode) -> Vec<String> {
    let limits = [("--min", arguments.min), ("--max", arguments.max), ("--factor", arguments.factor)];
    let sizes = limits.iter().filter(|_| mode.sized);
    sizes.flat_map(|(name, value)| [name.to_string(), value.to_string()]).collect()
}
