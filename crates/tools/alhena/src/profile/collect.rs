//! From the ranks' tables to a report.

use std::collections::HashMap;
use std::path::Path;

use interpose::{FUNCTIONS, clock};
use profile::tables::{self, Snapshot, State};
use symbols::Resolver;

use super::data::{Bin, End, Pair, Rank, Report, Site, SiteOfRank, Sum, VERSION};
use super::error::Error;

/// Reads the tables of so many ranks, and names their places.
pub fn collect(memory: &Path, ranks: u32, exit_code: u8) -> Result<Report, Error> {
    let snapshots =
        read(memory, ranks).map_err(|source| Error::Memory { path: memory.to_owned(), source })?;
    let first = snapshots.first().ok_or(Error::NoRank)?;
    let mut report = Report {
        version: VERSION,
        alhena: env!("CARGO_PKG_VERSION").to_owned(),
        command: first.command.clone(),
        started: snapshots.iter().map(|one| one.started).min().unwrap_or(0),
        written: clock::unix_time(),
        size: ranks,
        exit_code,
        bins: bins(&snapshots),
        ..Report::default()
    };
    let mut sites = Sites::default();
    for snapshot in &snapshots {
        let indices: Vec<usize> = snapshot.sites.iter().map(|site| sites.add(snapshot, site)).collect();
        let last_in = snapshot.current.map(|site| indices[site]);
        report.ranks.push(rank(snapshot, last_in));
        report.pairs.extend(snapshot.pairs.iter().map(|pair| Pair {
            from: snapshot.rank,
            to: pair.peer,
            messages: pair.count,
            bytes: pair.bytes,
            one_sided: pair.one_sided,
        }));
    }
    report.sites = sites.all;
    // A place that was entered and never left, or that `MPI_Pcontrol` has cleared.
    let ended_in: Vec<usize> = report.ranks.iter().filter_map(|rank| rank.last_in).collect();
    number(&mut report, &ended_in);
    Ok(report)
}

/// Puts places in the order of their time, numbers them from 1, and drops those without calls.
fn number(report: &mut Report, keep: &[usize]) {
    let mut order: Vec<usize> = (0..report.sites.len())
        .filter(|&site| keep.contains(&site) || !report.sites[site].ranks.is_empty())
        .collect();
    order.sort_by_cached_key(|&site| std::cmp::Reverse(report.sites[site].total(|one| one.time).sum));
    let place = |site: usize| order.iter().position(|&other| other == site);
    report.ranks.iter_mut().for_each(|rank| rank.last_in = rank.last_in.and_then(place));
    let mut old: Vec<Option<Site>> = std::mem::take(&mut report.sites).into_iter().map(Some).collect();
    let sites = order.iter().filter_map(|&site| old[site].take());
    report.sites = (1..).zip(sites).map(|(id, site)| Site { id, ..site }).collect();
}

fn read(memory: &Path, ranks: u32) -> std::io::Result<Vec<Snapshot>> {
    let all = crate::tables::read(memory, ranks, tables::MAGIC, tables::WORDS)?;
    // What a rank claims of itself does not matter.
    let read = |(rank, words): (u32, Vec<_>)| Some(Snapshot { rank, ..Snapshot::read(&words)? });
    Ok(all.into_iter().filter_map(read).collect())
}

fn rank(snapshot: &Snapshot, last_in: Option<usize>) -> Rank {
    let in_calls: u64 = snapshot.sites.iter().map(|site| site.time.sum).sum();
    Rank {
        rank: snapshot.rank,
        host: snapshot.host.clone(),
        pid: snapshot.pid,
        end: match snapshot.state {
            State::Before => End::Before,
            State::Running => End::Broken,
            State::Finalized => End::Finalized,
            State::Aborted => End::Aborted,
        },
        app_time: snapshot.app_time,
        mpi_time: in_calls + snapshot.lost.1,
        waited: snapshot.is_measured.then(|| snapshot.sites.iter().map(|site| site.waited.0).sum()),
        last_in,
        lost: snapshot.lost.0,
        lost_time: snapshot.lost.1,
    }
}

/// Places of all ranks: the same file, offset and function are one.
#[derive(Default)]
struct Sites {
    all: Vec<Site>,
    known: HashMap<(String, Vec<u8>, u64, usize), usize>,
    resolver: Resolver,
}

impl Sites {
    fn add(&mut self, snapshot: &Snapshot, site: &tables::Site) -> usize {
        let module = site.module.map(|module| snapshot.modules[module].clone());
        let (path, id) = module.map_or_else(Default::default, |module| (module.path, module.build_id));
        let key = (path, id, site.offset, site.function);
        let index = match self.known.get(&key) {
            Some(&index) => index,
            None => {
                self.all.push(named(&mut self.resolver, &key));
                self.known.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        if site.time.count > 0 {
            let moved = sum(site.moved);
            let is_file = FUNCTIONS[site.function].chapter == 14;
            let (io, one_sided) = if is_file { (moved, Sum::default()) } else { (Sum::default(), moved) };
            let (time, sent) = (sum(site.time), sum(site.sent));
            let (waited, waited_max) = site.waited;
            let of_rank = SiteOfRank { rank: snapshot.rank, time, waited, waited_max, sent, io, one_sided };
            self.all[index].ranks.push(of_rank);
        }
        index
    }
}

fn named(resolver: &mut Resolver, (path, id, offset, function): &(String, Vec<u8>, u64, usize)) -> Site {
    let place = resolver.call(Path::new(path), id, *offset);
    // Where a call was inlined, the innermost function with a line.
    let source = place.source();
    Site {
        id: 0,
        call: FUNCTIONS[*function].name.trim_start_matches("MPI_").to_owned(),
        collective: is_collective(*function),
        file: source.and_then(|frame| frame.file.clone()),
        line: source.and_then(|frame| frame.line),
        function: place.function().map(str::to_owned),
        object: path.clone(),
        offset: *offset,
        ranks: Vec::new(),
    }
}

fn is_collective(function: usize) -> bool {
    matches!(FUNCTIONS[function].chapter, 6 | 8)
}

fn sum(from: tables::Sum) -> Sum {
    Sum { count: from.count, sum: from.sum, min: from.min, max: from.max }
}

/// Bins of all ranks.
fn bins(snapshots: &[Snapshot]) -> Vec<Bin> {
    let mut all: HashMap<(usize, u8, u8), (u64, u64, u64)> = HashMap::new();
    for bin in snapshots.iter().flat_map(|snapshot| &snapshot.bins) {
        let found = all.entry((bin.function, bin.comm, bin.size)).or_default();
        *found = (found.0 + bin.count, found.1 + bin.bytes, found.2 + bin.time);
    }
    let bounds = |class: u8| match class {
        0 => (0, 0),
        1..=63 => (1u64 << (class - 1), (1u64 << class) - 1),
        _ => (1 << 63, u64::MAX),
    };
    let mut bins: Vec<Bin> = all
        .into_iter()
        .filter(|(_, (count, ..))| *count > 0)
        .map(|((function, comm, size), (count, bytes, time))| Bin {
            call: FUNCTIONS[function].name.trim_start_matches("MPI_").to_owned(),
            collective: is_collective(function),
            processes: bounds(comm.min(62) + 1),
            size: bounds(size),
            count,
            bytes,
            time,
        })
        .collect();
    bins.sort_by(|a, b| (&a.call, a.processes, a.size).cmp(&(&b.call, b.processes, b.size)));
    bins
}
