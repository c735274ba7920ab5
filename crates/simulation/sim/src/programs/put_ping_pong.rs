//! A put to and fro between partners, which poll the memory in which it lands.

use super::one_sided::{Buffers, Meeting};
use super::{Pairs, Start, Timed, is_painted, paint};
use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use crate::speaks::Speaks;
use crate::windows::{Access, DataDirection, Interface, Remote};
use abi::Result;
use mem::{PeerBytes, UserMem};

/// Round trips before time is taken.
const WARM_UP: u32 = 3;
const PAGE: usize = Meeting::BYTES;
/// Of the data's pattern, but for the last byte of each page, which is the number of the round.
const SEED: u32 = 13;

/// One side of a ping-pong by puts.
#[derive(Debug)]
pub struct PutPingPong {
    pairs: Pairs,
    interface: Interface,
    buffers: Buffers,
    rounds: u32,
    /// Puts of the partner that were seen.
    seen: u32,
    /// Puts of this rank.
    sent: u32,
    meeting: Meeting,
    remote: Option<Remote>,
    access: Option<Access>,
    start: Start,
    time: Timed,
}

impl PutPingPong {
    /// A side with puts of `bytes`, at least 1.
    pub fn new(pairs: Pairs, interface: Interface, bytes: usize, rounds: u32) -> PutPingPong {
        PutPingPong {
            pairs,
            interface,
            buffers: Buffers { bytes },
            rounds: rounds + WARM_UP,
            seen: 0,
            sent: 0,
            meeting: Meeting::default(),
            remote: None,
            access: None,
            start: Start::default(),
            time: Timed::default(),
        }
    }

    /// When the timed round trips began and ended; meaningful on the first node.
    pub fn time(&self) -> Timed {
        self.time
    }

    /// Whether all data has arrived.
    pub fn is_intact(&self, end: &Endpoint) -> bool {
        self.has_landed(end, self.seen)
            && is_painted(self.buffers.landing(end).part(0, self.buffers.bytes.min(PAGE) - 1), SEED)
    }

    /// The last bytes of the data's pages, by which its target sees that it is there: pieces of long data land in any
    /// order.
    fn last_bytes(&self, data: UserMem) -> impl Iterator<Item = UserMem> + use<> {
        let bytes = self.buffers.bytes;
        (0..bytes).step_by(PAGE).map(move |page| data.part((page + PAGE).min(bytes) - 1, 1))
    }

    /// Whether all of a round's data is there.
    fn has_landed(&self, end: &Endpoint, round: u32) -> bool {
        self.last_bytes(self.buffers.landing(end)).all(|place| {
            let mut last = [0];
            place.as_bytes().copy_to(&mut last);
            u32::from(last[0]) == round
        })
    }
}

impl Program for PutPingPong {
    fn memory(&self) -> usize {
        self.buffers.memory()
    }

    fn speaks(&self) -> Speaks {
        Pairs::SPEAKS
    }

    fn polls_memory(&self) -> bool {
        true
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        let is_first = self.pairs.is_first(end.rank());
        if self.remote.is_none() {
            paint(self.buffers.leaving(end), SEED);
            self.remote = self.meeting.with(end, self.pairs.partner(end.rank()))?;
        }
        let Some(remote) = self.remote else { return Ok(Step::Waiting) };
        loop {
            if let Some(access) = &mut self.access {
                if !end.begin(access)? {
                    return Ok(Step::Waiting);
                }
                self.access = None;
            }
            let sends = self.sent < self.rounds && self.sent < self.seen + u32::from(is_first);
            if sends {
                // The origin of the put before is read until its end, which is known by now, or soon.
                if self.sent > 0 && !end.is_flushed(&remote)? {
                    return Ok(Step::Waiting);
                }
                if is_first && self.sent + 1 == WARM_UP && self.start.pauses(self.pairs, end) {
                    return Ok(Step::Computing);
                }
                if self.sent == WARM_UP {
                    self.time.begun = end.now();
                }
                self.sent += 1;
                for last in self.last_bytes(self.buffers.leaving(end)) {
                    last.write(PeerBytes::of(&[self.sent as u8]));
                }
                let by = (self.interface, DataDirection::Put);
                let (local, offset) = (self.buffers.leaving(end), self.buffers.landing_offset());
                self.access = Some(end.access(by, remote, local, offset));
            } else if self.seen == self.rounds {
                self.time.ended = end.now();
                return Ok(Step::Done);
            } else if self.has_landed(end, self.seen + 1) {
                end.has_seen();
                self.seen += 1;
            } else {
                return Ok(Step::Waiting);
            }
        }
    }
}
