//! Exchange of faces with the neighbours in a periodic grid of two or three dimensions.
//!
//! ```text
//!            up
//!   left   [rank]   right         rank = x + width · (y + height · z)
//!           down
//! ```

use super::{Timed, is_painted, paint};
use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use crate::speaks::Speaks;
use abi::Result;
use pml::ReqId;

/// Exchanges before time is taken.
const WARM_UP: u32 = 1;

/// One rank of a halo exchange.
#[derive(Clone, Debug)]
pub struct Halo {
    /// Down and up along each dimension.
    neighbours: Box<[u32]>,
    face: usize,
    rounds: u32,
    done: u32,
    open: Vec<ReqId>,
    begun: bool,
    time: Timed,
    intact: bool,
}

/// Width and height of the grid of `ranks` that is nearest to a square.
pub fn square(ranks: u32) -> [u32; 2] {
    let height = (1..=ranks.isqrt()).rev().find(|height| ranks.is_multiple_of(*height)).unwrap_or(1);
    [ranks / height, height]
}

/// The neighbours of a rank, down and up along each dimension.
fn neighbours(rank: u32, grid: &[u32]) -> Box<[u32]> {
    let mut stride = 1;
    let mut sides = Vec::with_capacity(2 * grid.len());
    for &size in grid {
        let at = rank / stride % size;
        let moved = |to: u32| rank - at * stride + to % size * stride;
        sides.extend([moved(at + size - 1), moved(at + 1)]);
        stride *= size;
    }
    sides.into()
}

impl Halo {
    /// The part of `rank` in a grid, with faces of `face` bytes.
    pub fn new(rank: u32, grid: &[u32], face: usize, rounds: u32) -> Halo {
        Halo {
            neighbours: neighbours(rank, grid),
            face,
            rounds: rounds + WARM_UP,
            done: 0,
            open: Vec::new(),
            begun: false,
            time: Timed::default(),
            intact: true,
        }
    }

    fn sides(&self) -> usize {
        self.neighbours.len()
    }

    /// When the timed exchanges began and ended on this rank.
    pub fn time(&self) -> Timed {
        self.time
    }

    /// Whether each face that came is its neighbour's.
    pub fn is_intact(&self) -> bool {
        self.intact
    }

    fn begin(&mut self, end: &mut Endpoint) -> Result<()> {
        let place = |index: usize| end.memory().part(index * self.face, self.face);
        let sides = self.sides();
        let (out, into): (Vec<_>, Vec<_>) = (0..sides).map(|side| (place(side), place(sides + side))).unzip();
        // What a neighbour sends towards its left arrives from this rank's right: sides pair by their lowest bit.
        for (side, &into) in into.iter().enumerate() {
            self.open.push(end.irecv(self.neighbours[side], (side ^ 1) as i32, into)?);
        }
        for (side, &out) in out.iter().enumerate() {
            if self.done == 0 {
                paint(out, end.rank() * sides as u32 + side as u32);
            }
            self.open.extend(end.isend(self.neighbours[side], side as i32, out)?);
        }
        Ok(())
    }

    fn check(&self, end: &Endpoint) -> bool {
        let sides = self.sides();
        (0..sides).all(|side| {
            let seed = self.neighbours[side] * sides as u32 + (side ^ 1) as u32;
            is_painted(end.memory().part((sides + side) * self.face, self.face), seed)
        })
    }
}

impl Program for Halo {
    fn speaks(&self) -> Speaks {
        Speaks { within: true, between: true, meets: false }
    }

    fn memory(&self) -> usize {
        2 * self.sides() * self.face
    }

    fn share(&self) -> f64 {
        f64::from(self.done) / f64::from(self.rounds)
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        loop {
            if !self.begun {
                if self.done == WARM_UP {
                    self.time.begun = end.now();
                }
                if self.done == self.rounds {
                    self.time.ended = end.now();
                    self.intact = self.check(end);
                    return Ok(Step::Done);
                }
                self.begin(end)?;
                self.begun = true;
            }
            self.open.retain(|&id| !end.take(id));
            if !self.open.is_empty() {
                return Ok(Step::Waiting);
            }
            self.begun = false;
            self.done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{neighbours, square};

    #[test]
    fn grids_are_near_squares() {
        assert_eq!([16, 1024, 16384, 12, 7].map(square), [[4, 4], [32, 32], [128, 128], [4, 3], [7, 1]]);
    }

    #[test]
    fn neighbourhood_is_mutual() {
        for grid in [&[4, 3][..], &[3, 2, 2]] {
            for rank in 0..12 {
                for (side, &neighbour) in neighbours(rank, grid).iter().enumerate() {
                    assert_eq!(neighbours(neighbour, grid)[side ^ 1], rank);
                }
            }
        }
    }
}
