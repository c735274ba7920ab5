//! The parameters that `core` itself reads.

use platform::waiter::Policy;

use crate::coll::Tuned;
use crate::transport::RcacheParams;

mca::choice! {
    /// A predefined error handler.
    pub enum InitialErrhandler {
        /// `MPI_ERRORS_ARE_FATAL`
        Fatal = "mpi_errors_are_fatal",
        /// `MPI_ERRORS_ABORT`
        Abort = "mpi_errors_abort",
        /// `MPI_ERRORS_RETURN`
        Return = "mpi_errors_return",
    }
}

mca::params! {
    /// Parameters of the library as a whole.
    pub struct MpiParams("mpi_") {
        /// Error handler that communicators start with, and that errors before and after MPI go to
        /// (`-initial-errhandler` of mpiexec).
        initial_errhandler: InitialErrhandler = "mpi_errors_are_fatal";
        /// How long a waiting rank polls before it sleeps, where every rank has a processor of its own.
        spin_us: mca::Int = "500", unit "microseconds", range 0 to 1000000;
        /// How long a rank looks for a message from one on another processor before it makes way for the others on its own,
        /// where ranks share processors and its turn comes next. 0: not at all.
        turn: mca::Int = "10", unit "microseconds", range 0 to 1000;
        /// Payload of unexpected messages that a process keeps, at most; beyond it senders keep theirs.
        unexpected_cap: mca::Size = "64M", unit "bytes", range 65536 to 1099511627776;
        /// Let waiting ranks yield and sleep early, as if there were more ranks than processors.
        yield_when_idle: mca::Bool = "false";
        /// Answer peers also while the program computes, by a thread of the library that makes progress then. All calls take
        /// a lock meanwhile, and a program that never computes for long gains nothing. What cannot do without asks for it itself.
        async_progress: mca::Bool = "false";
    }
}

/// The parameters of each room of the library, by the beginning that their names share.
pub(crate) const ROOMS: &[(&str, &[mca::Param])] = &[
    ("mpi", MpiParams::PARAMS),
    ("btl", bml::BtlParams::PARAMS),
    ("btl_tcp", btl_tcp::TcpParams::PARAMS),
    ("btl_ugni", btl_ugni::UgniParams::PARAMS),
    ("btl_vader", btl_vader::VaderParams::PARAMS),
    ("btl_vader", node::NodeParams::PARAMS),
    ("coll", crate::coll::CollParams::PARAMS),
    ("coll_tuned", crate::coll::TunedParams::PARAMS),
    ("gni", crate::transport::GniParams::PARAMS),
    ("rcache", RcacheParams::PARAMS),
];

/// Every parameter of the library, by room.
pub fn registry() -> mca::Registry {
    mca::Registry::new(&ROOMS.iter().map(|(_, params)| *params).collect::<Vec<_>>())
}

/// The parameters in force.
pub(crate) struct Params {
    pub mpi: MpiParams,
    /// Which algorithms collectives use.
    pub tuned: Tuned,
    /// What is done about memory that transports register.
    pub rcache: RcacheParams,
    /// How a wait spends its time.
    pub waiting: Policy,
    /// Where every value came from, for MPI_T and for other rooms' parameters.
    pub values: mca::Values,
}

impl Params {
    /// Reads the environment and the parameter files. A value that does not parse ends the process: nothing can
    /// be reported through MPI yet.
    pub fn read() -> Params {
        let values = mca::Values::load(platform::image::prefix().as_deref())
            .unwrap_or_else(|error| crate::env::give_up(&error.to_string()));
        let mpi = MpiParams::read(&values).unwrap_or_else(|error| crate::env::give_up(&error.to_string()));
        let tuned = Tuned::read(&values).unwrap_or_else(|error| crate::env::give_up(&error));
        let rcache =
            RcacheParams::read(&values).unwrap_or_else(|error| crate::env::give_up(&error.to_string()));
        Params { waiting: Policy::DEDICATED, mpi, tuned, rcache, values }
    }

    /// Changes a value as a tool does, before the library takes it.
    ///
    /// # Errors
    /// A value that does not fit its declaration.
    pub fn set(&mut self, param: &mca::Param, text: &str) -> Result<(), mca::BadValue> {
        self.values.set(param, text)?;
        self.mpi = MpiParams::read(&self.values)?;
        self.rcache = RcacheParams::read(&self.values)?;
        // A rule file or name that does not exist leaves the choice as it was.
        if let Ok(tuned) = Tuned::read(&self.values) {
            self.tuned = tuned;
        }
        Ok(())
    }

    /// Says which settings name no parameter; mpiexec does this for its jobs.
    pub fn report_unknown(&self) {
        for unknown in registry().unknown(&self.values) {
            eprintln!("{unknown}");
        }
    }

    /// Settles how to wait, once it is known whether ranks share processors.
    pub fn settle(&mut self, oversubscribed: bool) {
        self.waiting = if oversubscribed || self.mpi.yield_when_idle {
            Policy::OVERSUBSCRIBED
        } else {
            Policy { spin: std::time::Duration::from_micros(self.mpi.spin_us as u64), ..Policy::DEDICATED }
        };
    }
}
