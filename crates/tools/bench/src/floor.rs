//! The floor probe: how long a cache line takes from one core to another, right now.
//!
//! ```text
//!  core A   ping = n ─────────►  spins on ping
//!  core B   spins on pong  ◄───── pong = n        one way = half of that
//! ```
//!
//! No message between two cores can be faster, so latencies are judged against it; and when it rises, something else
//! is using the machine, so rounds are judged by it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::Error;
use crate::statistics::median;

const BLOCKS: usize = 21;
const ROUND_TRIPS: u64 = 1000;

/// Two cores to probe, chosen once.
#[derive(Debug)]
pub struct Probe {
    cores: Option<[usize; 2]>,
}

/// A counter that shares its cache line, and the neighbour that hardware fetches along, with nothing.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

impl Probe {
    /// Chooses two of the processors this process may use, on different cores where there are such.
    pub fn new() -> Result<Self, Error> {
        let allowed = sched_getaffinity(None).map_err(Error::Processors)?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        let other = |&&cpu: &&usize| cpu != cpus[0] && core_of(cpu) != core_of(cpus[0]);
        let second = cpus.iter().find(other).or(cpus.get(1));
        Ok(Self { cores: second.map(|&second| [cpus[0], second]) })
    }

    /// Nanoseconds one way, the median of many blocks; none where there is only one processor.
    pub fn nanoseconds(&self) -> Option<f64> {
        let [first, second] = self.cores?;
        let (ping, pong) = (Line::default(), Line::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                pin(second);
                for n in 1..=BLOCKS as u64 * ROUND_TRIPS {
                    while ping.0.load(Ordering::Acquire) != n {}
                    pong.0.store(n, Ordering::Release);
                }
            });
            let blocks = scope.spawn(|| {
                pin(first);
                (0..BLOCKS as u64).map(|block| time_block(&ping.0, &pong.0, block * ROUND_TRIPS)).collect()
            });
            let mut blocks: Vec<f64> = blocks.join().expect("the probe does not panic");
            median(&mut blocks)
        })
    }

    /// For people: the cores and what is measured between them.
    pub fn describe(&self) -> String {
        match (self.cores, self.nanoseconds()) {
            (Some([first, second]), Some(ns)) => {
                format!("a cache line takes {ns:.0} ns from processor {first} to processor {second}")
            }
            _ => "this process may use one processor only: there is no way between two".to_string(),
        }
    }
}

/// Nanoseconds of one way, from `ROUND_TRIPS` round trips after the `done` earlier ones.
fn time_block(ping: &AtomicU64, pong: &AtomicU64, done: u64) -> f64 {
    let start = Instant::now();
    for n in done + 1..=done + ROUND_TRIPS {
        ping.store(n, Ordering::Release);
        while pong.load(Ordering::Acquire) != n {}
    }
    start.elapsed().as_nanos() as f64 / (2 * ROUND_TRIPS) as f64
}

/// Keeps the calling thread on one processor; a refusal only makes the probe less steady.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

/// The core that a processor belongs to, as the kernel numbers them.
fn core_of(cpu: usize) -> Option<String> {
    std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).ok()
}
