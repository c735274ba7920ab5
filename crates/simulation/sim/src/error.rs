//! Why a simulation ends early.

use btl_ugni::SetupError;
use core::fmt;

/// Why a simulation cannot begin or go on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The machine has too few nodes for the job.
    TooSmall {
        /// Nodes that the ranks need.
        needed: u64,
        /// Nodes of the machine.
        nodes: u32,
    },
    /// A NIC refuses what a rank needs at first.
    Nic(&'static str, gni::Error),
    /// A rank's transport over Gemini cannot be set up.
    Transport(SetupError),
    /// What stands on a rank's Portals NIC cannot be set up.
    Portals(portals::SetupError),
    /// A rank's message layer reports an error.
    Mpi {
        /// The rank.
        rank: u32,
        /// The error.
        error: abi::Error,
    },
    /// Nothing happens any more, and some ranks have not finished.
    Stuck {
        /// How many ranks.
        unfinished: usize,
        /// The first of them.
        first: u32,
        /// The virtual time in nanoseconds.
        at: u64,
    },
    /// A rank has received something else than was sent.
    WrongData {
        /// The rank.
        rank: u32,
    },
    /// A recording cannot be read.
    Recording(String),
    /// What is asked for cannot be simulated.
    Unsupported(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooSmall { needed, nodes } => write!(
                f,
                "placing the virtual ranks failed\nthey need {needed} nodes, and the machine has {nodes}\nchoose \
                 fewer ranks, more of them on a node (--ranks-per-node), or a larger torus (--torus X,Y,Z)"
            ),
            Error::Nic(step, error) => write!(
                f,
                "setting up a virtual rank failed: {step}\nits NIC answered {error}\nuse fewer ranks per node or \
                 smaller limits (--mca btl_ugni_...)"
            ),
            Error::Transport(error) => error.fmt(f),
            Error::Portals(error) => error.fmt(f),
            Error::Mpi { rank, error } => write!(
                f,
                "simulating rank {rank} failed\nits message layer reports: {error}\nthis is a defect; please report \
                 the command"
            ),
            Error::Stuck { unfinished, first, at } => write!(
                f,
                "the simulation came to a halt at {at} ns of virtual time\n{unfinished} ranks have not finished, the \
                 first of them {first}, and nothing is under way\nthis is a defect; please report the command"
            ),
            Error::WrongData { rank } => write!(
                f,
                "checking the simulation's result failed\nrank {rank} has received other data than was sent\nthis is \
                 a defect; please report the command"
            ),
            Error::Recording(what) => {
                write!(f, "reading a recording failed\n{what}\nmake one: mpiexec -record DIR -n N PROGRAM")
            }
            Error::Unsupported(what) => {
                write!(f, "starting the simulation failed\n{what}\nsee alhena sim --help")
            }
        }
    }
}

impl std::error::Error for Error {}
