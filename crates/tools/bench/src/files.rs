//! `alhena bench io`: files, by patterns that programs have, beside the system's own calls.

use std::path::{Path, PathBuf};

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
    /// Which: raw-write, raw-read (the system's calls alone), contiguous-write, contiguous-read, collective-write,
    /// collective-read, strided-write, strided-read, subarray-write, subarray-read, records, shared, ordered, open-close
    /// [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    patterns: Vec<String>,
    /// Numbers of ranks
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [2])]
    ranks: Vec<u32>,
    /// Folder in which the file lies [default: /dev/shm if it is there, else the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Smallest size in bytes [default: each pattern has its own]
    #[arg(long)]
    min: Option<u64>,
    /// Largest size in bytes [default: each pattern has its own]
    #[arg(long)]
    max: Option<u64>,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 8)]
    factor: u64,
}

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let chosen: Vec<&'static Mode> = match &arguments.patterns[..] {
        [] => modes::FILES.iter().collect(),
        names => modes::named(names, &modes::FILES)?,
    };
    let options = options(arguments);
    let subject =
        |mode: &'static Mode, ranks: u32| Subject { mode, ranks, of: None, options: options.clone() };
    let subjects: Vec<Subject> =
        chosen.iter().flat_map(|mode| arguments.ranks.iter().map(|&ranks| subject(mode, ranks))).collect();
    campaign::run(&arguments.options, &subjects)
}

fn options(arguments: &Arguments) -> Vec<String> {
    let folder = arguments.folder.clone().unwrap_or_else(usual_folder);
    let mut all = vec!["--where".to_owned(), folder.to_string_lossy().into_owned()];
    let limits = [("--min", arguments.min), ("--max", arguments.max), ("--factor", Some(arguments.factor))];
    for (name, value) in limits {
        all.extend(value.into_iter().flat_map(|value| [name.to_owned(), value.to_string()]));
    }
    all
}

/// In memory, where a disk does not hide what the library costs.
fn usual_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}
