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
        /// Go on when a process of the job fails: operations that need it give MPIX_ERR_PROC_FAILED (`-with-ft ulfm` of mpiexec, which sees to
        /// the rest).
        ft_enable: mca::Bool = "false";
        /// What mpiexec does about ranks that wait for each other for good (`-deadlock` of mpiexec).
        deadlock: Deadlock = "end";
        /// How long a rank has to wait until mpiexec looks whether it does so for good.
        deadlock_s: mca::Int = "10", unit "seconds", range 1 to 1000000;
    }
}

mca::params! {
    /// Parameters of processes that are started, met and parted from while a program runs.
    pub struct DynamicParams("dynamic_") {
        /// How long MPI_Comm_connect waits for a process that accepts; 0: without end. The info key `timeout` of a call, in
        /// seconds, wins.
        connect_timeout_ms: mca::Int = "180000", unit "milliseconds", range 0 to 86400000;
        /// How long MPI_Comm_spawn waits for all new processes to call MPI_Init; 0: without end. What has ended before
        /// is noticed at once.
        spawn_timeout_ms: mca::Int = "0", unit "milliseconds", range 0 to 86400000;
        /// Folder where MPI_Publish_name writes names, for all jobs of the user that have the same one. Without a value it
        /// is one of this host and user.
        names: mca::Text = "";
    }
}

/// The parameters of the crates that are no transports, by the beginning that their names share.
const LISTED: &[(&str, &[mca::Param])] = &[
    ("mpi", MpiParams::PARAMS),
    ("mpi", engine::EngineParams::PARAMS),
    ("mpi", pml_ob1::Ob1Params::PARAMS),
    ("mpi", sums::SumParams::PARAMS),
    ("pml", engine::PmlParams::PARAMS),
    ("coll", coll::tuned::CollParams::PARAMS),
    ("coll_tuned", coll::tuned::TunedParams::PARAMS),
    ("dynamic", DynamicParams::PARAMS),
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
