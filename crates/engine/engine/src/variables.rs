//! Performance variables of the engine.

use mca::{Quantity, Variable};

use crate::P2p;

/// The variables, read from the way to other processes.
pub const VARIABLES: &[Variable<P2p>] = &[
    Variable::new(
        "mpi_stray_frames",
        Quantity::Counter,
        |p2p| p2p.strays(),
        "Frames dropped because nothing in this process takes their class",
    ),
    Variable::new(
        "mpi_bad_requests",
        Quantity::Counter,
        |p2p| p2p.active().bad_frames(),
        "Active messages dropped because no honest peer sends them",
    ),
];
