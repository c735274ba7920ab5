//! `alhena bench`: the papers' measurements, of this installation alone or beside other MPIs.
//!
//! ```text
//! for each mode (ping-pong, pre-posted, …)
//!     for each round                    floor probe: is the machine quiet now?
//!         for each MPI, rotating        build/KERNEL under this MPI's mpiexec
//! drop the rounds whose floor is not within 1.25 × that of the quiet machine, the lowest that enough rounds have
//! medians over the rounds left, and medians of the ratios within each round
//! ```
//!
//! A further topic is a file with its own `Arguments` and `run`, and a line in [`Topic`].

#![forbid(unsafe_code)]

mod all;
mod campaign;
mod collectives;
mod datatypes;
mod diagrams;
mod error;
mod family;
mod files;
mod floor;
mod heat;
mod hosts;
mod interrupt;
mod lost;
mod modes;
mod mpi;
mod one_sided;
mod point_to_point;
mod pop;
pub mod prefix;
mod progress;
mod protocols;
mod raw;
mod registration;
mod results;
mod rounds;
mod statistics;
mod table;
pub mod tune;

use std::error::Error;

use clap::{Args, Subcommand};

/// What to measure.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    topic: Option<Topic>,
    #[command(flatten)]
    point_to_point: point_to_point::Arguments,
}

#[derive(Subcommand)]
enum Topic {
    /// Every operation beside other MPIs, and the cells in which this one is behind
    All(Box<all::Arguments>),
    /// The time of collective operations
    Collectives(Box<collectives::Arguments>),
    /// An application-like loop with each algorithm of allreduce
    Pop(pop::Arguments),
    /// Which protocol of the Gemini transport carries a message, and what that costs
    Protocols(protocols::Arguments),
    /// What registered memory costs: the registration cache under pressure, over the software NIC
    Registration(registration::Arguments),
    /// Data with holes: send and receive of derived datatypes, and MPI_Pack beside loops written by hand
    Datatypes(Box<datatypes::Arguments>),
    /// Puts, gets, accumulates and the ways to synchronise of windows
    OneSided(Box<one_sided::Arguments>),
    /// Files: contiguous, strided and small accesses, shared pointers, opening, beside the system's own calls
    Io(Box<files::Arguments>),
    /// Messages by the calls of Portals or Gemini themselves, beside MPI over the same NIC: MPI's overhead
    Raw(Box<raw::Arguments>),
    /// One of the two processes that `raw` starts
    #[command(hide = true)]
    RawPair(raw::pair::Arguments),
    /// Only the floor: the time a cache line takes from one core to another
    Floor,
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    match &arguments.topic {
        Some(Topic::All(arguments)) => Ok(all::run(arguments)?),
        None => Ok(point_to_point::run(&arguments.point_to_point)?),
        Some(Topic::Collectives(arguments)) => Ok(collectives::run(arguments)?),
        Some(Topic::Pop(arguments)) => Ok(pop::run(arguments)?),
        Some(Topic::Protocols(arguments)) => Ok(protocols::run(arguments)?),
        Some(Topic::Registration(arguments)) => Ok(registration::run(arguments)?),
        Some(Topic::Datatypes(arguments)) => Ok(datatypes::run(arguments)?),
        Some(Topic::OneSided(arguments)) => Ok(one_sided::run(arguments)?),
        Some(Topic::Io(arguments)) => Ok(files::run(arguments)?),
        Some(Topic::Raw(arguments)) => Ok(raw::run(arguments)?),
        Some(Topic::RawPair(arguments)) => Ok(raw::pair::run(arguments)?),
        Some(Topic::Floor) => {
            println!("{}", floor::Probe::new()?.describe());
            Ok(())
        }
    }
}
