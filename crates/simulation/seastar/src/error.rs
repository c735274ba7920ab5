//! Why a simulation ends early.

use core::fmt;

/// Why a simulation cannot begin or go on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The machine has fewer nodes than the job has ranks.
    TooSmall {
        /// Ranks of the job.
        ranks: u32,
        /// Nodes of the machine.
        nodes: u32,
    },
    /// What stands on a rank's NIC cannot be set up.
    Setup(portals::SetupError),
    /// A rank's message layer reports an error.
    Mpi {
        /// The rank.
        rank: u32,
        /// The error.
        error: abi::Error,
    },
    /// Nothing happens any more, and some ranks have not finished.
    Stuck {
        /// How many.
        unfinished: usize,
        /// The first of them.
        first: u32,
    },
    /// A rank has received something else than was sent.
    WrongData {
        /// The rank.
        rank: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooSmall { ranks, nodes } => write!(
                f,
                "placing the virtual ranks failed\nthey are {ranks}, and the machine has {nodes} nodes\nchoose fewer ranks"
            ),
            Error::Setup(error) => error.fmt(f),
            Error::Mpi { rank, error } => write!(
                f,
                "simulating rank {rank} failed\nits message layer reports: {error}\nthis is a defect; please report the command"
            ),
            Error::Stuck { unfinished, first } => write!(
                f,
                "the simulation came to a halt\n{unfinished} ranks have not finished, the first of them {first}, and nothing is \
                 under way\nthis is a defect; please report the command"
            ),
            Error::WrongData { rank } => write!(
                f,
                "checking the simulation's result failed\nrank {rank} has received other data than was sent\nthis is a defect; \
                 please report the command"
            ),
        }
    }
}

impl std::error::Error for Error {}
