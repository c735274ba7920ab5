//! The experiments that the tool `alhena sim` offers.

mod applications;
mod collectives;
mod point_to_point;
mod registered;
mod replayed;

pub use applications::{AmgRun, LAMMPS_COMPUTE, Run, amg, lammps};
pub use collectives::{
    Algorithm, Dimensions, Outcome, algorithms, allreduce, allreduce_algorithms, chosen, halo,
};
pub use point_to_point::{Latency, bandwidth, latency};
pub use registered::{Pattern, Registered, Way, registered};
pub use replayed::{Replayed, Share, replay};
