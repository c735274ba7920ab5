//! `alhena bench datatypes`: data with holes, sent as derived datatypes, and packed beside loops written by hand.

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
    /// What: send, pack, unpack
    #[arg(long, value_delimiter = ',', value_name = "NAME", default_values_t = ["send", "pack", "unpack"].map(String::from))]
    measures: Vec<String>,
    /// Shapes of the data: vector-2, vector-16, column, face, struct, indexed, rows
    /// [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    shapes: Vec<String>,
    /// Smallest payload in bytes; sizes are powers of four from 4096 on
    #[arg(long, default_value_t = 4 << 10)]
    min: u64,
    /// Largest payload in bytes
    #[arg(long, default_value_t = 4 << 20)]
    max: u64,
}

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let measures = modes::named(&arguments.measures, &modes::DATATYPES)?;
    let shapes: Vec<&str> = match &arguments.shapes[..] {
        [] => modes::SHAPES.to_vec(),
        chosen => chosen.iter().map(|name| known(name)).collect::<Result<_, _>>()?,
    };
    let subject = |mode: &'static Mode, shape: &str| Subject {
        mode,
        ranks: 2,
        of: Some(shape.to_string()),
        options: options(arguments, shape),
    };
    let subjects: Vec<Subject> =
        measures.iter().flat_map(|mode| shapes.iter().map(|shape| subject(mode, shape))).collect();
    campaign::run(&arguments.options, &subjects)
}

fn known(name: &str) -> Result<&'static str, Error> {
    let known = || modes::SHAPES.join(", ");
    let found = modes::SHAPES.into_iter().find(|shape| *shape == name);
    found.ok_or_else(|| Error::NoMode { name: name.into(), known: known() })
}

fn options(arguments: &Arguments, shape: &str) -> Vec<String> {
    let limits = [("--min", arguments.min), ("--max", arguments.max)];
    let sizes = limits.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]);
    ["--shape".to_string(), shape.to_string()].into_iter().chain(sizes).collect()
}
