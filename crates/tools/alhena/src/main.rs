//! `alhena`: what is installed, how fast it is, and how fast it would be on another machine.
#![forbid(unsafe_code)]

mod check;
mod doctor;
mod info;
mod live;
mod numbers;
mod profile;
mod ranks;
mod simulate;
mod tables;
mod timeline;
mod worker;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Shows and measures an installation of Alhena.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Version, build, components and parameters with value and source
    Info(info::Arguments),
    /// What is wrong with this host, or between hosts, and the command that mends it
    Doctor(doctor::Arguments),
    /// Latency, bandwidth and message rate, alone or beside other MPIs
    Bench(Box<bench::Arguments>),
    /// The library's protocols on virtual time: a Cray XE6 of any size, in this process
    Sim(simulate::Arguments),
    /// Shows what mpiexec -check=NAME has found
    Check(check::Arguments),
    /// Shows or compares profiles that mpiexec -profile has written
    Profile(profile::Arguments),
    /// Writes timelines for mpiexec -trace
    #[command(hide = true)]
    Timeline(timeline::Arguments),
    /// Lists the running jobs of this user on this host
    Jobs(live::jobs::Arguments),
    /// Shows what the ranks of a running job do
    Top(live::top::Arguments),
    /// Shows where the ranks of a running job are: their call stacks
    Stacks(live::stacks::Arguments),
    /// Shows the messages and requests of a running job that are not done
    Queues(live::queues::Arguments),
    /// Joins a job whose `mpiexec -listen` waits for workers
    Worker(worker::Arguments),
    /// Writes the manual pages of this program to a directory
    #[command(hide = true)]
    Manual {
        /// The directory
        directory: std::path::PathBuf,
    },
    /// Measures collective algorithms here and writes a table for the parameter coll_tuned_rules
    Tune(bench::tune::Arguments),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Info(arguments) => info::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Sim(arguments) => simulate::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Profile(arguments) => profile::run(&arguments),
        Command::Timeline(arguments) => timeline::run(&arguments),
        Command::Jobs(arguments) => live::jobs::run(&arguments),
        Command::Top(arguments) => live::top::run(&arguments),
        Command::Stacks(arguments) => live::stacks::run(&arguments),
        Command::Queues(arguments) => live::queues::run(&arguments),
        Command::Worker(arguments) => worker::run(&arguments),
        Command::Manual { directory } => {
            clap_mangen::generate_to(<Cli as clap::CommandFactory>::command(), directory).map_err(Into::into)
        }
        Command::Tune(arguments) => bench::tune::run(&arguments).map_err(Into::into),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the reader (`head`) has closed the output, which is no failure.
fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        <super::Cli as clap::CommandFactory>::command().debug_assert();
    }
}
