//! The list of the library's parameters: one line for each room that declares some.
//!
//! The library, the launcher and the tools read the same list. It stands below the library, so that a launcher knows every
//! parameter and links none of MPI.
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

mca::params! {
    /// Parameters of the objects of MPI, which stand above this list.
    pub struct MpiParams("mpi_") {
        /// Error handler that communicators start with, and that errors before and after MPI go to
        /// (`-initial-errhandler` of mpiexec).
        initial_errhandler: InitialErrhandler = "mpi_errors_are_fatal";
        /// Report which transport carries messages to whom, and why (`-report` of mpiexec).
        report: mca::Bool = "false";
    }
}

/// The parameters of each room, by the beginning that their names share.
pub const ALL: &[(&str, &[mca::Param])] = &[
    ("mpi", MpiParams::PARAMS),
    ("mpi", engine::EngineParams::PARAMS),
    ("mpi", pml_ob1::Ob1Params::PARAMS),
    ("pml", engine::PmlParams::PARAMS),
    ("btl", bml::BtlParams::PARAMS),
    ("btl_ofi", btl_ofi::BtlOfiParams::PARAMS),
    ("btl_portals", btl_portals::BtlPortalsParams::PARAMS),
    ("btl_tcp", btl_tcp::TcpParams::PARAMS),
    ("btl_ugni", btl_ugni::UgniParams::PARAMS),
    ("btl_vader", btl_vader::VaderParams::PARAMS),
    ("btl_vader", node::NodeParams::PARAMS),
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

/// Every parameter, room by room.
pub fn registry() -> mca::Registry {
    mca::Registry::new(&ALL.iter().map(|(_, params)| *params).collect::<Vec<_>>())
}
