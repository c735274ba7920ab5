//! `alhena bench protocols`: which protocol of the Gemini transport carries a message, and what that costs.
//!
//! Two ends of the real transport and of the message layer, over the software NIC, in this process: everything is
//! counted and nothing is timed, so the figures are the same on every machine.

mod forced;
mod pair;

use std::path::PathBuf;

use clap::Args;
use figures::aligned;
use figures::curves::{Curve, Over, Panel, draw};
use serde::Serialize;

use crate::error::Error;
use forced::Forced;
use pair::Cost;

/// What to count.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    /// Limits of the transport: the defaults, those of the paper's figures, or one protocol forced
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Forced::Default, Forced::Paper])]
    force: Vec<Forced>,
    /// Smallest message in bytes
    #[arg(long, default_value_t = 1)]
    min: usize,
    /// Largest message in bytes
    #[arg(long, default_value_t = 8 << 20)]
    max: usize,
    /// Bytes by which the receiver's buffer misses the alignment that a GET needs
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(..4))]
    misaligned: u8,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw STEM.svg and STEM.png
    #[arg(long, value_name = "STEM")]
    picture: Option<PathBuf>,
}

/// All messages under one set of limits.
#[derive(Serialize)]
struct Series {
    limits: &'static str,
    messages: Vec<Cost>,
}

/// Counts, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let series = arguments
        .force
        .iter()
        .map(|&forced| count(forced, arguments))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Error::Limits(error.to_string()))?;
    for Series { limits, messages } in &series {
        println!("limits: {limits}; both sides together, on a warm connection\n{}", table(messages));
    }
    if let Some(path) = &arguments.json {
        figures::write_json(path, &series)?;
    }
    if let Some(stem) = &arguments.picture {
        draw(stem, &panels(&series))?;
    }
    Ok(())
}

fn count(forced: Forced, arguments: &Arguments) -> Result<Series, btl_ugni::SetupError> {
    let params = forced.params();
    let sizes = sizes(arguments.min, arguments.max).into_iter();
    let messages = sizes.map(|bytes| pair::measure(&params, bytes, (0, arguments.misaligned.into())));
    Ok(Series { limits: forced.name(), messages: messages.collect::<Result<_, _>>()? })
}

/// Powers of two, and the ends.
fn sizes(min: usize, max: usize) -> Vec<usize> {
    let powers = (0..usize::BITS - 1).map(|power| 1 << power).filter(|size| (min..=max).contains(size));
    let mut sizes: Vec<usize> = [min].into_iter().chain(powers).chain([max]).collect();
    sizes.dedup();
    sizes
}

fn table(messages: &[Cost]) -> String {
    let head =
        ["bytes", "protocol", "control", "copies", "transfers", "registrations", "registered", "pools"];
    let mut rows = vec![head.map(str::to_string).to_vec()];
    rows.extend(messages.iter().map(|cost| {
        let numbers = [
            cost.control_messages,
            cost.copies,
            cost.transfers,
            cost.registrations,
            cost.registered_bytes,
            cost.pool_bytes,
        ];
        [cost.bytes.to_string(), cost.protocol.clone()]
            .into_iter()
            .chain(numbers.iter().map(u64::to_string))
            .collect()
    }));
    aligned(&rows)
}

/// One curve per set of limits. A value of 0 has no place on a logarithmic axis and is left out.
fn panels(series: &[Series]) -> Vec<Panel> {
    let panel = |title: &str, unit, value: fn(&Cost) -> u64| Panel {
        title: title.to_string(),
        over: Over::Bytes,
        unit,
        curves: series
            .iter()
            .map(|Series { limits, messages }| Curve {
                label: limits.to_string(),
                joined: true,
                points: messages
                    .iter()
                    .map(|cost| (cost.bytes as f64, value(cost) as f64))
                    .filter(|&(bytes, value)| bytes > 0.0 && value > 0.0)
                    .collect(),
            })
            .collect(),
    };
    vec![
        panel("Messages of the NIC per message", "messages", |cost| cost.messages),
        panel("Registered memory, both sides", "bytes", |cost| cost.registered_bytes + cost.pool_bytes),
        panel("Copies by processors", "copies", |cost| cost.copies),
        panel("Transfers by the NIC", "transfers", |cost| cost.transfers),
    ]
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn sizes_are_powers_and_the_ends() {
        assert_eq!(sizes(1, 8), [1, 2, 4, 8]);
        assert_eq!(sizes(3, 20), [3, 4, 8, 16, 20]);
        assert_eq!(sizes(0, 2), [0, 1, 2]);
    }
}
