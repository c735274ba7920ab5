//! Prefixes of little data: as few lines as those before have left to combine.
//!
//! A line holds its owner's data and, if all before were there when it was written, behind that what they and it combine
//! to. So where ranks that share processors are calls ahead of each other, each reads one line; where all come at once, no
//! one waits for more than the data of those before (a look back, as of D. Merrill and M. Garland, "Single-pass Parallel
//! Prefix Scan with Decoupled Look-back", 2016).
//!
//! ```text
//!   line of              0    1           2           3
//!   all at once          a0   a1          a2          a3           4 takes a0, a1, a2, a3
//!   one after the other  a0   a1 │ a0-1   a2 │ a0-2   a3 │ a0-3    4 takes a0-3, leaves a4 │ a0-4
//! ```
//!
//! Whichever lines are taken, the operation is applied from the left: the result is the same to the last bit.

use abi::Address;
use mem::UserMem;
use shm::area::{MEDIUM, Owner, SHORT};

use super::super::area::{has_room, payload};
use super::exchange::{Exchange, Tell};

/// Whether so many bytes of data go this way: there is room for them twice where a line of as many bytes has its payload.
#[inline(always)]
pub(super) fn fits(bytes: usize) -> bool {
    2 * bytes <= SHORT || bytes > SHORT && 2 * bytes <= MEDIUM
}

/// What is wanted.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    pub kernel: op::Kernel,
    pub count: u64,
    pub into: UserMem,
    /// The own data is part of the result.
    pub with_own: bool,
}

impl Exchange<'_> {
    /// Goes as far as it can; whether that is to the end.
    #[inline(always)]
    pub(super) fn look_back(&mut self, prefix: Prefix) -> bool {
        if self.published {
            return self.look_further_back(prefix);
        }
        if !has_room(&mut self.area, self.epoch, 2 * self.plan.line) {
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
            combine(prefix, sum, before, own);
            self.leave(true);
            prefix.into.write(if prefix.with_own { sum } else { before }.as_bytes());
        } else {
            self.leave(false);
            return self.look_further_back(prefix);
        }
        self.area.retire(self.epoch);
        true
    }

    /// Publishes the own line, with the sum or without, for those who come after.
    #[inline(always)]
    fn leave(&mut self, with_sum: bool) {
        self.published = true;
        if self.plan.tell == Tell::Nobody {
            return;
        }
        let (own, epoch) = (self.area.own(), self.epoch);
        match with_sum {
            true => self.area.lines().publish_more(epoch),
            false => self.area.lines().publish(own, epoch, &[]),
        }
        self.area.ring_after();
    }

    /// The own line is out: once all before are there, combines from the last one with a sum on.
    #[inline(never)]
    fn look_further_back(&mut self, prefix: Prefix) -> bool {
        if !self.see_wanted() {
            return false;
        }
        let me = self.plan.from.end;
        let with_sum = |member| Some((member, self.left_by(member)?));
        let Some((first, start)) = (0..me).rev().find_map(with_sum) else { return false };
        // The own data is in the line, so that the result's place is free in any case.
        let mut before = start;
        for member in first + 1..me + usize::from(prefix.with_own) {
            let [data, _] = self.halves(member);
            combine(prefix, prefix.into, before, data);
            before = prefix.into;
        }
        if first + 1 == me && !prefix.with_own {
            prefix.into.write(start.as_bytes());
        }
        self.area.retire(self.epoch);
        true
    }

    /// What the members up to `member` combine to, if its line says so.
    #[inline(always)]
    fn left_by(&mut self, member: usize) -> Option<UserMem> {
        let there = match member {
            0 => self.area.lines().carries(Owner::Member(0), self.epoch),
            _ => self.area.lines().carries_more(member, self.epoch),
        };
        there.then(|| self.halves(member)[usize::from(member > 0)])
    }

    /// The room for a member's data and that for the sum behind it.
    #[inline(always)]
    fn halves(&mut self, member: usize) -> [UserMem; 2] {
        let bytes = self.plan.line;
        let line = payload(&mut self.area, Owner::Member(member), self.epoch, 2 * bytes);
        [line.part(0, bytes), line.part(bytes, bytes)]
    }
}

/// `into = left op right`
#[inline(always)]
fn combine(prefix: Prefix, into: UserMem, left: UserMem, right: UserMem) {
    let at = |memory: UserMem| Address(memory.address());
    crate::memory::reduce(prefix.kernel, at(into), at(left), at(right), prefix.count);
}
