//! Collectives of plain data that one publication by each process decides: no schedule, no call object.
//!
//! ```text
//!   a process with data for others   writes its slot ─► publishes it ──┐
//!   a process that wants data        sees the slots wanted  ◄──────────┘ ─► copies or combines out of them ─► retires
//! ```
//!
//! One transfer deep, or two with a release flag, where the last process sets it for all and only then wakes them. A
//! row of [`crate::algorithms::registry`] that names a [`Meeting`] is run by this for plain data: predefined types and
//! operations, buffers that are one run. All else goes through the schedule of the same row, and the two may meet in
//! one call: both publish the same slots in the same epochs.
//!
//! The machine stands on [`Slots`]: the library implements it with the node's areas, tests with memory of their own.

mod parts;
mod place;
mod plan;
mod prefix;
mod slots;

pub use parts::{Parts, TOO_LONG};
pub use place::{Operands, Participant};
pub use plan::{ExchangePlan, Meeting, NoPlaces, Places, Prefix, Take};
pub use slots::{Slots, Tell};

use core::ops::Range;

use abi::Result;
use mem::UserMem;

use crate::schedule::Slot;

/// An exchange on its way.
#[derive(Debug)]
pub struct Exchange<S: Slots, P> {
    slots: S,
    epoch: u64,
    plan: ExchangePlan<S::Kernel, P>,
    published: bool,
    /// The member whose slot is awaited.
    next: usize,
    /// A part was longer than expected.
    failed: bool,
}

impl<S: Slots, P: Places> Exchange<S, P> {
    /// An exchange in an area that it has to itself, from `epoch` on.
    #[inline(always)]
    pub fn new(slots: S, epoch: u64, plan: ExchangePlan<S::Kernel, P>) -> Self {
        Exchange { slots, epoch, next: plan.from.start, plan, published: false, failed: false }
    }

    /// Begins once more, in the same area from `epoch` on; the exchange before is over.
    #[inline(always)]
    pub fn again(&mut self, epoch: u64) {
        (self.epoch, self.next) = (epoch, self.plan.from.start);
        (self.published, self.failed) = (false, false);
    }

    /// Epochs that it takes.
    #[inline(always)]
    pub fn epochs(&self) -> u64 {
        self.plan.epochs
    }

    /// How it ended.
    ///
    /// # Errors
    /// [`TOO_LONG`].
    #[inline(always)]
    pub fn result(&self) -> Result<()> {
        if self.failed { Err(TOO_LONG) } else { Ok(()) }
    }

    /// The area, when all is over.
    #[inline(always)]
    pub fn into_slots(self) -> S {
        self.slots
    }

    /// The area.
    pub fn slots(&mut self) -> &mut S {
        &mut self.slots
    }

    /// The member whose slot is awaited, if it is one member's.
    pub fn awaited(&self) -> Option<usize> {
        (self.published && self.plan.meeting == Meeting::Slots).then_some(self.next)
    }

    /// Whether all members are awaited that have not come, none of which goes on before; with the number of the exchange,
    /// which is the same for all.
    pub fn awaits_all(&self) -> Option<u64> {
        let is_shared = self.published && self.plan.meeting == Meeting::Flag;
        (is_shared && !matches!(self.plan.take, Take::Prefix(_))).then_some(self.epoch)
    }

    /// Goes as far as it can; whether that is to the end.
    #[inline(always)]
    pub fn poll(&mut self) -> bool {
        if let Take::Prefix(prefix) = self.plan.take {
            return self.look_back(prefix);
        }
        if !self.published && !self.publish() {
            return false;
        }
        let seen = match self.plan {
            ExchangePlan { meeting: Meeting::Slots, .. } => self.see_wanted(),
            // The result is at the flag.
            ExchangePlan { take: Take::Shared { .. }, .. } => self.is_released(),
            _ => self.is_released() && self.see_wanted(),
        };
        if seen {
            self.take();
            self.slots.retire(self.epoch + self.plan.epochs - 1);
        }
        seen
    }

    fn own(&self) -> Slot {
        Slot::Of(self.slots.me() as u32)
    }

    /// Writes and publishes the own slot; `false`: there is no room yet.
    #[inline(always)]
    fn publish(&mut self) -> bool {
        let own = self.own();
        let Exchange { slots, epoch, plan, .. } = self;
        let epoch = *epoch;
        let by_flag = plan.meeting == Meeting::Flag;
        let combines = matches!(plan.take, Take::Combined { .. } | Take::Shared { .. });
        let parts =
            plan.parts.as_ref().map(|blocks| (Parts::of(slots, |member| blocks.of(member).len()), blocks));
        if let Some((parts, blocks)) = &parts {
            let Some(room) = parts.room(slots, epoch) else { return false };
            for member in 0..slots.members() {
                parts.part(room, member).write(blocks.of(member).as_bytes());
            }
        } else if plan.tell != Tell::None || by_flag || plan.in_place && combines {
            // In place, the result would be written over what is still wanted: the slot keeps it.
            if !slots.has_room(epoch, plan.slot) {
                return false;
            }
            if !plan.own.is_empty() {
                let slot = slots.payload(own, epoch, plan.slot);
                if plan.kept.is_empty() {
                    slot.write(plan.own.as_bytes());
                } else {
                    let (before, after) = (plan.kept.start, plan.own.len() - plan.kept.end);
                    slot.write(plan.own.part(0, before).as_bytes());
                    slot.part(plan.kept.end, after).write(plan.own.part(plan.kept.end, after).as_bytes());
                }
            }
        }
        self.published = true;
        if plan.tell != Tell::None {
            slots.publish(own, epoch, parts.as_ref().map_or(&[], |(parts, _)| parts.words()));
        }
        if by_flag {
            if slots.arrive(epoch) {
                self.release();
            }
            return true;
        }
        slots.ring(plan.tell);
        true
    }

    /// All are there, this process being the last.
    fn release(&mut self) {
        if let Take::Shared { kernel, count, into } = self.plan.take {
            if !self.see_wanted() {
                return;
            }
            self.combine(kernel, 0, count, into);
            self.slots.payload(Slot::Flag, self.epoch, into.len()).write(into.as_bytes());
        }
        self.slots.publish(Slot::Flag, self.epoch, &[]);
        self.slots.ring(Tell::All);
    }

    #[inline(always)]
    fn is_released(&mut self) -> bool {
        self.slots.carries(Slot::Flag, self.epoch)
    }

    #[inline(always)]
    fn see_wanted(&mut self) -> bool {
        let me = self.slots.me();
        while self.next < self.plan.from.end {
            if self.next != me
                && !self.slots.carries(Slot::Of(self.next as u32), self.epoch)
                && self.plan.wants(self.next)
            {
                return false;
            }
            self.next += 1;
        }
        true
    }

    #[inline(always)]
    fn take(&mut self) {
        match self.plan.take {
            Take::Nothing => {}
            Take::Blocks { offset, bytes, into } => self.copy_blocks(offset, bytes, into),
            Take::Each => self.copy_each(),
            Take::Part(into) => self.take_parts(Some(into)),
            Take::PartOfEach => self.take_parts(None),
            Take::Combined { kernel, offset, count, into } => self.combine(kernel, offset, count, into),
            Take::Shared { into, .. } if self.plan.meeting == Meeting::Flag => {
                into.write(self.slots.payload(Slot::Flag, self.epoch, into.len()).as_bytes());
            }
            Take::Shared { kernel, count, into } => self.combine(kernel, 0, count, into),
            // Taken already.
            Take::Prefix(_) => {}
        }
    }

    #[inline(always)]
    fn copy_blocks(&mut self, offset: usize, bytes: usize, into: UserMem) {
        let me = self.slots.me();
        for (at, member) in self.plan.from.clone().enumerate() {
            let to = into.part(at * bytes, bytes);
            if member != me {
                let slot = self.slots.payload(Slot::Of(member as u32), self.epoch, self.plan.slot);
                to.write(slot.part(offset, bytes).as_bytes());
            } else if !self.plan.in_place {
                to.write(self.plan.own.part(offset, bytes).as_bytes());
            }
        }
    }

    #[inline(always)]
    fn copy_each(&mut self) {
        let Exchange { slots, plan, epoch, .. } = self;
        let me = slots.me();
        for member in plan.from.clone() {
            let to = plan.place(member);
            if member != me {
                to.write(slots.payload(Slot::Of(member as u32), *epoch, to.len()).as_bytes());
            } else if !plan.in_place {
                to.write(plan.own.as_bytes());
            }
        }
    }

    /// Takes the own parts, to their places or, a single one, to where it is wanted.
    #[inline(always)]
    fn take_parts(&mut self, wanted: Option<UserMem>) {
        let Exchange { slots, plan, epoch, failed, .. } = self;
        let me = slots.me();
        for member in plan.from.clone() {
            let to = wanted.unwrap_or_else(|| plan.place(member));
            if member == me {
                if !plan.in_place {
                    to.write(plan.own.as_bytes());
                }
            } else if !to.is_empty() {
                match Parts::own_in(slots, member, *epoch) {
                    Some(part) if part.len() <= to.len() => {
                        to.write(part.as_bytes());
                    }
                    _ => *failed = true,
                }
            }
        }
    }

    /// Combines `count` elements from `offset` on of all slots wanted, in rank order, from the right.
    #[inline(always)]
    fn combine(&mut self, kernel: S::Kernel, offset: usize, count: u64, into: UserMem) {
        let Exchange { slots, plan, epoch, .. } = self;
        let Range { start, end } = plan.from.clone();
        let me = slots.me();
        let operand = |slots: &mut S, member: usize| match member == me && !plan.in_place {
            true => plan.own.part(offset, into.len()),
            false => slots.payload(Slot::Of(member as u32), *epoch, plan.slot).part(offset, into.len()),
        };
        if end - start == 1 {
            into.write(operand(slots, start).as_bytes());
            return;
        }
        let (left, right) = (operand(slots, end - 2), operand(slots, end - 1));
        slots.combine(kernel, into, left, right, count);
        for member in (start..end - 2).rev() {
            let left = operand(slots, member);
            slots.combine(kernel, into, left, into, count);
        }
    }
}
