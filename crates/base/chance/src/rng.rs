//! The generator (xorshift64*): faults, interleavings, programs of tests.

use crate::mix::STEP;

/// The generator; equal seeds give equal sequences on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(STEP) | 1)
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Whether an event of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// A number from 1 to `most`.
    pub fn up_to(&mut self, most: u32) -> u32 {
        1 + (self.next() >> 33) as u32 % most.max(1)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// An index below `bound`, which is not 0.
    pub fn index(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }

    /// One of two.
    pub fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }

    /// One of `all`, which is not empty.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }

    /// Puts `list` into another order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for place in (1..list.len()).rev() {
            list.swap(place, self.index(place + 1));
        }
    }
}
