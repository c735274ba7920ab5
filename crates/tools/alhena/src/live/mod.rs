//! Running jobs: which there are, where their ranks are, what they wait for.
//!
//! ```text
//!   jobs                 sockets of the user's runtime directory ── live::jobs
//!   queues, top          the observation memory of the job       ── live::Connection, observe
//!   stacks, top          threads stopped for microseconds        ── stacks
//! ```

mod error;
pub mod jobs;
mod process;
pub mod queues;
pub mod stacks;
pub mod top;

use live::Connection;

use error::Error;

/// Which job is meant.
#[derive(clap::Args)]
pub struct Which {
    /// Number of the job, as `alhena jobs` shows it; may be left out where one runs
    job: Option<i32>,
}

impl Which {
    /// Connects with it.
    fn open(&self) -> Result<Connection, Error> {
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
}
