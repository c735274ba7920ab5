//! The experiments that the tool `alhena sim` offers.

mod applications;
mod collectives;
mod one_sided;
mod point_to_point;
mod raw_pair;
mod registered;
mod replayed;

pub use applications::{AmgPart, AmgRun, AmgWork, LAMMPS_COMPUTE, LAMMPS_PAPER, Run, amg, lammps};
pub use collectives::{
    Algorithm, Dimensions, Outcome, algorithms, allreduce, allreduce_algorithms, chosen, collective, halo,
};
pub use one_sided::{Contender, Measure, gather, one_sided};
pub use point_to_point::{Latency, bandwidth, latency};
pub use raw_pair::raw_latency;
pub use registered::{Pattern, Registered, SendMethod, registered};
pub use replayed::{Replayed, Share, replay};
