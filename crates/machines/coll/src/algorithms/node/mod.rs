//! Algorithms for ranks of one node that use the shared area of [`crate::shared`]: slots for small
//! messages, bounce buffers for medium ones, direct reads for large ones.
//!
//! | data per rank | module | what crosses between caches |
//! |---|---|---|
//! | up to 4 KiB, aside up to 32 KiB | [`slots`], [`blocks`] | what is published, a level |
//! | blocks of different sizes: short ones | [`parts`] | what is published; long blocks of the same call are messages |
//! | some bounce buffers | [`bounce_buffers`], [`flag`] | each byte once into a bounce buffer, once out |
//! | more | [`direct`] | each byte once, read from the user's buffer |
//!
//! Between processors that share a cache, bounce buffers of which enough take turns are the faster way for most of what two
//! ranks have: the kernel's walk through the other process's pages takes longer than the second copy.
//!
//! With more ranks than cores what counts is how often a rank must be scheduled before it can go on: once
//! where the last arriver releases all (`*_flag`), twice for the leader of a flat fan-in, log2(n) times in
//! a dissemination.

pub mod blocks;
pub mod bounce;
pub mod direct;
pub mod flag;
pub mod parts;
pub mod slots;

use crate::builder::Builder;
use crate::params::Params;
use crate::schedule::{Ref, Slot, Wake};

/// The ranks that share an area, and the next free round of the schedule under construction.
pub(crate) struct Area {
    pub(crate) me: u32,
    pub(crate) size: u32,
    pub(crate) round: u16,
}

impl Area {
    /// The whole communicator on one node.
    pub(crate) fn whole(p: &Params) -> Area {
        Area { me: p.rank, size: p.size, round: 0 }
    }

    pub(crate) fn own(&self) -> Slot {
        Slot::Of(self.me)
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        // The right neighbour first, so that not all turn to the same one.
        let (me, size) = (self.me, self.size);
        (1..size).map(move |d| ((u64::from(me) + u64::from(d)) % u64::from(size)) as u32)
    }

    /// Reports to all and awaits all: everything done before is done everywhere.
    fn meet(&mut self, b: &mut Builder) {
        b.publish(self.round, self.own(), Ref::SIGNAL, Wake::All);
        for other in self.others() {
            b.await_slot(self.round, Slot::Of(other), Ref::SIGNAL);
        }
        self.round += 1;
    }

    /// Waits until all have come to this round; the last one lets all go on.
    fn emit_flag(&self, b: &mut Builder) {
        let round = self.round;
        b.arrive(round, |b| b.publish(round, Slot::Flag, Ref::SIGNAL, Wake::All));
        b.await_slot(round, Slot::Flag, Ref::SIGNAL);
    }

    /// No slot or bounce buffer so far is read any more by this rank.
    pub(crate) fn retire(&self, b: &mut Builder) {
        if self.round > 0 {
            b.retire(self.round - 1);
        }
    }
}
