//! What each application does in a step. See the module above for what is known and what is assumed.

use super::{Application, Job};
use coll::{Params, Schedule};
use mem::UserMem;
use std::sync::Arc;

/// Steps that are simulated after one that is not timed.
pub(super) const STEPS: u32 = 2;

/// A part of a step.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// Nanoseconds, and by which share of that a rank computes longer at most.
    Compute(f64, f64),
    /// A message to each of some ranks and one from each; receives are posted first.
    Exchange(Partners, usize),
    /// The same, but nothing is waited for.
    Post(Partners, usize),
    /// What was posted is waited for.
    Wait,
    /// One partner after another, each message waited for.
    Shift(Partners, usize),
    /// A reduction of a short vector over all ranks.
    Allreduce,
}

/// The ranks with which a rank exchanges messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Partners {
    /// Both neighbours along each dimension of a grid that closes to a torus.
    Grid([u32; 3]),
    /// All other ranks.
    All,
}

/// A job's plan, the same for all ranks.
pub(super) struct JobPlan {
    pub(super) ranks: u32,
    /// Each with the section that its time counts for.
    pub(super) phases: Vec<(Phase, usize)>,
    /// What all messages but those of reductions are sent from and received into: no rank reads it.
    pub(super) buffer: UserMem,
    pub(super) schedules: Vec<Arc<Schedule>>,
    /// Words of a reduction.
    pub(super) words: u64,
    /// A factor of what phases of computing differ by.
    pub(super) imbalance: f64,
}

/// The grid of `ranks` in so many dimensions that is nearest to a square or cube.
pub(super) fn grid(ranks: u32, dimensions: u32) -> [u32; 3] {
    let divisor = |number: u32, most: u32| (1..=most).rev().find(|d| number.is_multiple_of(*d)).unwrap_or(1);
    let depth = if dimensions == 3 { divisor(ranks, f64::from(ranks).cbrt().round() as u32) } else { 1 };
    let height = if dimensions == 1 { 1 } else { divisor(ranks / depth, (ranks / depth).isqrt()) };
    [ranks / depth / height, height, depth]
}

pub(super) fn plan(job: &Job<'_>) -> JobPlan {
    let &Job { application, ranks, allreduce, imbalance } = job;
    let (phases, words) = match application {
        Application::Pop => (pop(ranks), 2),
        Application::Vh1 => (vh1(ranks), 1),
        Application::Gtc => (gtc(ranks), 1024),
        Application::S3d => (s3d(ranks), 1),
    };
    let longest = |(phase, _): &(Phase, usize)| match phase {
        Phase::Exchange(_, bytes) | Phase::Post(_, bytes) | Phase::Shift(_, bytes) => *bytes,
        _ => 0,
    };
    let schedule = |rank| {
        let params = Params { blocks: coll::tuned::block_class(words), ..Params::new(rank, ranks) };
        Arc::new((allreduce.build)(&params))
    };
    JobPlan {
        ranks,
        buffer: portals::lasting(phases.iter().map(longest).max().unwrap_or(0)),
        phases,
        schedules: (0..ranks).map(schedule).collect(),
        words,
        imbalance,
    }
}

/// 320 x 384 points in 40 levels. The baroclinic phase exchanges two rows of all levels eight times; each of 20
/// iterations of the barotropic solver (for about ten times as many) exchanges two rows of one level and reduces two sums.
fn pop(ranks: u32) -> Vec<(Phase, usize)> {
    let [width, height, _] = grid(ranks, 2);
    let neighbours = Partners::Grid([width, height, 1]);
    let columns = 320.0 * 384.0 / f64::from(ranks);
    let edge = (320 / width).max(384 / height) as usize;
    let mut phases = Vec::new();
    for _ in 0..8 {
        phases.push((Phase::Compute(columns * 40.0 * 100.0 / 8.0, 0.02), 0));
        phases.push((Phase::Exchange(neighbours, edge * 2 * 40 * 8), 0));
    }
    for _ in 0..20 {
        phases.push((Phase::Compute(columns * 20.0, 0.02), 1));
        phases.push((Phase::Exchange(neighbours, edge * 2 * 8), 1));
        phases.push((Phase::Allreduce, 1));
    }
    phases
}

/// 256 x 256 x 64 zones of six variables, of which a step sweeps along each dimension and transposes in between.
fn vh1(ranks: u32) -> Vec<(Phase, usize)> {
    let zones = 256.0 * 256.0 * 64.0;
    let sweep = Phase::Compute(zones / f64::from(ranks) * 1000.0, 0.05);
    let transpose = Phase::Exchange(Partners::All, (zones * 48.0 / f64::from(ranks * ranks)) as usize);
    let mut phases = Vec::new();
    for _ in 0..4 {
        phases.extend([(sweep.clone(), 0), (transpose.clone(), 0)]);
    }
    phases.push((Phase::Allreduce, 0));
    phases
}

/// Particles that leave a rank's part of the torus move on along the ring, in both directions one after the other; a
/// field is summed up.
fn gtc(ranks: u32) -> Vec<(Phase, usize)> {
    let ring = Partners::Grid([ranks, 1, 1]);
    let mut phases = Vec::new();
    for _ in 0..2 {
        phases.extend([
            (Phase::Compute(50e6, 0.03), 0),
            (Phase::Shift(ring, 1 << 20), 0),
            (Phase::Compute(5e6, 0.03), 0),
            (Phase::Shift(ring, 1 << 17), 0),
            (Phase::Allreduce, 0),
        ]);
    }
    phases
}

/// 50 x 50 x 50 points a rank; each of six stages exchanges four layers of a variable, 80 kB, with six neighbours, and
/// computes inside meanwhile, as the program does.
fn s3d(ranks: u32) -> Vec<(Phase, usize)> {
    let neighbours = Partners::Grid(grid(ranks, 3));
    let mut phases = Vec::new();
    for _ in 0..6 {
        phases.push((Phase::Post(neighbours, 50 * 50 * 4 * 8), 0));
        phases.push((Phase::Compute(5e6, 0.01), 0));
        phases.push((Phase::Wait, 0));
    }
    phases.push((Phase::Allreduce, 0));
    phases
}

#[cfg(test)]
mod tests {
    use super::grid;

    #[test]
    fn grids_hold_all_ranks() {
        for ranks in [4, 16, 64, 100, 1024] {
            for dimensions in 1..=3 {
                assert_eq!(grid(ranks, dimensions).iter().product::<u32>(), ranks);
            }
        }
        assert_eq!((grid(64, 3), grid(64, 2), grid(64, 1)), ([4, 4, 4], [8, 8, 1], [64, 1, 1]));
    }
}
