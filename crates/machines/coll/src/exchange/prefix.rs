//! Prefixes of little data: as few slots as those before have left to combine.
//!
//! A slot holds its owner's data and, if all before were there when it was written, behind that what they and it combine
//! to. So where ranks that share processors are calls ahead of each other, each reads one slot; where all come at once, no
//! one waits for more than the data of those before (a look back, as of D. Merrill and M. Garland, "Single-pass Parallel
//! Prefix Scan with Decoupled Look-back", 2016).
//!
//! ```text
//!   slot of              0    1           2           3
//!   all at once          a0   a1          a2          a3           4 takes a0, a1, a2, a3
//!   one after the other  a0   a1 │ a0-1   a2 │ a0-2   a3 │ a0-3    4 takes a0-3, leaves a4 │ a0-4
//! ```
//!
//! Whichever slots are taken, the operation is applied from the left: the result is the same to the last bit.

use mem::UserMem;

use super::{Exchange, Places, Prefix, Slots, Tell};
use crate::schedule::Slot;
use crate::shared::{MEDIUM, SHORT};

/// Whether so many bytes of data go this way: there is room for them twice where a slot of as many bytes has its payload.
#[inline(always)]
pub fn fits(bytes: usize) -> bool {
    2 * bytes <= SHORT || bytes > SHORT && 2 * bytes <= MEDIUM
}

impl<S: Slots, P: Places> Exchange<S, P> {
    /// Goes as far as it can; whether that is to the end.
    #[inline(always)]
    pub(super) fn look_back(&mut self, prefix: Prefix<S::Kernel>) -> bool {
        if self.published {
            return self.look_further_back(prefix);
        }
        if !self.slots.has_room(self.epoch, 2 * self.plan.slot) {
            return false;
        }
        let me = self.plan.from.end;
        let [own, sum] = self.halves(me);
        own.write(self.plan.own.as_bytes());
        if me == 0 {
            self.leave(false);
            if prefix.with_own && !self.plan.in_place {
                prefix.into.write(own.as_bytes());
            }
        } else if let Some(before) = self.left_by(me - 1) {
            self.combine_two(prefix, sum, before, own);
            self.leave(true);
            prefix.into.write(if prefix.with_own { sum } else { before }.as_bytes());
        } else {
            self.leave(false);
            return self.look_further_back(prefix);
        }
        self.slots.retire(self.epoch);
        true
    }

    /// Publishes the own slot, with the sum or without, for the members after the own one.
    #[inline(always)]
    fn leave(&mut self, with_sum: bool) {
        self.published = true;
        if self.plan.tell == Tell::None {
            return;
        }
        let (own, epoch) = (self.own(), self.epoch);
        match with_sum {
            true => self.slots.publish_more(epoch),
            false => self.slots.publish(own, epoch, &[]),
        }
        self.slots.ring(Tell::After);
    }

    /// The own slot is out: once all before are there, combines from the last one with a sum on.
    #[inline(never)]
    fn look_further_back(&mut self, prefix: Prefix<S::Kernel>) -> bool {
        if !self.see_wanted() {
            return false;
        }
        let me = self.plan.from.end;
        let with_sum = |member| Some((member, self.left_by(member)?));
        let Some((first, start)) = (0..me).rev().find_map(with_sum) else { return false };
        // The own data is in the slot, so that the result's place is free in any case.
        let mut before = start;
        for member in first + 1..me + usize::from(prefix.with_own) {
            let [data, _] = self.halves(member);
            self.combine_two(prefix, prefix.into, before, data);
            before = prefix.into;
        }
        if first + 1 == me && !prefix.with_own {
            prefix.into.write(start.as_bytes());
        }
        self.slots.retire(self.epoch);
        true
    }

    /// What the members up to `member` combine to, if its slot carries that.
    #[inline(always)]
    fn left_by(&mut self, member: usize) -> Option<UserMem> {
        let there = match member {
            0 => self.slots.carries(Slot::Of(0), self.epoch),
            _ => self.slots.carries_more(member, self.epoch),
        };
        there.then(|| self.halves(member)[usize::from(member > 0)])
    }

    /// The room for a member's data and that for the sum behind it.
    #[inline(always)]
    fn halves(&mut self, member: usize) -> [UserMem; 2] {
        let bytes = self.plan.slot;
        let slot = self.slots.payload(Slot::Of(member as u32), self.epoch, 2 * bytes);
        [slot.part(0, bytes), slot.part(bytes, bytes)]
    }

    /// `into = left op right`
    #[inline(always)]
    fn combine_two(&mut self, prefix: Prefix<S::Kernel>, into: UserMem, left: UserMem, right: UserMem) {
        self.slots.combine(prefix.kernel, into, left, right, prefix.count);
    }
}
