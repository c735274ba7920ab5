//! Virtual topologies (MPI-5.0 chapter 8).

/// The topology attached to a communicator. There is none yet.
#[derive(Clone, Debug)]
pub(crate) enum Topology {}
