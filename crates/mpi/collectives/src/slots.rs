//! The areas of a node as what `coll`'s exchanges stand on.

use core::ops::DerefMut;

use coll::exchange::{Slots, Tell};
use coll::schedule::Slot;
use mem::UserMem;
use node::NodeArea;
use shm::area::Owner;

use super::area;
use abi::Address;

/// An area, lent or owned.
#[derive(Debug)]
pub(super) struct OfNode<A>(pub A);

/// Whose a slot is.
#[inline(always)]
fn owner(slot: Slot) -> Owner {
    match slot {
        Slot::Of(member) => Owner::Member(member as usize),
        Slot::Flag => Owner::Flag,
    }
}

impl<A: DerefMut<Target = NodeArea>> Slots for OfNode<A> {
    type Kernel = op::Kernel;

    #[inline(always)]
    fn members(&self) -> usize {
        self.0.members()
    }

    #[inline(always)]
    fn me(&self) -> usize {
        self.0.me()
    }

    #[inline(always)]
    fn has_room(&mut self, epoch: u64, bytes: usize) -> bool {
        area::has_room(&mut self.0, epoch, bytes)
    }

    #[inline(always)]
    fn payload(&mut self, slot: Slot, epoch: u64, bytes: usize) -> UserMem {
        area::payload(&mut self.0, owner(slot), epoch, bytes)
    }

    #[inline(always)]
    fn publish(&mut self, slot: Slot, epoch: u64, words: &[u64]) {
        self.0.slots().publish(owner(slot), epoch, words);
    }

    #[inline(always)]
    fn publish_more(&mut self, epoch: u64) {
        self.0.slots().publish_more(epoch);
    }

    #[inline(always)]
    fn carries(&mut self, slot: Slot, epoch: u64) -> bool {
        self.0.slots().carries(owner(slot), epoch)
    }

    #[inline(always)]
    fn carries_more(&mut self, member: usize, epoch: u64) -> bool {
        self.0.slots().carries_more(member, epoch)
    }

    #[inline(always)]
    fn observe(&mut self, member: usize, epoch: u64, words: &mut [u64]) -> bool {
        self.0.slots().observe(Owner::Member(member), epoch, words)
    }

    #[inline(always)]
    fn arrive(&mut self, epoch: u64) -> bool {
        self.0.slots().arrive(epoch)
    }

    #[inline(always)]
    fn retire(&mut self, epoch: u64) {
        self.0.retire_soon(epoch);
    }

    #[inline(always)]
    fn ring(&mut self, tell: Tell) {
        match tell {
            Tell::None => {}
            Tell::One(member) => self.0.ring(member),
            Tell::After => self.0.ring_after(),
            Tell::All => self.0.ring_all(),
        }
    }

    #[inline(always)]
    fn combine(&mut self, kernel: op::Kernel, into: UserMem, left: UserMem, right: UserMem, count: u64) {
        let at = |memory: UserMem| Address(memory.address());
        objects::memory::reduce(kernel, at(into), at(left), at(right), count);
    }
}
