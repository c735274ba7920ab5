//! The parameters in force. Crates declare their own; the crate `parameters` lists them.

use coll::tuned::Tuned;
use engine::EngineParams;
use io::{IoParams, Staging};
use osc::OscParams;
use parameters::MpiParams;
use platform::waiter::Policy;
use rcache::RcacheParams;

/// The parameters in force.
pub struct Params {
    pub mpi: MpiParams,
    /// How ranks wait.
    pub engine: EngineParams,
    /// Which algorithms collectives use.
    pub tuned: Tuned,
    /// What is done about memory that transports register.
    pub rcache: RcacheParams,
    /// How windows reach memory.
    pub osc: OscParams,
    /// Where data that is written to files waits.
    pub staging: Staging,
    /// How a wait spends its time.
    pub waiting: Policy,
    /// Where every value came from, for MPI_T and for other crates' parameters.
    pub values: mca::Values,
}

impl Params {
    /// Reads the environment and the parameter files. A value that does not parse ends the process: nothing can
    /// be reported through MPI yet.
    pub fn read() -> Params {
        let values = mca::Values::load(platform::image::prefix().as_deref())
            .unwrap_or_else(|error| crate::fatal::give_up(&error.to_string()));
        let mpi = or_give_up(MpiParams::read(&values));
        let engine = or_give_up(EngineParams::read(&values));
        let tuned = Tuned::read(&values).unwrap_or_else(|error| crate::fatal::give_up(&error));
        let rcache = or_give_up(RcacheParams::read(&values));
        let osc = or_give_up(OscParams::read(&values));
        let staging = or_give_up(IoParams::read(&values)).start();
        let staging = staging.unwrap_or_else(|error| crate::fatal::give_up(&error));
        Params { waiting: Policy::DEDICATED, mpi, engine, tuned, rcache, osc, staging, values }
    }

    /// Changes a value as a tool does, before the library takes it.
    ///
    /// # Errors
    /// A value that does not fit its declaration.
    pub fn set(&mut self, param: &mca::Param, text: &str) -> Result<(), mca::BadValue> {
        self.values.set(param, text)?;
        self.mpi = MpiParams::read(&self.values)?;
        self.engine = EngineParams::read(&self.values)?;
        self.rcache = RcacheParams::read(&self.values)?;
        self.osc = OscParams::read(&self.values)?;
        // A place that does not exist leaves it where it was.
        if let Ok(staging) = IoParams::read(&self.values)?.start() {
            self.staging = staging;
        }
        // A rule file or name that does not exist leaves the choice as it was.
        if let Ok(tuned) = Tuned::read(&self.values) {
            self.tuned = tuned;
        }
        Ok(())
    }

    /// Reports which settings name no parameter; mpiexec does this for its jobs.
    pub fn report_unknown(&self) {
        for unknown in parameters::registry().unknown(&self.values) {
            eprintln!("{unknown}");
        }
    }

    /// Settles how to wait, once it is known whether ranks share processors.
    pub fn settle(&mut self, oversubscribed: bool) {
        self.waiting = if oversubscribed || self.engine.yield_when_idle {
            Policy::OVERSUBSCRIBED
        } else {
            Policy { spin: std::time::Duration::from_micros(self.engine.spin_us as u64), ..Policy::DEDICATED }
        };
    }
}

fn or_give_up<T>(read: Result<T, mca::BadValue>) -> T {
    read.unwrap_or_else(|error| crate::fatal::give_up(&error.to_string()))
}
