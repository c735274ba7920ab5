//! What virtual ranks do.

mod amg;
mod collective;
mod exchange;
mod gather;
mod halo;
mod lammps;
mod one_sided;
mod ping_pong;
mod put_ping_pong;
mod replay;
mod stream;

pub use amg::Amg;
pub(crate) use amg::{AmgPlan, Phase as AmgPhase};
pub use collective::Allreduce;
pub(crate) use collective::{is_rooted, span};
pub use exchange::Exchange;
pub use gather::{Calls, Gather};
pub use halo::{Halo, square};
pub(crate) use lammps::{FUNCTIONS, ORDINARY};
pub use lammps::{Lammps, LammpsPlan, grid};
pub use one_sided::OneSided;
pub use ping_pong::PingPong;
pub use put_ping_pong::PutPingPong;
pub use replay::Replay;
pub use stream::Stream;

use crate::endpoint::Endpoint;
use crate::speaks::Speaks;
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

/// Ranks of two nodes, each with a partner on the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pairs(pub u32);

impl Pairs {
    /// How such a rank sends to others.
    pub(crate) const SPEAKS: Speaks = Speaks { within: false, between: true, meets: false };

    /// Whether a rank is of the first node.
    pub fn is_first(self, rank: u32) -> bool {
        rank < self.0
    }

    /// The partner of a rank.
    pub fn partner(self, rank: u32) -> u32 {
        (rank + self.0) % (2 * self.0)
    }
}

/// Lets the first node's ranks begin together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    done: bool,
}

impl Start {
    /// Whether the rank computes now, once, until the next whole second of virtual time; a single pair begins
    /// alone. A rank that waits for it sleeps meanwhile, so that another round is needed before time is taken.
    pub fn pauses(&mut self, pairs: Pairs, end: &mut Endpoint) -> bool {
        if pairs.0 == 1 || std::mem::replace(&mut self.done, true) {
            return false;
        }
        end.compute(until_next_second(end.now()));
        true
    }
}

/// What is left of this second of virtual time.
fn until_next_second(now: Time) -> Time {
    Time(now.0.next_multiple_of(1_000_000_000)) - now
}

/// The first bytes of the pattern of `seed`, which show where they came from and where they belong. It repeats after
/// [`PERIOD`].
fn pattern(seed: u32, bytes: usize) -> Vec<u8> {
    let byte = |at: u32| (at.wrapping_mul(31) ^ at >> 8 ^ seed.wrapping_mul(0x9e37)) as u8;
    (0..bytes.min(PERIOD) as u32).map(byte).collect()
}

const PERIOD: usize = 1 << 16;

/// The parts of memory that hold the pattern from its beginning.
fn periods(memory: UserMem) -> impl Iterator<Item = UserMem> {
    let starts = (0..memory.len()).step_by(PERIOD);
    starts.map(move |start| memory.part(start, PERIOD.min(memory.len() - start)))
}

/// Fills memory with the pattern of `seed`.
fn paint(memory: UserMem, seed: u32) {
    let pattern = pattern(seed, memory.len());
    for part in periods(memory) {
        part.write(PeerBytes::of(&pattern[..part.len()]));
    }
}

/// Whether memory holds the pattern of `seed`.
fn is_painted(memory: UserMem, seed: u32) -> bool {
    let pattern = pattern(seed, memory.len());
    periods(memory).all(|part| part.as_bytes().to_vec() == pattern[..part.len()])
}
