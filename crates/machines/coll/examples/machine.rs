//! What the machine itself costs: time and steps per call of small collectives on one of two ranks, with a
//! port that does nothing.
//!
//! `cargo run --release -p alhena-coll --example machine [calls [name]]`; `valgrind --tool=callgrind
//! --toggle-collect='*one_call*'` before the built program counts instructions.

use coll::algorithms::node::slots;
use coll::algorithms::{allreduce, barrier, registry};
use coll::schedule::{Slot, Wake};
use coll::{Execution, Layout, Params, Peer, Port, Region, Schedule, Shape, Side, State};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Everything is complete at once.
struct Nothing;

impl Port for Nothing {
    type Op = u32;

    #[inline(never)]
    fn isend(&mut self, _: Peer, from: &Region) -> abi::Result<Option<u32>> {
        black_box(from);
        Ok(None)
    }
    #[inline(never)]
    fn irecv(&mut self, _: Peer, into: &Region) -> abi::Result<Option<u32>> {
        black_box(into);
        Ok(Some(1))
    }
    #[inline(never)]
    fn test(&mut self, _: u32) -> abi::Result<bool> {
        Ok(true)
    }
    #[inline(never)]
    fn copy(&mut self, into: &Region, from: &Region) -> abi::Result<()> {
        black_box((into, from));
        Ok(())
    }
    #[inline(never)]
    fn reduce(&mut self, into: &Region, left: &Region, right: &Region) -> abi::Result<()> {
        black_box((into, left, right));
        Ok(())
    }
    fn block_bytes(&self, _: Side, _: u32) -> u64 {
        0
    }
    #[inline(never)]
    fn publish(&mut self, _: Slot, _: u64, from: &Region, _: Wake) -> abi::Result<bool> {
        black_box(from);
        Ok(true)
    }
    #[inline(never)]
    fn observe(&mut self, _: Slot, _: u64, into: &Region) -> abi::Result<bool> {
        black_box(into);
        Ok(true)
    }
    #[inline(never)]
    fn retire(&mut self, _: u64) -> abi::Result<()> {
        Ok(())
    }
}

#[inline(never)]
fn one_call(execution: &mut Execution<u32>, schedule: &Arc<Schedule>, shape: &Shape) {
    execution.start(schedule, shape, std::iter::empty(), 1, false).expect("a small count");
    assert!(execution.advance(&mut Nothing) == State::Done);
}

fn main() {
    let builds: [(&str, registry::Build); 4] = [
        ("barrier, messages", barrier::dissemination),
        ("barrier, slots", slots::barrier_all),
        ("allreduce 8 B, messages", allreduce::recursive_doubling),
        ("allreduce 8 B, slots", slots::allreduce_all),
    ];
    let mut arguments = std::env::args().skip(1);
    let calls: u32 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    let only = arguments.next().unwrap_or_default();
    for (name, build) in builds.into_iter().filter(|(name, _)| name.contains(&only)) {
        let schedule = Arc::new(build(&Params::new(0, 2)));
        let element = Layout::contiguous(1, 8);
        let shape = Shape { send: element, recv: element, packed: 8 };
        let mut execution = Execution::new();
        let start = Instant::now();
        (0..calls).for_each(|_| one_call(&mut execution, &schedule, &shape));
        let each = start.elapsed().as_secs_f64() * 1e9 / f64::from(calls);
        println!("{name:24} {each:6.1} ns, {} steps", schedule.steps().len());
    }
}
