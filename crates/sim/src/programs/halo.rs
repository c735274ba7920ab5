//! Exchange of faces with the neighbours in a two-dimensional periodic grid.
//!
//! ```text
//!            up
//!   left   [rank]   right         rank = x + width · y
//!           down
//! ```

use super::{Timed, is_painted, paint};
use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use abi::Result;
use pml::ReqId;

/// Exchanges before time is taken.
const WARM_UP: u32 = 1;
const SIDES: usize = 4;

/// One rank of a halo exchange.
#[derive(Clone, Debug)]
pub struct Halo {
    /// Left, right, up, down.
    neighbours: [u32; SIDES],
    face: usize,
    rounds: u32,
    done: u32,
    open: Vec<ReqId>,
    begun: bool,
    time: Timed,
    intact: bool,
}

/// Width and height of the grid of `ranks` that is nearest to a square.
pub fn grid(ranks: u32) -> (u32, u32) {
    let height = (1..=ranks.isqrt()).rev().find(|height| ranks.is_multiple_of(*height)).unwrap_or(1);
    (ranks / height, height)
}

impl Halo {
    /// The part of `rank` of `ranks`, with faces of `face` bytes.
    pub fn new(rank: u32, ranks: u32, face: usize, rounds: u32) -> Halo {
        let (width, height) = grid(ranks);
        let (x, y) = (rank % width, rank / width);
        let at = |x: u32, y: u32| x % width + width * (y % height);
        Halo {
            neighbours: [at(x + width - 1, y), at(x + 1, y), at(x, y + height - 1), at(x, y + 1)],
            face,
            rounds: rounds + WARM_UP,
            done: 0,
            open: Vec::new(),
            begun: false,
            time: Timed::default(),
            intact: true,
        }
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
        let (out, into): (Vec<_>, Vec<_>) = (0..SIDES).map(|side| (place(side), place(SIDES + side))).unzip();
        // What a neighbour sends towards its left arrives from this rank's right: sides pair by their lowest bit.
        for (side, &into) in into.iter().enumerate() {
            self.open.push(end.irecv(self.neighbours[side], (side ^ 1) as i32, into)?);
        }
        for (side, &out) in out.iter().enumerate() {
            if self.done == 0 {
                paint(out, end.rank() * SIDES as u32 + side as u32);
            }
            self.open.extend(end.isend(self.neighbours[side], side as i32, out)?);
        }
        Ok(())
    }

    fn check(&self, end: &Endpoint) -> bool {
        (0..SIDES).all(|side| {
            let seed = self.neighbours[side] * SIDES as u32 + (side ^ 1) as u32;
            is_painted(end.memory().part((SIDES + side) * self.face, self.face), seed)
        })
    }
}

impl Program for Halo {
    fn memory(&self) -> usize {
        2 * SIDES * self.face
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
    use super::{Halo, grid};

    #[test]
    fn grids_are_near_squares() {
        assert_eq!([16, 1024, 16384, 12, 7].map(grid), [(4, 4), (32, 32), (128, 128), (4, 3), (7, 1)]);
    }

    #[test]
    fn neighbourhood_is_mutual() {
        for rank in 0..12 {
            for (side, &neighbour) in Halo::new(rank, 12, 8, 1).neighbours.iter().enumerate() {
                assert_eq!(Halo::new(neighbour, 12, 8, 1).neighbours[side ^ 1], rank);
            }
        }
    }
}
