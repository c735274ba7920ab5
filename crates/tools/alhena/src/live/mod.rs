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

use live::{Connection, Description};

use error::Error;

/// Which job is meant.
#[derive(clap::Args)]
pub struct Which {
    /// Number of the job, as `alhena jobs` shows it; may be left out where one runs
    job: Option<i32>,
}

/// A page shows the ranks of one host: reports that there are others.
fn note_other_hosts(job: &Description, command: &str) {
    if let Some(note) = other_hosts(job, command) {
        eprintln!("alhena: {note}");
    }
}

fn other_hosts(job: &Description, command: &str) -> Option<String> {
    let others = (job.size as usize).checked_sub(job.ranks.len()).filter(|&others| others > 0)?;
    Some(format!(
        "{others} of {} ranks are on other hosts: `alhena {command}` run there shows them",
        job.size
    ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use live::RankOf;

    #[test]
    fn ranks_of_other_hosts_are_not_left_out_in_silence() {
        let rank = |rank| RankOf { rank, pid: 7, is_over: false, program: "a".into() };
        let mut job = Description { size: 3, ranks: vec![rank(0), rank(1)], ..Description::default() };
        let note = other_hosts(&job, "queues").expect("rank 2 is elsewhere");
        assert!(note.starts_with("1 of 3 ranks are on other hosts: `alhena queues`"), "{note}");
        job.ranks.push(rank(2));
        assert_eq!(other_hosts(&job, "queues"), None);
    }
}
