//! What mpiexecs of connected jobs report to each other.

use pmi::Failed;

use crate::wire::wire_struct;

/// A process of some job has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FarFailure {
    /// The job's number.
    pub job: u64,
    /// The process's rank; `None`: the job has ended badly, and no process is left of it.
    pub rank: Option<u32>,
}

wire_struct! { FarFailure { job, rank } }

impl From<FarFailure> for Failed {
    fn from(failure: FarFailure) -> Failed {
        match failure.rank {
            Some(rank) => Failed::Process { job: failure.job, rank },
            None => Failed::Job(failure.job),
        }
    }
}
