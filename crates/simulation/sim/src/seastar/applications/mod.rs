//! Skeletons of the four applications of the XT4 paper: their messages and their computing, without their data.
//!
//! What is known of the programs: grids and patterns of messages. Times of computing, lengths and imbalance are
//! assumed, and no figure of the paper was used for them; so absolute times mean nothing, and what is compared are
//! layers in one program.

mod plans;
mod skeleton;

use crate::error::Error;
use crate::seastar::cluster::Cluster;
use crate::seastar::machine::Machine;
use crate::seastar::system::System;
use coll::Coll;
use coll::algorithms::registry::{self, Algorithm};
use skeleton::Skeleton;
use std::sync::Arc;

/// An application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Application {
    /// The Parallel Ocean Program, one degree: strong scaling.
    Pop,
    /// VH-1, hydrodynamics: strong scaling, transposes.
    Vh1,
    /// The Gyrokinetic Toroidal Code: weak scaling, particles that move on around a ring.
    Gtc,
    /// S3D, combustion: weak scaling, faces in three dimensions.
    S3d,
}

impl Application {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Application::Pop => "POP",
            Application::Vh1 => "VH-1",
            Application::Gtc => "GTC",
            Application::S3d => "S3D",
        }
    }
}

/// Seconds of a step, as the slowest rank sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Times {
    /// All of it.
    pub step: f64,
    /// Of POP: the baroclinic phase, with neighbours; of others the whole.
    pub first: f64,
    /// Of POP: the barotropic phase, with a reduction each iteration; of others 0.
    pub second: f64,
}

/// The allreduce algorithms that the paper compares in POP, by the library's names: what they are there. Open MPI's ring is
/// recursive doubling for vectors of fewer elements than ranks (its `coll_tuned_allreduce.c`), as POP's are; the last is one
/// in earnest.
pub const ALLREDUCES: [(&str, &str); 4] = [
    ("tree", "binary tree, reduce and broadcast"),
    ("recursive_doubling", "recursive doubling, and Open MPI's ring"),
    ("linear", "linear"),
    ("ring", "a ring in earnest"),
];

/// An allreduce algorithm of the library that needs nothing but messages.
pub fn allreduce(name: &str) -> Option<&'static Algorithm> {
    registry::of(Coll::Allreduce).map(|(_, algorithm)| algorithm).find(|algorithm| algorithm.name == name)
}

/// A run of an application.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The application that runs.
    pub application: Application,
    /// On so many ranks.
    pub ranks: u32,
    /// How its reductions are made.
    pub allreduce: &'a Algorithm,
    /// A factor of the assumed differences between the ranks' times of computing.
    pub imbalance: f64,
}

/// Simulates steps of an application.
///
/// # Errors
/// [`Error`].
pub fn run(machine: &Machine, system: System, job: &Job<'_>) -> Result<Times, Error> {
    let plan = Arc::new(plans::plan(job));
    let stack = (system, machine.software(system));
    let skeleton = |me| Skeleton::new(Arc::clone(&plan), me);
    let mut cluster = Cluster::new(machine, &machine.nodes(job.ranks), stack, skeleton)?;
    cluster.run()?;
    let latest = |of: fn(&Skeleton) -> f64| cluster.programs().map(of).fold(0.0, f64::max);
    let steps = f64::from(plans::STEPS) * 1e12;
    Ok(Times {
        step: latest(|skeleton| skeleton.sections()[0] + skeleton.sections()[1]) / steps,
        first: latest(|skeleton| skeleton.sections()[0]) / steps,
        second: latest(|skeleton| skeleton.sections()[1]) / steps,
    })
}
