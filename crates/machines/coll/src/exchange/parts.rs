//! Slots of a shared area with a part for each member, of any length: what a process has for one of many.
//!
//! ```text
//!   slot      epoch │ where part 0, 1 … n-1 end, 16 bits each │ the parts, if they fit      up to [`SHORT`] bytes
//!   aside     the parts, one after the other, if not
//! ```

use abi::Error;
use mem::UserMem;

use super::Slots;
use crate::schedule::Slot;
use crate::shared::{MOST_PARTS, PAYLOAD, SHORT};

/// Where each part of a slot ends.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    members: usize,
    ends: [u64; MOST_PARTS / PER_WORD],
}

/// Ends that a word holds, of 16 bits each.
const PER_WORD: usize = 4;

const _: () = {
    assert!(PAYLOAD <= u16::MAX as usize && MOST_PARTS * 2 <= SHORT);
};

impl Parts {
    fn none(members: usize) -> Parts {
        Parts { members, ends: [0; MOST_PARTS / PER_WORD] }
    }

    /// Parts of so many bytes for each member but the own one, which all fit [`crate::shared::part_limit`].
    #[inline(always)]
    pub fn of(slots: &impl Slots, bytes: impl Fn(usize) -> usize) -> Parts {
        let (me, mut end) = (slots.me(), 0);
        let mut parts = Parts::none(slots.members());
        for member in 0..parts.members {
            end += if member == me { 0 } else { bytes(member) };
            parts.ends[member / PER_WORD] |= (end as u64) << (16 * (member % PER_WORD));
        }
        parts
    }

    /// Where the own parts may be written before [`Parts::words`] are published; `None`: there is no room yet.
    #[inline(always)]
    pub fn room(&self, slots: &mut impl Slots, epoch: u64) -> Option<UserMem> {
        let me = slots.me();
        slots.has_room(epoch, self.spread()).then(|| self.payload(slots, me, epoch))
    }

    /// The own part in a slot, once that carries `epoch`. A peer that breaks the rules changes its length and values,
    /// nothing else.
    #[inline(always)]
    pub fn own_in(slots: &mut impl Slots, member: usize, epoch: u64) -> Option<UserMem> {
        let (members, me) = (slots.members(), slots.me());
        let mut parts = Parts::none(members);
        let words = members.div_ceil(PER_WORD);
        if !slots.observe(member, epoch, &mut parts.ends[..words]) {
            return None;
        }
        let payload = parts.payload(slots, member, epoch);
        Some(parts.part(payload, me))
    }

    /// A member's part of a payload, cut to what there is.
    #[inline(always)]
    pub fn part(&self, payload: UserMem, member: usize) -> UserMem {
        let start = member.checked_sub(1).map_or(0, |before| self.end(before));
        payload.part(start, self.end(member).saturating_sub(start))
    }

    /// The words of the slot beside its epoch.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        &self.ends[..self.members.div_ceil(PER_WORD)]
    }

    #[inline(always)]
    fn end(&self, member: usize) -> usize {
        usize::from((self.ends[member / PER_WORD] >> (16 * (member % PER_WORD))) as u16)
    }

    /// Bytes before the payload, where it lies in the slot.
    #[inline(always)]
    fn head(&self) -> usize {
        size_of_val(self.words())
    }

    /// Bytes by which the place of the payload is chosen.
    #[inline(always)]
    fn spread(&self) -> usize {
        let (head, total) = (self.head(), self.end(self.members - 1));
        if head + total <= SHORT { head + total } else { total.max(SHORT + 1) }
    }

    #[inline(always)]
    fn payload(&self, slots: &mut impl Slots, owner: usize, epoch: u64) -> UserMem {
        let bytes = self.spread();
        let payload = slots.payload(Slot::Of(owner as u32), epoch, bytes);
        if bytes <= SHORT { payload.part(self.head(), bytes) } else { payload }
    }
}

/// A block is longer than its receiver expects. A shorter one is taken like a shorter message.
pub const TOO_LONG: Error =
    Error::new(abi::ERR_TRUNCATE, "a block of a collective is longer where it comes from");
