//! LAMMPS's calls of MPI in its Lennard-Jones benchmark: a skeleton without atoms.
//!
//! ```text
//!   a step            positions of ghost atoms to six neighbours, one after another: x down, x up, y down, ...
//!                     compute
//!                     their forces back, in the opposite order
//!   each 20th step    before that: counts and new ghost atoms to six neighbours
//! ```
//!
//! The lengths follow from the benchmark's geometry (density 0.8442, cutoff 2.5 with a skin of 0.3, 256,000 atoms a rank),
//! in which the ghosts of a dimension include those that came along the dimensions before. Migrating atoms are left out.
//! All ranks have one buffer together: no rank reads the data.

use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use crate::jitter::Jitter;
use crate::speaks::Speaks;
use abi::Result;
use gni::Time;
use mem::UserMem;
use pml::ReqId;

/// Bytes of a position or force, and of a new ghost atom: six words.
const MOVED: f64 = 24.0;
const MADE: f64 = 48.0;
/// Bytes of a count of atoms.
const COUNT: usize = 4;
/// Functions in which LAMMPS spends its time in MPI.
pub(crate) const FUNCTIONS: [&str; 3] = ["MPI_Send", "MPI_Wait", "MPI_Sendrecv"];
const DENSITY: f64 = 0.8442;
const GHOSTS: f64 = 2.8;
const ATOMS: f64 = 256_000.0;
/// Steps that are simulated: one before time is taken, some ordinary ones, one with new neighbours.
const WARM_UP: u32 = 1;
/// See [`WARM_UP`].
pub(crate) const ORDINARY: u32 = 3;
/// Messages with one neighbour after another.
const SWAPS: u32 = 6;

/// Bytes of the ghost atoms along dimension `dim`.
fn ghosts(dim: u32, each: f64) -> usize {
    let side = (ATOMS / DENSITY).cbrt();
    let wide = side + 2.0 * GHOSTS;
    let area = [side * side, side * wide, wide * wide][dim as usize];
    (DENSITY * area * GHOSTS) as usize * each as usize
}

/// What a rank does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Compute,
    /// A message to one side and one from the other.
    Swap {
        dim: u32,
        up: bool,
        bytes: usize,
    },
}

/// The actions of a step, in order; `None` beyond the last.
fn action(index: u32, renews: bool) -> Option<Action> {
    let swap = |at: u32, bytes: usize| Action::Swap { dim: at / 2, up: at % 2 == 1, bytes };
    let renewal = if renews { 2 * SWAPS } else { 0 };
    Some(match index {
        _ if index < renewal && index.is_multiple_of(2) => swap(index / 2, COUNT),
        _ if index < renewal => swap(index / 2, ghosts(index / 4, MADE)),
        _ => match index - renewal {
            at @ 0..SWAPS => swap(at, ghosts(at / 2, MOVED)),
            SWAPS => Action::Compute,
            at if at <= 2 * SWAPS => {
                let back = 2 * SWAPS - at;
                swap(back ^ 1, ghosts(back / 2, MOVED))
            }
            _ => return None,
        },
    })
}

/// A job's shape and computing time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LammpsPlan {
    /// Ranks along x, y and z.
    pub grid: [u32; 3],
    /// Nanoseconds that a rank computes in a step, on average.
    pub compute: f64,
    /// How far ranks and steps are from that.
    pub jitter: Jitter,
}

/// One rank of LAMMPS.
#[derive(Clone, Debug)]
pub struct Lammps {
    plan: LammpsPlan,
    rank: u32,
    step: u32,
    at: u32,
    open: Vec<ReqId>,
    began: bool,
    computed: bool,
    /// The message that is being sent, when its exchange began, and until when it was being sent.
    sending: Option<ReqId>,
    exchanged: Time,
    sent: Time,
    /// Nanoseconds of the timed steps in each of [`FUNCTIONS`].
    within: [u64; 3],
    /// When the timed steps began, when the ordinary ones ended, and when all did.
    marks: [Time; 3],
    computing: u64,
}

impl Lammps {
    /// The part of `rank`.
    pub fn new(plan: LammpsPlan, rank: u32) -> Lammps {
        let marks = [Time::START; 3];
        Lammps {
            plan,
            rank,
            step: 0,
            at: 0,
            open: Vec::new(),
            began: false,
            computed: false,
            sending: None,
            exchanged: Time::START,
            sent: Time::START,
            within: [0; 3],
            marks,
            computing: 0,
        }
    }

    /// When the timed steps began, when the ordinary ones ended, and when all did.
    pub fn marks(&self) -> [Time; 3] {
        self.marks
    }

    /// Nanoseconds of the timed steps in each of [`FUNCTIONS`].
    pub fn within(&self) -> [u64; 3] {
        self.within
    }

    /// Share of the timed steps that this rank was within MPI.
    pub fn mpi_share(&self) -> f64 {
        1.0 - self.computing as f64 / (self.marks[2] - self.marks[0]).0.max(1) as f64
    }

    fn neighbour(&self, dim: u32, up: bool) -> u32 {
        let grid = Grid(self.plan.grid);
        let mut step = [0; 3];
        step[dim as usize] = if up { 1 } else { -1 };
        let around = grid.wrapped(grid.place(self.rank), step);
        grid.rank(around)
    }

    /// An exchange is over. LAMMPS exchanges counts by `MPI_Sendrecv`, and data by a receive, `MPI_Send` and `MPI_Wait`.
    fn count(&mut self, bytes: usize, now: Time) {
        if bytes == COUNT {
            self.within[2] += (now - self.exchanged).0;
        } else {
            self.within[0] += (self.sent - self.exchanged).0;
            self.within[1] += (now - self.sent).0;
        }
    }

    fn begin(&mut self, end: &mut Endpoint, action: Action) -> Result<()> {
        let Action::Swap { dim, up, bytes } = action else { return Ok(()) };
        let (to, from) = (self.neighbour(dim, up), self.neighbour(dim, !up));
        // A rank that is its own neighbour copies; LAMMPS does not send then.
        if to != self.rank {
            let buffer: UserMem = end.memory().part(0, bytes);
            let [send, _, both] = FUNCTIONS;
            if bytes == COUNT {
                end.enter(|| both);
            }
            self.open.push(end.irecv(from, self.at as i32, buffer)?);
            if bytes != COUNT {
                end.enter(|| send);
            }
            self.sending = end.isend(to, self.at as i32, buffer)?;
            self.open.extend(self.sending);
        }
        Ok(())
    }
}

impl Program for Lammps {
    fn speaks(&self) -> Speaks {
        Speaks { within: true, between: true, meets: false }
    }

    fn memory(&self) -> usize {
        ghosts(2, MADE)
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn share(&self) -> f64 {
        f64::from(self.step) / f64::from(WARM_UP + ORDINARY + 1)
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        loop {
            let renews = self.step == WARM_UP + ORDINARY;
            let Some(action) = action(self.at, renews) else {
                self.step += 1;
                self.at = 0;
                match self.step {
                    WARM_UP => self.marks[0] = end.now(),
                    step if step == WARM_UP + ORDINARY => self.marks[1] = end.now(),
                    step if step > WARM_UP + ORDINARY => {
                        self.marks[2] = end.now();
                        return Ok(Step::Done);
                    }
                    _ => {}
                }
                continue;
            };
            if action == Action::Compute && !self.computed {
                let time = self.plan.jitter.drawn(self.plan.compute, self.rank, self.step);
                end.compute(time);
                self.computing += if self.step >= WARM_UP { time.0 } else { 0 };
                self.computed = true;
                return Ok(Step::Computing);
            }
            if !self.began {
                self.began = true;
                self.exchanged = end.now();
                self.begin(end, action)?;
                self.sent = end.now();
            }
            let was_sending = self.sending.is_some();
            self.open.retain(|&id| !end.take(id));
            self.sending = self.sending.filter(|id| self.open.contains(id));
            if was_sending {
                self.sent = end.now();
            }
            // MPI_Send ends, and MPI_Wait begins.
            let counts = matches!(action, Action::Swap { bytes: COUNT, .. });
            if self.sending.is_none() && !counts {
                end.leave();
            }
            if !self.open.is_empty() {
                return Ok(Step::Waiting);
            }
            if let (Action::Swap { bytes, .. }, true) = (action, self.step >= WARM_UP) {
                self.count(bytes, end.now());
            }
            end.leave();
            (self.began, self.computed) = (false, false);
            self.at += 1;
        }
    }
}

/// Ranks in a three-dimensional grid, x first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid([u32; 3]);

impl Grid {
    /// That of `ranks` which is nearest to a cube.
    pub fn new(ranks: u32) -> Grid {
        Grid(grid(ranks))
    }

    /// Where a rank is.
    pub fn place(&self, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.0;
        [rank % x, rank / x % y, rank / (x * y)]
    }

    fn rank(&self, [x, y, z]: [u32; 3]) -> u32 {
        x + self.0[0] * (y + self.0[1] * z)
    }

    /// The place in a direction, across the border to the other side.
    fn wrapped(&self, place: [u32; 3], step: [i32; 3]) -> [u32; 3] {
        [0, 1, 2].map(|dim| (place[dim] as i32 + step[dim]).rem_euclid(self.0[dim] as i32) as u32)
    }

    /// The rank in a direction, so many steps away; there is none beyond the border.
    pub fn neighbour(&self, place: [u32; 3], step: [i32; 3], steps: u32) -> Option<u32> {
        let mut there = [0; 3];
        for dim in 0..3 {
            let at = i64::from(place[dim]) + i64::from(step[dim]) * i64::from(steps);
            there[dim] = u32::try_from(at).ok().filter(|&at| at < self.0[dim])?;
        }
        Some(self.rank(there))
    }
}

/// The three-dimensional grid of `ranks` that is nearest to a cube.
pub fn grid(ranks: u32) -> [u32; 3] {
    let divisor = |number: u32, most: u32| (1..=most).rev().find(|d| number.is_multiple_of(*d)).unwrap_or(1);
    let depth = divisor(ranks, f64::from(ranks).cbrt().round() as u32);
    let height = divisor(ranks / depth, (ranks / depth).isqrt());
    [ranks / depth / height, height, depth]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_sends_the_other_expects() {
        let plan = LammpsPlan { grid: grid(24), compute: 1.0, jitter: Jitter::NONE };
        assert_eq!(grid(24), [4, 2, 3]);
        for rank in 0..24 {
            for dim in 0..3 {
                let up = Lammps::new(plan, rank).neighbour(dim, true);
                assert_eq!(Lammps::new(plan, up).neighbour(dim, false), rank);
            }
        }
    }

    #[test]
    fn a_step_has_twelve_swaps_and_a_renewal_twelve_more() {
        let swaps = |renews| (0..).map_while(|at| action(at, renews)).count();
        assert_eq!((swaps(false), swaps(true)), (13, 25));
        assert_eq!(ghosts(0, MOVED), 10_669 * 24);
    }
}
