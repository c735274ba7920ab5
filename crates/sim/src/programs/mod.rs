//! What virtual ranks do.

mod amg;
mod collective;
mod exchange;
mod halo;
mod lammps;
mod ping_pong;
mod replay;
mod stream;

pub use amg::Amg;
pub(crate) use amg::{Plan as AmgPlan, TIMED};
pub use collective::Allreduce;
pub(crate) use collective::{is_rooted, span};
pub use exchange::Exchange;
pub use halo::{Halo, square};
pub(crate) use lammps::{FUNCTIONS, ORDINARY};
pub use lammps::{Lammps, Plan, grid};
pub use ping_pong::PingPong;
pub use replay::Replay;
pub use stream::Stream;

use gni::Time;
use mem::{PeerBytes, UserMem};

/// When the repetitions of a program began and ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timed {
    /// After the repetitions that make connections.
    pub begun: Time,
    /// After the last.
    pub ended: Time,
}

impl Timed {
    /// Nanoseconds of one of `count` repetitions.
    pub fn each(&self, count: u32) -> f64 {
        (self.ended - self.begun).0 as f64 / f64::from(count)
    }
}

/// Bytes that tell apart where they came from and where they belong.
fn pattern(seed: u32, bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|at| (at.wrapping_mul(31) ^ at >> 8 ^ seed.wrapping_mul(0x9e37)) as u8).collect()
}

/// Fills memory with the pattern of `seed`.
fn paint(memory: UserMem, seed: u32) {
    memory.write(PeerBytes::of(&pattern(seed, memory.len())));
}

/// Whether memory holds the pattern of `seed`.
fn is_painted(memory: UserMem, seed: u32) -> bool {
    memory.as_bytes().to_vec() == pattern(seed, memory.len())
}
