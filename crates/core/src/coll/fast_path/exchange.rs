//! One publication by each process that has data, and what others take from it.

use std::ops::Range;
use std::time::Duration;

use abi::{Address, Result};
use mem::UserMem;
use node::NodeArea;
use shm::area::Owner;

use super::super::area::{has_room, payload};
use super::super::parts::{Parts, TOO_LONG};
use super::blocks::Blocks;
use super::prefix::Prefix;

/// What a process does in a collective.
pub(super) struct Plan<'a> {
    /// The data that it has, for others or for itself; none of a process that only takes.
    pub own: UserMem,
    /// What is published instead of `own`: a part for each process, among them `own` for this one.
    pub parts: Option<&'a Blocks<'a>>,
    /// The bytes of `own` that nobody else wants: they stay out of the line.
    pub kept: Range<usize>,
    /// Who waits for it.
    pub tell: Tell,
    /// Bytes of each line that is published.
    pub line: usize,
    /// The processes whose lines are wanted.
    pub from: Range<usize>,
    pub take: Take<'a>,
    /// The last process opens the gate for all, if the communicator has one.
    pub gate: bool,
    /// Epochs that the call takes, of which the first is for what is published here.
    pub epochs: u64,
    /// The result is in the buffer that `own` is.
    pub in_place: bool,
}

/// Who waits for a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tell {
    Nobody,
    One(usize),
    /// The members after the own one.
    After,
    All,
}

/// What is done with the lines wanted; `offset` is the first byte wanted of each.
#[derive(Clone, Copy)]
pub(super) enum Take<'a> {
    Nothing,
    /// Copied one after the other.
    Blocks {
        offset: usize,
        bytes: usize,
        into: Address,
    },
    /// All of each, copied to places of their own.
    Each(&'a Blocks<'a>),
    /// The part for this process in a single line.
    Part(UserMem),
    /// The part for this process in each, copied to places of their own.
    PartOfEach(&'a Blocks<'a>),
    /// Combined in rank order; from a single line just copied.
    Combined {
        kernel: op::Kernel,
        offset: usize,
        count: u64,
        into: UserMem,
    },
    /// As `Combined`, the same for all: who opens the gate does it for the others.
    Shared {
        kernel: op::Kernel,
        count: u64,
        into: UserMem,
    },
    /// What the members before combine to, see [`super::prefix`].
    Prefix(Prefix),
}

/// An exchange on its way.
pub(super) struct Exchange<'a> {
    pub(super) area: Box<NodeArea>,
    pub(super) epoch: u64,
    pub(super) plan: Plan<'a>,
    pub(super) published: bool,
    /// The member whose line is awaited.
    next: usize,
    /// A part was longer than expected.
    failed: bool,
}

impl<'a> Exchange<'a> {
    /// Takes the next epoch of an area.
    #[inline(always)]
    pub fn new(mut area: Box<NodeArea>, mark: u16, plan: Plan<'a>) -> Exchange<'a> {
        area.set_mark(mark);
        let epoch = area.take_epochs(plan.epochs);
        Exchange { area, epoch, next: plan.from.start, plan, published: false, failed: false }
    }

    /// How it ended.
    #[inline(always)]
    pub fn result(&self) -> Result<()> {
        if self.failed { Err(TOO_LONG) } else { Ok(()) }
    }

    /// The area, when all is over.
    #[inline(always)]
    pub fn into_area(self) -> Box<NodeArea> {
        self.area
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
            Plan { gate: false, .. } => self.see_wanted(),
            // The result is at the gate.
            Plan { take: Take::Shared { .. }, .. } => self.is_open(),
            _ => self.is_open() && self.see_wanted(),
        };
        if seen {
            self.take();
            self.area.retire(self.epoch + self.plan.epochs - 1);
        }
        seen
    }

    /// To be called after a failed poll, where processes share processors: keeps polling for at most `limit`, if this
    /// process comes next; whether the exchange came to its end.
    pub fn keep_polling(&mut self, limit: Duration) -> bool {
        let awaited = (self.published && !self.plan.gate).then_some(self.next);
        if !self.area.may_keep_polling(awaited) {
            return false;
        }
        let found = crate::turn::look_for(self, limit, |_| true, |at| at.poll().then_some(())).is_some();
        self.area.kept_polling(found);
        found
    }

    /// This process does not wait any more.
    pub fn go_on(&self) {
        self.area.go_on();
    }

    /// Writes and publishes the own line; `false`: there is no room yet.
    #[inline(always)]
    fn publish(&mut self) -> bool {
        let Exchange { area, epoch, plan, .. } = self;
        let own = area.own();
        let combines = matches!(plan.take, Take::Combined { .. } | Take::Shared { .. });
        // In place, the result would be written over what is still wanted: the line keeps it.
        let parts = plan.parts.map(|blocks| (Parts::of(area, |member| blocks.of(member).len()), blocks));
        if let Some((parts, blocks)) = &parts {
            let Some(room) = parts.room(area, *epoch) else { return false };
            for member in 0..area.members() {
                parts.part(room, member).write(blocks.of(member).as_bytes());
            }
        } else if plan.tell != Tell::Nobody || plan.gate || plan.in_place && combines {
            if !has_room(area, *epoch, plan.line) {
                return false;
            }
            if !plan.own.is_empty() {
                let line = payload(area, own, *epoch, plan.line);
                if plan.kept.is_empty() {
                    line.write(plan.own.as_bytes());
                } else {
                    let (before, after) = (plan.kept.start, plan.own.len() - plan.kept.end);
                    line.write(plan.own.part(0, before).as_bytes());
                    line.part(plan.kept.end, after).write(plan.own.part(plan.kept.end, after).as_bytes());
                }
            }
        }
        self.published = true;
        if plan.tell != Tell::Nobody {
            area.lines().publish(own, *epoch, parts.as_ref().map_or(&[], |(parts, _)| parts.words()));
        }
        if plan.gate {
            if area.lines().arrive(*epoch) {
                self.open();
            }
            return true;
        }
        match plan.tell {
            Tell::Nobody => {}
            Tell::One(member) => area.ring(member),
            Tell::After => area.ring_after(),
            Tell::All => area.ring_all(),
        }
        true
    }

    /// All are there, this process being the last.
    fn open(&mut self) {
        if let Take::Shared { kernel, count, into } = self.plan.take {
            if !self.see_wanted() {
                return;
            }
            self.combine(kernel, 0, count, into);
            payload(&mut self.area, Owner::Gate, self.epoch, into.len()).write(into.as_bytes());
        }
        self.area.lines().publish(Owner::Gate, self.epoch, &[]);
        self.area.ring_all();
    }

    #[inline(always)]
    fn is_open(&mut self) -> bool {
        self.area.lines().carries(Owner::Gate, self.epoch)
    }

    #[inline(always)]
    pub(super) fn see_wanted(&mut self) -> bool {
        let own = self.area.own();
        while self.next < self.plan.from.end {
            let owner = Owner::Member(self.next);
            if owner != own && !self.area.lines().carries(owner, self.epoch) {
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
            Take::Each(blocks) => self.copy_each(blocks),
            Take::Part(into) => self.take_parts(|_| into),
            Take::PartOfEach(blocks) => self.take_parts(|member| blocks.of(member)),
            Take::Combined { kernel, offset, count, into } => self.combine(kernel, offset, count, into),
            Take::Shared { into, .. } if self.plan.gate => {
                into.write(payload(&mut self.area, Owner::Gate, self.epoch, into.len()).as_bytes());
            }
            Take::Shared { kernel, count, into } => self.combine(kernel, 0, count, into),
            // Taken already.
            Take::Prefix(_) => {}
        }
    }

    #[inline(always)]
    fn copy_blocks(&mut self, offset: usize, bytes: usize, into: Address) {
        for (at, member) in self.plan.from.clone().enumerate() {
            let to = crate::memory::of_user(Address(into.0 + at * bytes), bytes);
            let owner = Owner::Member(member);
            if owner != self.area.own() {
                let line = payload(&mut self.area, owner, self.epoch, self.plan.line);
                to.write(line.part(offset, bytes).as_bytes());
            } else if !self.plan.in_place {
                to.write(self.plan.own.part(offset, bytes).as_bytes());
            }
        }
    }

    #[inline(always)]
    fn copy_each(&mut self, blocks: &Blocks<'_>) {
        for member in self.plan.from.clone() {
            let (to, owner) = (blocks.of(member), Owner::Member(member));
            if owner != self.area.own() {
                to.write(payload(&mut self.area, owner, self.epoch, to.len()).as_bytes());
            } else if !self.plan.in_place {
                to.write(self.plan.own.as_bytes());
            }
        }
    }

    #[inline(always)]
    fn take_parts(&mut self, place: impl Fn(usize) -> UserMem) {
        for member in self.plan.from.clone() {
            let to = place(member);
            if Owner::Member(member) == self.area.own() {
                if !self.plan.in_place {
                    to.write(self.plan.own.as_bytes());
                }
            } else {
                match Parts::own_in(&mut self.area, member, self.epoch) {
                    Some(part) if part.len() <= to.len() => {
                        to.write(part.as_bytes());
                    }
                    _ => self.failed = true,
                }
            }
        }
    }

    /// Combines `count` elements from `offset` on of all lines wanted, in rank order, from the right.
    #[inline(always)]
    fn combine(&mut self, kernel: op::Kernel, offset: usize, count: u64, into: UserMem) {
        let Range { start, end } = self.plan.from.clone();
        let mut operand = |member: usize| {
            let owner = Owner::Member(member);
            match owner == self.area.own() && !self.plan.in_place {
                true => self.plan.own.part(offset, into.len()),
                false => payload(&mut self.area, owner, self.epoch, self.plan.line).part(offset, into.len()),
            }
        };
        if end - start == 1 {
            into.write(operand(start).as_bytes());
            return;
        }
        let at = |memory: UserMem| Address(memory.address());
        crate::memory::reduce(kernel, at(into), at(operand(end - 2)), at(operand(end - 1)), count);
        for member in (start..end - 2).rev() {
            crate::memory::reduce(kernel, at(into), at(operand(member)), at(into), count);
        }
    }
}

impl<'a> Plan<'a> {
    /// Has data for others and wants none.
    #[inline(always)]
    pub fn give(own: UserMem, tell: Tell) -> Plan<'a> {
        let line = own.len();
        Plan {
            own,
            parts: None,
            kept: 0..0,
            tell,
            line,
            from: 0..0,
            take: Take::Nothing,
            gate: false,
            epochs: 1,
            in_place: false,
        }
    }

    /// Wants data of some processes, who publish `line` bytes each, and has none for others.
    #[inline(always)]
    pub fn take(line: usize, from: Range<usize>, take: Take<'a>) -> Plan<'a> {
        Plan { line, from, take, ..Plan::give(UserMem::EMPTY, Tell::Nobody) }
    }

    /// All have data for all.
    #[inline(always)]
    pub fn meet(own: UserMem, from: Range<usize>, take: Take<'a>) -> Plan<'a> {
        Plan { from, take, gate: true, ..Plan::give(own, Tell::All) }
    }
}
