//! Running jobs: which there are, where their ranks are, what they wait for.
//!
//! ```text
//!   jobs                 sockets of the user's runtime directory ── live::jobs
//!   queues, top          the observation memory of the job       ── live::Connection, observe
//!   stacks, top          threads stopped for microseconds        ── stacks
//!   ranks of other hosts pages that their own `alhena` has made  ── elsewhere
//! ```

mod elsewhere;
mod error;
pub mod jobs;
mod process;
pub mod queues;
pub mod stacks;
pub mod top;

use std::ops::RangeInclusive;
use std::time::Duration;

use live::{Connection, Question};

use elsewhere::Elsewhere;
use error::Error;

/// Which job is meant.
#[derive(clap::Args)]
pub struct Which {
    /// Number of the job, as `alhena jobs` shows it; may be left out where one runs
    job: Option<i32>,
    /// Only the ranks of this host
    #[arg(long)]
    here: bool,
    /// Seconds for which other hosts are waited for
    #[arg(long, default_value_t = 10.0, value_parser = |text: &str| seconds(text, 0.0..=60.0))]
    patience: f64,
    /// The job is at the standard input, and its other hosts are asked by another process
    #[arg(long, hide = true)]
    for_mpiexec: bool,
}

/// A number of seconds within limits.
fn seconds(text: &str, limits: RangeInclusive<f64>) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|error| format!("{error}"))?;
    match limits.contains(&value) {
        true => Ok(value),
        false => Err(format!("it is between {} and {}", limits.start(), limits.end())),
    }
}

impl Which {
    /// Connects with it.
    fn open(&self) -> Result<Connection, Error> {
        if self.for_mpiexec {
            return Connection::inherited().map_err(Error::Inherited);
        }
        if let Some(job) = self.job {
            return Connection::open(job).map_err(|source| Error::NoSuchJob { job, source });
        }
        let mut jobs = live::jobs();
        match (jobs.pop(), jobs.len()) {
            (Some(job), 0) => Ok(job),
            (None, _) => Err(Error::NoJob),
            (Some(_), others) => Err(Error::WhichJob { count: others + 1 }),
        }
    }

    /// Asks the job's other hosts, unless only this one is wanted.
    fn ask_elsewhere(&self, connection: &Connection, question: Question) -> Elsewhere {
        match self.here || self.for_mpiexec {
            true => Elsewhere::none(),
            false => {
                let own = Duration::from_secs_f64(self.patience);
                let takes = match question {
                    Question::Top(milliseconds, _) => Duration::from_millis(milliseconds.into()),
                    _ => Duration::ZERO,
                };
                Elsewhere::ask(connection, question, own + takes)
            }
        }
    }
}
