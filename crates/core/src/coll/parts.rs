//! Lines of a shared area with a part for each member, of any length: what a process has for one of many.
//!
//! ```text
//!   line      epoch │ where part 0, 1 … n-1 end, 16 bits each │ the parts, if they fit      up to shm::area::SHORT bytes
//!   aside     the parts, one after the other, if not
//! ```

use abi::{Error, Result};
use coll::schedule::Wake;
use coll::shared::{MOST_PARTS, PAYLOAD};
use mem::UserMem;
use node::NodeArea;
use pml::Data;
use shm::area::{Owner, SHORT};

use super::area::{announce, drain, fill, has_room, payload};

/// Where each part of a line ends.
#[derive(Clone, Copy)]
pub(super) struct Parts {
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

    /// Parts of so many bytes for each member but the own one, which all fit [`coll::shared::part_limit`].
    #[inline(always)]
    pub fn of(area: &NodeArea, bytes: impl Fn(usize) -> usize) -> Parts {
        let (own, mut end) = (area.own(), 0);
        let mut parts = Parts::none(area.members());
        for member in 0..parts.members {
            end += if own == Owner::Member(member) { 0 } else { bytes(member) };
            parts.ends[member / PER_WORD] |= (end as u64) << (16 * (member % PER_WORD));
        }
        parts
    }

    /// Where the own parts may be written before [`Parts::words`] are published; `None`: there is no room yet.
    #[inline(always)]
    pub fn room(&self, area: &mut NodeArea, epoch: u64) -> Option<UserMem> {
        let own = area.own();
        has_room(area, epoch, self.spread()).then(|| self.payload(area, own, epoch))
    }

    /// The own part in a line, once that carries `epoch`. A peer that breaks the rules changes its length and values,
    /// nothing else.
    #[inline(always)]
    pub fn own_in(area: &mut NodeArea, member: usize, epoch: u64) -> Option<UserMem> {
        let (members, own) = (area.members(), area.own());
        let mut parts = Parts::none(members);
        let words = members.div_ceil(PER_WORD);
        if !area.lines().observe(Owner::Member(member), epoch, &mut parts.ends[..words]) {
            return None;
        }
        let payload = parts.payload(area, Owner::Member(member), epoch);
        let Owner::Member(own) = own else { return None };
        Some(parts.part(payload, own))
    }

    /// A member's part of a payload, cut to what there is.
    #[inline(always)]
    pub fn part(&self, payload: UserMem, member: usize) -> UserMem {
        let start = member.checked_sub(1).map_or(0, |before| self.end(before));
        payload.part(start, self.end(member).saturating_sub(start))
    }

    /// What the line says beside its epoch.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        &self.ends[..self.members.div_ceil(PER_WORD)]
    }

    #[inline(always)]
    fn end(&self, member: usize) -> usize {
        usize::from((self.ends[member / PER_WORD] >> (16 * (member % PER_WORD))) as u16)
    }

    /// Bytes before the payload, where it lies in the line.
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
    fn payload(&self, area: &mut NodeArea, owner: Owner, epoch: u64) -> UserMem {
        let bytes = self.spread();
        let payload = payload(area, owner, epoch, bytes);
        if bytes <= SHORT { payload.part(self.head(), bytes) } else { payload }
    }
}

/// Writes the parts that `part` gives into the own line and wakes whom it concerns. `false`: the line is still in use.
pub(super) fn publish(
    area: &mut NodeArea,
    epoch: u64,
    parts: &Parts,
    wake: Wake,
    part: impl Fn(usize) -> Result<Data>,
) -> Result<bool> {
    let Some(room) = parts.room(area, epoch) else { return Ok(false) };
    for member in 0..parts.members {
        let room = parts.part(room, member);
        if !room.is_empty() {
            fill(room, part(member)?);
        }
    }
    let own = area.own();
    Ok(announce(area, own, epoch, parts.words(), wake))
}

/// Copies the own part of a line into `data` once it carries `epoch`; whether it does.
pub(super) fn observe(
    area: &mut NodeArea,
    member: usize,
    epoch: u64,
    into: impl FnOnce() -> Result<Data>,
) -> Result<bool> {
    let Some(part) = Parts::own_in(area, member, epoch) else { return Ok(false) };
    let data = into()?;
    if data.total() < part.len() as u64 {
        return Err(TOO_LONG);
    }
    drain(part, data);
    Ok(true)
}

/// A block is longer than its receiver says. A shorter one is taken like a shorter message.
pub(super) const TOO_LONG: Error =
    Error::new(abi::ERR_TRUNCATE, "a block of a collective is longer where it comes from");
