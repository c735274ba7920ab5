//! `alhena tune`: times every algorithm of the collectives on this machine and writes the choice as a rule file.
//!
//! ```text
//!   for each number of ranks, collective, round, algorithm (and segment), and for what the table chooses
//!       run the collective with the algorithm forced, over all sizes      the best of the rounds counts
//!   for each size the fastest, or no rule where the table's choice is nearly as fast;
//!   neighbouring sizes with the same choice make one rule
//! ```

use std::fmt::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use coll::Coll;
use coll::algorithms::registry::{self, Algorithm, Memory};
use coll::tuned::{Placement, Query, RuleTable, WIDE, can_use};
use hardware::{CpuSet, Topology, Unit};

use crate::campaign::WorkFolder;
use crate::error::Error;
use crate::hosts::Hosts;
use crate::modes::{self, Mode};
use crate::mpi::{Mpi, processors};
use crate::prefix;

/// What to measure, and where the table goes.
#[derive(Args)]
pub struct Arguments {
    /// File to write
    #[arg(long, value_name = "FILE", default_value = "alhena-tuned.toml")]
    output: PathBuf,
    /// The installation to measure [default: the one this program is in]
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<PathBuf>,
    /// Which: bcast, reduce, allreduce, scan, gather, scatter, allgather, alltoall, barrier, reduce_scatter_block
    /// [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    collectives: Vec<String>,
    /// Numbers of ranks; a rule serves those up to its own and above the one before
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [2, 4, 8])]
    ranks: Vec<u32>,
    /// Smallest vector or block in bytes
    #[arg(long, default_value_t = 8)]
    min: u64,
    /// Largest vector or block in bytes
    #[arg(long, default_value_t = 4 << 20)]
    max: u64,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 4)]
    factor: u64,
    /// Rounds; the best counts
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds spent on one size in one round
    #[arg(long, default_value_t = 0.01)]
    seconds: f64,
    /// Seconds after which a run is taken to hang
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    #[command(flatten)]
    hosts: Hosts,
}

/// One way to do a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    /// `None`: what the table chooses.
    algorithm: Option<&'static str>,
    /// Bytes; 0: not cut.
    segment: u64,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.algorithm, self.segment) {
            (None, _) => write!(f, "the table's choice"),
            (Some(name), 0) => write!(f, "{name}"),
            (Some(name), segment) => write!(f, "{name} in segments of {segment} bytes"),
        }
    }
}

/// What takes no more than so many times the fastest is as good: nothing is written where the table's choice is.
const ALIKE: f64 = 1.05;

/// Segments tried of algorithms that can be cut.
const SEGMENTS: [u64; 3] = [0, 32 << 10, 128 << 10];

/// Measures and writes the table.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let own = arguments.prefix.clone().or_else(prefix::of_this_program).ok_or(Error::NoPrefix)?;
    let modes = chosen(arguments)?;
    let (mpi, work) = (Mpi::at(&own)?, WorkFolder::new(&arguments.hosts.work())?);
    let program = work.program(modes[0].1, 0);
    mpi.compile(&prefix::kernels(&own).join("collectives.c"), &program)?;

    let place = match arguments.hosts.names.as_slice() {
        [] => format!("on {} processors", processors()),
        names => format!("on {}", names.join(", ")),
    };
    let mut text = format!("# By `alhena tune` {place}; for the parameter coll_tuned_rules.\n");
    let mut count = 0;
    for (coll, mode) in modes {
        writeln!(text, "\n[{}]\nrules = [", coll.name()).expect("a string takes text");
        let mut below = 0;
        for &ranks in &arguments.ranks {
            let placement = placement(&arguments.hosts, ranks);
            let best = measure(arguments, &own, &program, coll, mode, ranks, placement)?;
            let place = match placement {
                Placement::Node { oversubscribed: true } => "oversubscribed",
                Placement::Node { oversubscribed: false } if query(coll, ranks, 0, placement).caches => {
                    "caches"
                }
                Placement::Node { oversubscribed: false } => "node",
                Placement::Spread => "spread",
                Placement::Cluster => "cluster",
            };
            let ranks_text =
                if below + 1 >= ranks { format!("{ranks}") } else { format!("{}..{ranks}", below + 1) };
            count += rules(&best, &ranks_text, place, &mut text);
            below = ranks;
        }
        text.push_str("]\n");
    }
    // What is written can be read.
    RuleTable::parse(&text).map_err(|error| Error::Table(error.to_string()))?;
    figures::write(&arguments.output, &text)?;
    let path = arguments.output.display();
    if count == 0 {
        println!("wrote {path}, without rules: what the library chooses by itself is as fast as the fastest");
    } else {
        println!("wrote {path}: {count} rules\n  use it: mpiexec --mca coll_tuned_rules {path} …");
    }
    Ok(())
}

/// The collectives and their measurements.
fn chosen(arguments: &Arguments) -> Result<Vec<(Coll, &'static Mode)>, Error> {
    let modes = match arguments.collectives.as_slice() {
        [] => modes::named(&modes::REGULAR.map(String::from), &modes::COLLECTIVES)?,
        names => modes::named(names, &modes::COLLECTIVES)?,
    };
    Ok(modes.into_iter().filter_map(|mode| Coll::from_name(mode.name).map(|coll| (coll, mode))).collect())
}

/// How so many ranks lie on the hosts, a block of them on each.
fn placement(hosts: &Hosts, ranks: u32) -> Placement {
    match hosts.names.len() as u32 {
        0 | 1 => Placement::Node { oversubscribed: ranks as usize > processors() },
        hosts if ranks <= hosts => Placement::Spread,
        _ => Placement::Cluster,
    }
}

/// For each size, in ascending order, the fastest way. One that fails is left out.
fn measure(
    arguments: &Arguments,
    prefix: &std::path::Path,
    program: &std::path::Path,
    coll: Coll,
    mode: &Mode,
    ranks: u32,
    placement: Placement,
) -> Result<Vec<(u64, Candidate)>, Error> {
    let mut ways = candidates(coll, ranks, placement);
    let mut times: Vec<(u64, Candidate, f64)> = Vec::new();
    for round in 1..=arguments.rounds {
        for (number, candidate) in ways.clone().into_iter().enumerate() {
            let (count, rounds) = (ways.len(), arguments.rounds);
            let number = number + 1;
            let coll_name = coll.name();
            eprintln!(
                "{coll_name}, {ranks} ranks, round {round} of {rounds}, {number} of {count}: {candidate}"
            );
            let settings = settings(coll, &candidate);
            let mpi = Mpi::at(prefix)?.on(&arguments.hosts).with_settings(
                candidate.algorithm.unwrap_or("table"),
                &settings.iter().map(String::as_str).collect::<Vec<_>>(),
            );
            let limit = Duration::from_secs(arguments.timeout);
            let lines = match mpi.run(ranks, program, &options(arguments, mode), limit) {
                Ok(lines) => lines,
                // Without the table's choice there is nothing to compare with.
                Err(error) if candidate.algorithm.is_none() => return Err(error),
                Err(error) => {
                    eprintln!("{error}\nalhena: {coll_name} goes on without {candidate}");
                    ways.retain(|way| *way != candidate);
                    times.retain(|(_, way, _)| *way != candidate);
                    continue;
                }
            };
            for line in lines {
                let query = query(coll, ranks, line.bytes, placement);
                let usable = candidate.algorithm.is_none_or(|name| {
                    registry::find(coll, name).is_some_and(|algorithm| can_use(algorithm.get(), &query))
                });
                let known =
                    times.iter_mut().find(|(bytes, way, _)| (*bytes, *way) == (query.bytes, candidate));
                match known {
                    _ if !usable => {}
                    None => times.push((query.bytes, candidate, line.value)),
                    Some(known) => known.2 = known.2.min(line.value),
                }
            }
        }
    }
    Ok(fastest(times))
}

/// For each size the fastest way, or the table's where that is nearly as fast.
fn fastest(mut times: Vec<(u64, Candidate, f64)>) -> Vec<(u64, Candidate)> {
    times.sort_by(|one, next| one.0.cmp(&next.0).then(one.2.total_cmp(&next.2)));
    let best = times.chunk_by(|one, next| one.0 == next.0).map(|ways| {
        let (bytes, first, least) = ways[0];
        let table = ways.iter().find(|(_, way, _)| way.algorithm.is_none());
        (bytes, table.filter(|(_, _, time)| *time <= ALIKE * least).map_or(first, |(_, way, _)| *way))
    });
    best.collect()
}

fn options(arguments: &Arguments, mode: &Mode) -> Vec<String> {
    let numbers = [("--min", arguments.min), ("--max", arguments.max), ("--factor", arguments.factor)];
    let sizes = numbers.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]);
    let all = mode.options.iter().map(|option| option.to_string());
    all.chain(["--seconds".into(), arguments.seconds.to_string()]).chain(sizes).collect()
}

/// What the table chooses, and every algorithm that some call can use where the ranks are, with segments where it can be cut.
fn candidates(coll: Coll, ranks: u32, placement: Placement) -> Vec<Candidate> {
    // Other processors of the node change what is fastest, not what can be used.
    let placement = match placement {
        Placement::Node { .. } => Placement::Node { oversubscribed: false },
        between => between,
    };
    let usable = |algorithm: &Algorithm| can_use(algorithm, &query(coll, ranks, 0, placement));
    let forced = registry::of(coll).filter(|(_, algorithm)| usable(algorithm)).flat_map(|(_, algorithm)| {
        let cut = algorithm.needs.segments && algorithm.needs.memory != Memory::BounceBuffers;
        let segments = if cut { &SEGMENTS[..] } else { &SEGMENTS[..1] };
        segments.iter().map(|&segment| Candidate { algorithm: Some(algorithm.name), segment })
    });
    std::iter::once(Candidate { algorithm: None, segment: 0 }).chain(forced).collect()
}

/// The call that is measured, as the library sees it.
fn query(coll: Coll, ranks: u32, bytes: u64, placement: Placement) -> Query {
    let has_cores = placement == Placement::Node { oversubscribed: false };
    Query {
        bytes: if matches!(coll, Coll::ReduceScatter | Coll::ReduceScatterBlock) {
            bytes * u64::from(ranks)
        } else {
            bytes
        },
        element: 8,
        near: ranks == 2 && has_cores,
        caches: ranks > WIDE && has_cores && spans_caches(),
        ..Query::new(coll, ranks, placement)
    }
}

/// Whether this machine has several last-level caches or memory nodes.
fn spans_caches() -> bool {
    let machine = Topology::new(CpuSet::allowed());
    [Unit::L3, Unit::Numa].into_iter().any(|unit| machine.units(unit).len() > 1)
}

fn settings(coll: Coll, candidate: &Candidate) -> Vec<String> {
    let Some(algorithm) = candidate.algorithm else { return vec![] };
    let name = |what: &str| format!("coll_tuned_{}_{what}", coll.name());
    let mut words: Vec<String> = ["--mca", "coll_tuned_fallback", "true", "--mca"].map(String::from).into();
    // Sizes that an algorithm cannot do are left out of the comparison afterwards.
    words.extend([name("algorithm"), algorithm.to_string()]);
    if candidate.segment > 0 {
        words.extend(["--mca".to_string(), name("segment"), candidate.segment.to_string()]);
    }
    words
}

/// One line for each run of sizes with the same choice, but for the table's; how many. The last one has no end.
fn rules(best: &[(u64, Candidate)], ranks: &str, place: &str, text: &mut String) -> usize {
    let runs: Vec<&[(u64, Candidate)]> = best.chunk_by(|one, next| one.1 == next.1).collect();
    let mut from = 0;
    let mut count = 0;
    for (index, run) in runs.iter().enumerate() {
        // Half-way to the next size that was measured, on the logarithmic axis.
        let last = run[run.len() - 1].0;
        let end = runs.get(index + 1).map(|next| ((last * next[0].0) as f64).sqrt() as u64);
        let begin = std::mem::replace(&mut from, end.map_or(0, |end| end + 1));
        let Candidate { algorithm: Some(algorithm), segment } = run[0].1 else { continue };
        count += 1;
        let mut row = format!("  {{ ranks = \"{ranks}\", on = \"{place}\"");
        match (begin, end) {
            (0, None) => {}
            (0, Some(end)) => row += &format!(", bytes = \"..{end}\""),
            (begin, None) => row += &format!(", bytes = \"{begin}..\""),
            (begin, Some(end)) => row += &format!(", bytes = \"{begin}..{end}\""),
        }
        row += &format!(", use = \"{algorithm}\"");
        if segment > 0 {
            row += &format!(", segment = \"{segment}\"");
        }
        writeln!(text, "{row} }},").expect("a string takes text");
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Placement = Placement::Node { oversubscribed: false };

    const fn way(algorithm: &'static str, segment: u64) -> Candidate {
        Candidate { algorithm: Some(algorithm), segment }
    }

    const TABLE: Candidate = Candidate { algorithm: None, segment: 0 };

    #[test]
    fn rules_can_be_read_and_choose_what_was_fastest() {
        let best = [
            (8, way("binomial", 0)),
            (64, way("binomial", 0)),
            (512, TABLE),
            (4096, way("chain", 32 << 10)),
            (1 << 20, way("chain", 32 << 10)),
        ];
        let mut text = "[bcast]\nrules = [\n".to_string();
        assert_eq!(rules(&best, "1..4", "node", &mut text), 2);
        text.push_str("]\n");
        let table = RuleTable::parse(&text).expect("it can be read").before(RuleTable::builtin());
        let name = |table: &RuleTable, bytes| {
            let choice = table.select(&query(Coll::Bcast, 4, bytes, NODE), &Default::default());
            choice.expect("a rule fits").algorithm.get().name
        };
        for (bytes, candidate) in best {
            let expected = candidate.algorithm.unwrap_or_else(|| name(&RuleTable::builtin(), bytes));
            assert_eq!(name(&table, bytes), expected, "{bytes} in\n{text}");
        }
    }

    #[test]
    fn the_table_decides_where_its_choice_is_nearly_as_fast() {
        let times = vec![
            (64, TABLE, 1.2),
            (8, way("binomial", 0), 1.0),
            (8, TABLE, 1.04),
            (64, way("chain", 0), 1.1),
            (64, way("binomial", 0), 1.0),
        ];
        assert_eq!(fastest(times), [(8, TABLE), (64, way("binomial", 0))]);
    }

    #[test]
    fn every_candidate_of_a_node_is_tried() {
        let names: Vec<_> =
            candidates(Coll::Allreduce, 4, NODE).iter().filter_map(|candidate| candidate.algorithm).collect();
        for name in ["recursive_doubling", "ring", "slots_flat", "bounce", "direct"] {
            assert!(names.contains(&name), "{name}");
        }
        assert!(!names.contains(&"inter"));
    }

    #[test]
    fn between_hosts_nothing_of_a_node_is_tried() {
        let hosts = Hosts { names: vec!["a".into(), "b".into()], launcher: None };
        assert_eq!([2, 4].map(|ranks| placement(&hosts, ranks)), [Placement::Spread, Placement::Cluster]);
        let names: Vec<_> = candidates(Coll::Allreduce, 4, Placement::Cluster)
            .iter()
            .filter_map(|candidate| candidate.algorithm)
            .collect();
        assert!(names.contains(&"hierarchical") && names.contains(&"ring"), "{names:?}");
        assert!(!names.contains(&"slots_flat") && !names.contains(&"direct"), "{names:?}");
    }
}
