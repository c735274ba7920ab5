//! `alhena sim`: the library's own protocols on virtual time, on a machine that is not here.

mod applications;
mod calibrate;
mod data_reliability;
mod machine;
mod many_ranks;
mod memory;
mod one_sided;
mod output;
mod progress;
mod raw;
mod replay;
mod seastar;
mod two_ranks;

use std::error::Error;

use clap::{Args, Subcommand};

/// What to simulate.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    topic: Topic,
}

#[derive(Subcommand)]
enum Topic {
    /// A message to and fro between two nodes, beside the paper's figures
    Pingpong(two_ranks::Pingpong),
    /// Windows of messages from one node to another
    Bandwidth(two_ranks::Bandwidth),
    /// Puts and gets of the light interface (alhena.h) beside MPI_Put, MPI_Get and messages, as on the poster
    OneSided(one_sided::OneSided),
    /// Messages and puts of Gemini itself beside MPI over it: MPI's overhead
    Raw(raw::Raw),
    /// Gathers over the light interface beside MPI_Gather, as on the poster
    Gather(one_sided::Gather),
    /// An allreduce by each of the library's algorithms
    Allreduce(many_ranks::Allreduce),
    /// A halo exchange in a grid of two or three dimensions
    Halo(many_ranks::Halo),
    /// LAMMPS's Lennard-Jones benchmark, weak scaling, beside the paper's figures
    Lammps(applications::Lammps),
    /// AMG2006's solve phase on a Laplace problem, weak scaling
    Amg(applications::Amg),
    /// A run that mpiexec -record has written down, beside what it took
    Replay(replay::Replay),
    /// Red Storm and the XT4: message layers over Portals, beside the papers' figures
    Seastar(seastar::Seastar),
    /// Data reliability (pml dr) over paths that lose, repeat, damage, stall and die
    Dr(data_reliability::DataReliability),
    /// Registered memory of a rank against the size of the job
    Memory(memory::Memory),
    /// The costs with their sources, the fit to three of the paper's points, and what it hangs on
    Calibrate(calibrate::Calibrate),
}

/// Simulates, prints the table, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let machine = match &arguments.topic {
        Topic::Pingpong(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Bandwidth(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::OneSided(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Raw(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Gather(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Allreduce(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Halo(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Lammps(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Amg(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Replay(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Memory(topic) => topic.run().map(|()| &topic.machine)?,
        Topic::Seastar(topic) => return topic.run(),
        Topic::Dr(topic) => return topic.run(),
        Topic::Calibrate(topic) => return topic.run(),
    };
    machine.save_timeline()
}
