//! What can go wrong with running jobs.

use std::io;

/// A job that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "looking for the job: there is none\n  seen: no job of this user runs on this host\n  next: start one with mpiexec, or run this on the \
         host where its ranks are"
    )]
    NoJob,
    #[error(
        "looking at the ranks of this host: not possible\n  seen: {0}\n  next: leave --for-mpiexec to mpiexec"
    )]
    Inherited(io::Error),
    #[error(
        "looking for the job: it is not clear which\n  seen: {count} jobs run here\n  next: give its number: `alhena jobs` has the list"
    )]
    WhichJob { count: usize },
    #[error(
        "looking at job {job}: not possible\n  seen: {source}\n  next: `alhena jobs` lists the jobs of this user on this host"
    )]
    NoSuchJob { job: i32, source: io::Error },
    #[error("taking the stacks of job {job}: not possible\n  seen: {source}\n  next: {next}")]
    NoStacks { job: i32, source: io::Error, next: &'static str },
    #[error(
        "looking at job {job}: it has ended\n  seen: its launcher has closed the connection\n  next: `alhena jobs` lists those that run"
    )]
    Ended { job: i32 },
    #[error(
        "showing the job on the terminal: not possible\n  seen: {0}\n  next: `alhena top | cat` prints one page"
    )]
    Terminal(io::Error),
}
