//! The list of the library's parameters: one line for each crate that declares some; transports have theirs in the list of
//! `bml`.
//!
//! The library, the launcher and the tools read the same list. It stands below the library, so a launcher knows every
//! parameter without the functions of MPI. Building it takes the crates that declare them, engine, message layers and
//! networks among them; of these only the tables are linked into a launcher, since the linker drops what it does not call.
#![forbid(unsafe_code)]

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

mca::choice! {
    /// What becomes of a dead-lock.
    pub enum Deadlock {
        /// mpiexec reports it and ends the job with code 125.
        End = "end",
        /// mpiexec reports it, and the job goes on.
        Report = "report",
        /// None is looked for.
        Off = "off",
    }
}

mca::params! {
    /// Parameters of the objects of MPI, which stand above this list.
    pub struct MpiParams("mpi_") {
        /// Error handler that communicators start with, and that errors before and after MPI go to
        /// (`-initial-errhandler` of mpiexec).
        initial_errhandler: InitialErrhandler = "mpi_errors_are_fatal";
        /// Report which transport carries messages to whom, and why (`-report` of mpiexec).
        report: mca::Bool = "false";
        /// What mpiexec does about ranks that wait for each other for good (`-deadlock` of mpiexec).
        deadlock: Deadlock = "end";
        /// How long a rank has to wait until mpiexec looks whether it does so for good.
        deadlock_s: mca::Int = "10", unit "seconds", range 1 to 1000000;
    }
}

/// The parameters of the crates that are no transports, by the beginning that their names share.
const LISTED: &[(&str, &[mca::Param])] = &[
    ("mpi", MpiParams::PARAMS),
    ("mpi", engine::EngineParams::PARAMS),
    ("mpi", pml_ob1::Ob1Params::PARAMS),
    ("pml", engine::PmlParams::PARAMS),
    ("coll", coll::tuned::CollParams::PARAMS),
    ("coll_tuned", coll::tuned::TunedParams::PARAMS),
    ("gni", gni_soft::GniParams::PARAMS),
    ("mpich", mtl_portals::MpichParams::PARAMS),
    ("mtl_portals", mtl_portals::MtlPortalsParams::PARAMS),
    ("mtl_shmem", mtl_shmem::MtlShmemParams::PARAMS),
    ("ofi", ofi::OfiParams::PARAMS),
    ("io", io::IoParams::PARAMS),
    ("osc", osc::OscParams::PARAMS),
    ("portals", portals_soft::PortalsParams::PARAMS),
    ("rcache", rcache::RcacheParams::PARAMS),
];

/// The parameters of all crates, by the beginning that their names share, in the order of the alphabet.
pub fn all() -> Vec<(&'static str, &'static [mca::Param])> {
    let mut all = [LISTED, bml::PARAMS].concat();
    all.sort_by_key(|&(name, _)| name);
    all
}

/// Every parameter, crate by crate.
pub fn registry() -> mca::Registry {
    mca::Registry::new(&all().into_iter().map(|(_, params)| params).collect::<Vec<_>>())
}
