//! `alhena bench registration`: what registered memory costs, and what the cache saves, over the software NIC in this
//! process, whose registrations hold pages as the hardware's do.
//!
//! ```text
//!   times     one registration and its end, without and with the cache; unmapping watched memory
//!   pressure  N buffers in turn or at random over few memory descriptors: hit rate, evictions
//!   cycles    many registrations and their ends: does this process stay as large as it was?
//! ```

use chance::Rng;
use figures::{aligned, significant};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use btl_ugni::Interface;
use clap::Args;
use gni::{Gni, InstId, JobKey, MemHandle, Modes, PeAddr};
use gni_soft::inproc::{InProc, NetworkConfig, SharedNetwork};
use gni_soft::{NicConfig, NodeLimits, SoftNic};
use mem::UserMem;
use rcache::{Monitor, Rcache, Trusting, Unwatched, Watch};
use serde::Serialize;

use crate::error::Error;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Memory descriptors of the NIC
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4096))]
    mdds: u32,
    /// Numbers of buffers that are used
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [4, 8, 12, 16, 32])]
    buffers: Vec<usize>,
    /// Uses of a buffer in each line of the table
    #[arg(long, default_value_t = 20_000)]
    uses: usize,
    /// Cycles of registering and deregistering
    #[arg(long, default_value_t = 1_000_000)]
    cycles: usize,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// All figures.
#[derive(Serialize)]
struct Report {
    /// Whether registrations hold pages; otherwise they name addresses, and cost nothing.
    pinned: bool,
    /// What notices that memory changes.
    watch: &'static str,
    mdds: u32,
    times: Vec<Times>,
    pressure: Vec<Pressure>,
    cycles: Cycles,
}

/// Times for one size, in microseconds.
#[derive(Serialize)]
struct Times {
    bytes: usize,
    uncached: f64,
    hit: f64,
    evicting: f64,
}

/// What the cache made of one working set.
#[derive(Serialize)]
struct Pressure {
    buffers: usize,
    order: &'static str,
    hits: u64,
    misses: u64,
    hit_rate: f64,
    evictions: u64,
    registered_at_most: u64,
}

/// Whether memory stays flat.
#[derive(Serialize)]
struct Cycles {
    count: usize,
    seconds: f64,
    resident_before_kib: usize,
    resident_after_kib: usize,
}

/// Sizes of the table of times.
const SIZES: [usize; 4] = [4 << 10, 64 << 10, 1 << 20, 16 << 20];
/// Size of the buffers in the table of working sets.
const BUFFER: usize = 64 << 10;

/// Measures and prints.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let (watch, watch_name): (Arc<dyn Watch>, _) = match Monitor::start() {
        Ok(monitor) => (Arc::new(monitor), "userfaultfd"),
        Err(refused) => {
            eprintln!("alhena: {refused}");
            (Arc::new(Trusting), "no check")
        }
    };
    let pinned = attach(1, true).is_ok();
    let times = SIZES.iter().map(|&bytes| times(bytes, &watch, pinned)).collect::<Result<_, _>>()?;
    let orders: [(&str, Order); 2] = [("in turn", in_turn), ("at random", at_random)];
    let mut pressure = Vec::new();
    for &buffers in &arguments.buffers {
        for order in orders {
            pressure.push(working_set(arguments, buffers.max(1), order, &watch, pinned)?);
        }
    }
    let cycles = cycles(arguments, pinned)?;
    let report = Report { pinned, watch: watch_name, mdds: arguments.mdds, times, pressure, cycles };
    print(&report);
    Ok(arguments.json.as_deref().map_or(Ok(()), |path| figures::write_json(path, &report))?)
}

/// A NIC of a node with `mdds` memory descriptors.
fn attach(mdds: u32, pinned: bool) -> Result<SoftNic<InProc>, Error> {
    let limits = NodeLimits { mdds, ..NodeLimits::default() };
    let world = SharedNetwork::new(NetworkConfig { limits, pinned, ..NetworkConfig::default() });
    let (pe, inst, key) = (PeAddr(0), InstId(0), JobKey::for_job(0));
    world
        .attach(pe, inst, key, Modes::default(), NicConfig::default())
        .map_err(|error| Error::Nic { step: "attaching to a NIC", error })
}

/// Memory of another NIC, so that this one treats it as the program's.
fn memory(owner: &mut SoftNic<InProc>, bytes: usize) -> Result<UserMem, Error> {
    owner.mem_alloc(bytes).map_err(|error| Error::Nic { step: "allocating buffers", error })
}

/// Registers a buffer, or finds it registered, and lets go of it.
fn use_once(cache: &mut Rcache<MemHandle>, nic: &mut SoftNic<InProc>, buffer: UserMem) -> Result<(), Error> {
    let mut interface = Interface(nic);
    let handle = cache
        .acquire(&mut interface, buffer)
        .map_err(|error| Error::Nic { step: "registering a buffer", error })?;
    cache.release(&mut interface, handle);
    Ok(())
}

fn times(bytes: usize, watch: &Arc<dyn Watch>, pinned: bool) -> Result<Times, Error> {
    let rounds = ((64 << 20) / bytes).clamp(20, 2000);
    let (mut owner, mut nic) = (attach(4, false)?, attach(4, pinned)?);
    let buffers = memory(&mut owner, 3 * bytes)?;
    let mut timed = |watch: Arc<dyn Watch>, most: usize, among: usize| -> Result<f64, Error> {
        let mut cache = Rcache::new(watch, most);
        let mut began = Instant::now();
        for turn in 0..rounds + among {
            if turn == among {
                began = Instant::now();
            }
            use_once(&mut cache, &mut nic, buffers.part(turn % among * bytes, bytes))?;
        }
        let spent = began.elapsed().as_secs_f64();
        cache.clear(&mut Interface(&mut nic));
        Ok(spent * 1e6 / rounds as f64)
    };
    Ok(Times {
        bytes,
        uncached: timed(Arc::new(Unwatched), 0, 1)?,
        hit: timed(Arc::clone(watch), 4, 1)?,
        evicting: timed(Arc::clone(watch), 1, 2)?,
    })
}

/// Chooses the next of so many buffers: by the number of the use, or at random.
type Order = fn(usize, &mut Rng, usize) -> usize;

fn in_turn(number: usize, _random: &mut Rng, buffers: usize) -> usize {
    number % buffers
}

fn at_random(_number: usize, random: &mut Rng, buffers: usize) -> usize {
    random.index(buffers)
}

fn working_set(
    arguments: &Arguments,
    buffers: usize,
    (order, next): (&'static str, Order),
    watch: &Arc<dyn Watch>,
    pinned: bool,
) -> Result<Pressure, Error> {
    let (mut owner, mut nic) = (attach(1, false)?, attach(arguments.mdds, pinned)?);
    let all = memory(&mut owner, buffers * BUFFER)?;
    let mut cache = Rcache::new(Arc::clone(watch), usize::MAX);
    let mut random = Rng::new(1);
    for number in 0..arguments.uses {
        let buffer = all.part(next(number, &mut random, buffers) * BUFFER, BUFFER);
        use_once(&mut cache, &mut nic, buffer)?;
    }
    let stats = *cache.stats();
    cache.clear(&mut Interface(&mut nic));
    Ok(Pressure {
        buffers,
        order,
        hits: stats.hits,
        misses: stats.misses,
        hit_rate: stats.hit_rate(),
        evictions: stats.evictions,
        registered_at_most: stats.registrations_peak,
    })
}

fn cycles(arguments: &Arguments, pinned: bool) -> Result<Cycles, Error> {
    let (mut owner, mut nic) = (attach(1, false)?, attach(arguments.mdds, pinned)?);
    let buffer = memory(&mut owner, BUFFER)?;
    let mut cache = Rcache::new(Arc::new(Unwatched), 0);
    let mut turns = |count: usize| (0..count).try_for_each(|_| use_once(&mut cache, &mut nic, buffer));
    turns(1000)?;
    let (resident_before_kib, began) = (resident_kib(), Instant::now());
    turns(arguments.cycles)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Cycles { count: arguments.cycles, seconds, resident_before_kib, resident_after_kib: resident_kib() })
}

/// Resident memory of this process; 0 where the system does not report it.
fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or_default()
}

fn print(report: &Report) {
    let Report { pinned, watch, mdds, times, pressure, cycles } = report;
    let pages = if *pinned { "hold their pages" } else { "name addresses (io_uring is refused here)" };
    println!("registrations over the software NIC: they {pages}; changes of memory are watched by {watch}\n");
    let mut rows = vec![
        ["bytes", "registered for one use", "found in the cache", "evicting another"]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(times.iter().map(|row| {
        let times = [row.uncached, row.hit, row.evicting].map(|time| significant(time) + " µs");
        std::iter::once(row.bytes.to_string()).chain(times).collect()
    }));
    println!("{}", aligned(&rows));
    println!("{mdds} memory descriptors, buffers of {BUFFER} bytes");
    let mut rows = vec![
        ["buffers", "order", "hits", "misses", "hit rate", "evictions", "registered at most"]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(pressure.iter().map(|row| {
        vec![
            row.buffers.to_string(),
            row.order.to_string(),
            row.hits.to_string(),
            row.misses.to_string(),
            format!("{:.1} %", row.hit_rate * 100.0),
            row.evictions.to_string(),
            row.registered_at_most.to_string(),
        ]
    }));
    println!("{}", aligned(&rows));
    println!(
        "{} cycles of registering and deregistering: {:.2} s, resident memory {} KiB before and {} KiB after",
        cycles.count, cycles.seconds, cycles.resident_before_kib, cycles.resident_after_kib
    );
}

#[cfg(test)]
mod tests {
    use super::{Arguments, in_turn, working_set};
    use rcache::{Trusting, Watch};
    use std::sync::Arc;

    #[test]
    fn a_working_set_within_the_descriptors_is_always_found() {
        let arguments = Arguments { mdds: 8, buffers: Vec::new(), uses: 100, cycles: 0, json: None };
        let watch: Arc<dyn Watch> = Arc::new(Trusting);
        let figures = |buffers| {
            let line = working_set(&arguments, buffers, ("in turn", in_turn), &watch, false).expect("a NIC");
            (line.hits, line.misses, line.evictions, line.registered_at_most)
        };
        assert_eq!(figures(8), (92, 8, 0, 8));
        assert_eq!(figures(9), (0, 100, 92, 8), "the one that is wanted next has always just gone");
    }
}
