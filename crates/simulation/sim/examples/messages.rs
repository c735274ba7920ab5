//! Short messages to and fro between two virtual ranks: what the library's own code does for each.
//!
//! `cargo build --release -p alhena-sim --example messages`, then `valgrind --tool=callgrind messages 2000` and
//! `messages 1000`: the differences of the functions of `pml_ob1` and `btl_ugni`, divided by 2,000 messages, are where
//! the processor times of [`sim::SoftwareCosts`] and [`gni_timed::Costs`] that name callgrind come from.

use gni_timed::Costs;
use sim::programs::{Pairs, PingPong};
use sim::{Cluster, paper};

fn main() -> Result<(), sim::Error> {
    let rounds = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let mut cluster =
        Cluster::new(&paper::setup(Costs::SOURCED), 2, |_| PingPong::new(Pairs(1), 1, 0, rounds))?;
    let report = cluster.run()?;
    println!("{rounds} round trips, {} turns", report.turns);
    Ok(())
}
