//! `alhena tune`: times every algorithm of the collectives on this machine and writes the choice as a rule file.
//!
//! ```text
//!   for each number of ranks, collective, algorithm (and segment, fan-out)
//!       run the collective with the algorithm forced, over all sizes      the best of some rounds counts
//!   for each size the fastest; neighbouring sizes with the same choice make one rule
//! ```

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use coll::Coll;
use coll::algorithms::registry::{self, Algorithm, Memory};
use coll::tuned::{Placement, Query, Table, WIDE, can_use};
use hardware::{CpuSet, Topology, Unit};

use super::campaign::WorkFolder;
use super::error::Error;
use super::hosts::Hosts;
use super::modes::{self, Mode};
use super::mpi::{Mpi, processors};
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
    algorithm: &'static str,
    /// Bytes; 0: not cut.
    segment: u64,
}

/// Segments tried of algorithms that can be cut.
const SEGMENTS: [u64; 3] = [0, 32 << 10, 128 << 10];

/// Measures and writes the table.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let own = arguments.prefix.clone().or_else(prefix::of_this_program).ok_or(Error::NoPrefix)?;
    let modes = chosen(arguments)?;
    let (mpi, work) = (Mpi::at(&own)?, WorkFolder::new(&arguments.hosts.work())?);
    let program = work.program(modes[0].1, 0);
    mpi.compile(&prefix::kernels(&own).join("collectives.c"), &program)?;

    let mut text =
        format!("# By `alhena tune` on {} processors; for the parameter coll_tuned_rules.\n", processors());
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
            rules(&best, &ranks_text, place, &mut text);
            below = ranks;
        }
        text.push_str("]\n");
    }
    // What is written can be read.
    Table::parse(&text).map_err(|error| Error::Table(error.to_string()))?;
    fs::write(&arguments.output, text)
        .map_err(|error| Error::Write { path: arguments.output.clone(), error })?;
    println!("wrote {0}\n  use it: mpiexec --mca coll_tuned_rules {0} …", arguments.output.display());
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

/// For each size, in ascending order, the fastest way.
fn measure(
    arguments: &Arguments,
    prefix: &std::path::Path,
    program: &std::path::Path,
    coll: Coll,
    mode: &Mode,
    ranks: u32,
    placement: Placement,
) -> Result<Vec<(u64, Candidate)>, Error> {
    let mut best: Vec<(u64, Candidate, f64)> = Vec::new();
    for candidate in candidates(coll, ranks, placement) {
        let settings = settings(coll, &candidate);
        let mpi = Mpi::at(prefix)?
            .on(&arguments.hosts)
            .with_settings(candidate.algorithm, &settings.iter().map(String::as_str).collect::<Vec<_>>());
        eprintln!("{} {ranks} ranks: {} segment {}", coll.name(), candidate.algorithm, candidate.segment);
        for _ in 0..arguments.rounds {
            let limit = Duration::from_secs(arguments.timeout);
            for line in mpi.run(ranks, program, &options(arguments, mode), limit)? {
                let query = query(coll, ranks, line.bytes, placement);
                let usable = registry::find(coll, candidate.algorithm)
                    .is_some_and(|algorithm| can_use(algorithm.get(), &query));
                match best.iter_mut().find(|(bytes, ..)| *bytes == query.bytes) {
                    _ if !usable => {}
                    None => best.push((query.bytes, candidate, line.value)),
                    Some(known) if line.value < known.2 => *known = (query.bytes, candidate, line.value),
                    Some(_) => {}
                }
            }
        }
    }
    best.sort_by_key(|&(bytes, ..)| bytes);
    Ok(best.into_iter().map(|(bytes, candidate, _)| (bytes, candidate)).collect())
}

fn options(arguments: &Arguments, mode: &Mode) -> Vec<String> {
    let numbers = [("--min", arguments.min), ("--max", arguments.max), ("--factor", arguments.factor)];
    let sizes = numbers.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]);
    let all = mode.options.iter().map(|option| option.to_string());
    all.chain(["--seconds".into(), arguments.seconds.to_string()]).chain(sizes).collect()
}

/// Every algorithm that some call can use where the ranks are, with segments where it can be cut.
fn candidates(coll: Coll, ranks: u32, placement: Placement) -> Vec<Candidate> {
    // Other processors of the node change what is fastest, not what can be used.
    let placement = match placement {
        Placement::Node { .. } => Placement::Node { oversubscribed: false },
        between => between,
    };
    let usable = |algorithm: &Algorithm| can_use(algorithm, &query(coll, ranks, 0, placement));
    registry::of(coll)
        .filter(|(_, algorithm)| usable(algorithm))
        .flat_map(|(_, algorithm)| {
            let cut = algorithm.needs.segments && algorithm.needs.memory != Memory::BounceBuffers;
            let segments = if cut { &SEGMENTS[..] } else { &SEGMENTS[..1] };
            segments.iter().map(|&segment| Candidate { algorithm: algorithm.name, segment })
        })
        .collect()
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
    let name = |what: &str| format!("coll_tuned_{}_{what}", coll.name());
    let mut words: Vec<String> = ["--mca", "coll_tuned_fallback", "true", "--mca"].map(String::from).into();
    // Sizes that an algorithm cannot do are left out of the comparison afterwards.
    words.extend([name("algorithm"), candidate.algorithm.to_string()]);
    if candidate.segment > 0 {
        words.extend(["--mca".to_string(), name("segment"), candidate.segment.to_string()]);
    }
    words
}

/// One line for each run of sizes with the same choice; the last one has no end.
fn rules(best: &[(u64, Candidate)], ranks: &str, place: &str, text: &mut String) {
    let runs: Vec<&[(u64, Candidate)]> = best.chunk_by(|one, next| one.1 == next.1).collect();
    for (index, run) in runs.iter().enumerate() {
        let candidate = run[0].1;
        let mut row = format!("  {{ ranks = \"{ranks}\", on = \"{place}\"");
        if index + 1 < runs.len() {
            // Half-way to the next size that was measured, on the logarithmic axis.
            let (last, next) = (run[run.len() - 1].0, runs[index + 1][0].0);
            write!(row, ", bytes = \"..{}\"", ((last * next) as f64).sqrt() as u64)
                .expect("a string takes text");
        }
        write!(row, ", use = \"{}\"", candidate.algorithm).expect("a string takes text");
        if candidate.segment > 0 {
            write!(row, ", segment = \"{}\"", candidate.segment).expect("a string takes text");
        }
        writeln!(text, "{row} }},").expect("a string takes text");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Placement = Placement::Node { oversubscribed: false };

    #[test]
    fn rules_can_be_read_and_choose_what_was_fastest() {
        let way = |algorithm, segment| Candidate { algorithm, segment };
        let best = [
            (8, way("binomial", 0)),
            (64, way("binomial", 0)),
            (4096, way("chain", 32 << 10)),
            (1 << 20, way("chain", 32 << 10)),
        ];
        let mut text = "[bcast]\nrules = [\n".to_string();
        rules(&best, "1..4", "node", &mut text);
        text.push_str("]\n");
        let table = Table::parse(&text).expect("it can be read");
        for (bytes, candidate) in best {
            let choice =
                table.select(&query(Coll::Bcast, 4, bytes, NODE), &Default::default()).expect("a rule fits");
            assert_eq!(choice.algorithm.get().name, candidate.algorithm);
        }
    }

    #[test]
    fn every_candidate_of_a_node_is_tried() {
        let names: Vec<_> =
            candidates(Coll::Allreduce, 4, NODE).iter().map(|candidate| candidate.algorithm).collect();
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
            .map(|candidate| candidate.algorithm)
            .collect();
        assert!(names.contains(&"hierarchical") && names.contains(&"ring"), "{names:?}");
        assert!(!names.contains(&"slots_flat") && !names.contains(&"direct"), "{names:?}");
    }
}
