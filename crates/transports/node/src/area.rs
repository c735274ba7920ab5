//! Areas for collectives among processes of this node: the shared slots, and the doorbells of those that may sleep.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use btl::Peer;
use mem::UserMem;
use shm::area::{Area, BOUNCE_BYTES, Entry, Owner};
use shm::doorbell::Doorbell;
use shm::hint::Hint;

use crate::{Node, SegmentTicket, SharedSegment, ring, ring_each};

/// An area that some processes of the node hold together.
#[derive(Debug)]
pub struct NodeArea {
    area: Area,
    place: AreaMemory,
    doorbells: Vec<&'static Doorbell>,
    me: usize,
    /// The next epoch.
    next: u64,
    /// How often it keeps polling while it waits.
    hint: Hint,
    /// Bytes of its memory, if this process has made that.
    made: u64,
    node: Arc<Node>,
}

/// What memory an area is in.
#[derive(Debug)]
enum AreaMemory {
    /// The node's segment, whose directory counts those that hold it; with the area's number there.
    Segment(&'static Entry, usize),
    /// Memory of its own, mapped as long as this process holds the area.
    Own(SharedSegment),
}

/// Where an area is, as its first member sends it to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AreaName {
    /// Number in the directory.
    pub number: usize,
    /// The members count on from here.
    pub base: u64,
}

impl Node {
    /// Takes a free area for `members`, all of this node. One of them calls this and sends the others its name; the area of
    /// all ranks of the node is the first and needs no claim, see [`Node::area`].
    pub fn claim_area(&self, members: &[Peer]) -> Option<AreaName> {
        let places: Vec<u32> = members.iter().map(|&peer| self.place_of(peer)).collect::<Option<_>>()?;
        let mut directory = self.segment.area_directory().iter().enumerate().skip(1);
        let claimed =
            directory.find_map(|(number, entry)| entry.claim(&places).map(|base| AreaName { number, base }));
        claimed.inspect(|name| self.segment.area(name.number).clear_arrivals())
    }

    /// Gives back what dead processes hold of the areas. Others may do the same, and those that live go on.
    pub fn release_areas_of_the_dead(&self) {
        for (number, entry) in self.segment.area_directory().iter().enumerate().skip(1) {
            let is_dead = |place: &u32| (*place as usize) < self.members.len() && self.has_ended_at(*place);
            entry.holders().filter(is_dead).for_each(|place| {
                entry.release(place, self.segment.area(number).last_retired());
            });
        }
    }

    /// Gives back what another process has claimed for this one, and this one has not taken: it has left the making of a communicator
    /// with an error. Only while it makes none.
    pub fn release_areas_not_taken(&self) {
        let held = self.held_areas.load(Ordering::Relaxed);
        for (number, entry) in self.segment.area_directory().iter().enumerate().skip(1) {
            if held & 1 << number == 0 && entry.is_held_by(self.me) {
                // This process has published nothing there.
                entry.release(self.me, 0);
            }
        }
    }

    /// The area by its name, for `members`, this process among them; `None` if one is not on this node, or
    /// there are too many ranks for areas.
    pub fn area(self: &Arc<Self>, name: AreaName, members: &[Peer], me: Peer) -> Option<NodeArea> {
        let entry = self.segment.area_directory().get(name.number)?;
        let index = self.place_among(members, me)?;
        let area = Area::new(self.segment.area(name.number), members.len(), index);
        let mut held = self.hold(area, AreaMemory::Segment(entry, name.number), members, index);
        self.held_areas.fetch_or(1 << name.number, Ordering::Relaxed);
        held.next = name.base + 1;
        // Members that were faster may sleep already until this one enters.
        held.retire(name.base);
        Some(held)
    }

    /// Makes an area of its own for `members`, this process among them, and what the others join it by; `most`: bytes of all
    /// those that this process has made and holds. `None`: one is not on this node, or there is no memory.
    pub fn create_area(
        self: &Arc<Self>,
        members: &[Peer],
        me: Peer,
        most: u64,
    ) -> Option<(NodeArea, SegmentTicket)> {
        let index = self.place_among(members, me)?;
        let bytes = shm::area_bytes(members.len());
        if self.made_areas.load(Ordering::Relaxed) + bytes as u64 > most {
            return None;
        }
        let segment = self.create_segment(bytes, 0).ok()?;
        let ticket = segment.ticket()?;
        self.made_areas.fetch_add(bytes as u64, Ordering::Relaxed);
        let mut held = self.area_in(segment, members, index);
        held.made = bytes as u64;
        Some((held, ticket))
    }

    /// Joins the area that `maker` has made for `members`; `None`: this process cannot map it.
    pub fn join_area(
        self: &Arc<Self>,
        maker: Peer,
        ticket: &SegmentTicket,
        members: &[Peer],
        me: Peer,
    ) -> Option<NodeArea> {
        let index = self.place_among(members, me)?;
        let segment = self.map_segment(maker, ticket).ok()?;
        let fits = segment.len() >= shm::area_bytes(members.len());
        fits.then(|| self.area_in(segment, members, index))
    }

    fn area_in(self: &Arc<Self>, segment: SharedSegment, members: &[Peer], index: usize) -> NodeArea {
        // SAFETY: the area and the segment are dropped together, and no slot or word of it is lent beyond a call.
        let memory = unsafe { segment.area(members.len()) };
        let area = Area::new(memory, members.len(), index);
        self.hold(area, AreaMemory::Own(segment), members, index)
    }

    fn hold(self: &Arc<Self>, area: Area, place: AreaMemory, members: &[Peer], me: usize) -> NodeArea {
        let doorbells = members.iter().map(|&peer| self.doorbell_of(peer)).collect();
        let node = Arc::clone(self);
        NodeArea { area, place, doorbells, me, next: 1, hint: Hint::default(), made: 0, node }
    }

    /// The place of this process among `members`, if all of them are on this node and an area has room for them.
    fn place_among(&self, members: &[Peer], me: Peer) -> Option<usize> {
        let all_here = members.iter().all(|&peer| peer == me || self.reaches(peer));
        let fits = members.len() <= self.members.len() && shm::area_bytes(members.len()) > 0;
        members.iter().position(|&peer| peer == me).filter(|_| all_here && fits)
    }
}

impl NodeArea {
    /// All members of an area of its own have joined it.
    pub fn close(&mut self) {
        if let AreaMemory::Own(segment) = &mut self.place {
            segment.withdraw();
        }
    }

    /// The node that its members are on.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Takes the next epoch, for a call that needs no more.
    #[inline(always)]
    pub fn take_epoch(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Takes the next `count` epochs; the first of them.
    pub fn take_epochs(&mut self, count: u64) -> u64 {
        let first = self.next;
        let NodeArea { area, doorbells, .. } = self;
        area.catch_up(first - 1, |member| ring_one(doorbells, member));
        self.next += count;
        first
    }

    /// The shared slots, counters and bounce buffers.
    pub fn slots(&mut self) -> &mut Area {
        &mut self.area
    }

    /// Address of a member's bounce buffer of `epoch`.
    pub fn bounce(&self, member: usize, epoch: u64) -> usize {
        self.area.bounce(member, epoch)
    }

    /// Room for `bytes` bytes of payload of a slot, which the caller may write or read now: in the slot, beside it, or, if
    /// `in_bounce`, in its owner's bounce buffer of the epoch.
    #[inline(always)]
    pub fn payload(&mut self, owner: Owner, epoch: u64, bytes: usize, in_bounce: bool) -> UserMem {
        let (address, len) = match owner {
            Owner::Member(member) if in_bounce => (self.area.bounce(member, epoch), BOUNCE_BYTES),
            _ => (self.area.payload(owner, epoch, bytes), bytes),
        };
        // SAFETY: the segment is mapped until the process ends; the caller has seen the slot published, or has room to
        // write it. A peer that breaks the rules changes values, nothing else.
        unsafe { UserMem::new(address, len) }
    }

    /// Marks what is published from now on, and what is seen, see [`Area::set_mark`].
    pub fn set_mark(&mut self, mark: u16) {
        self.area.set_mark(mark);
    }

    /// Processes that hold the area.
    pub fn members(&self) -> usize {
        self.doorbells.len()
    }

    /// The place of this process among them.
    pub fn me(&self) -> usize {
        self.me
    }

    /// The own slot.
    pub fn own(&self) -> Owner {
        Owner::Member(self.me)
    }

    /// Whether the slots of `epoch` may be written, with so many bytes of payload; if not, this process is woken when
    /// that may have changed.
    pub fn has_room(&mut self, epoch: u64, bytes: usize) -> bool {
        self.area.is_free(epoch, bytes) || {
            self.area.want_room();
            self.area.is_free(epoch, bytes)
        }
    }

    /// As [`NodeArea::has_room`], for the own bounce buffer.
    pub fn has_bounce(&mut self, epoch: u64) -> bool {
        self.area.take_bounce(epoch) || {
            self.area.want_room();
            self.area.take_bounce(epoch)
        }
    }

    /// This process has finished with `epoch` and all before; wakes the members that wait for that.
    pub fn retire(&mut self, epoch: u64) {
        let NodeArea { area, doorbells, .. } = self;
        area.retire(epoch, |member| ring_one(doorbells, member));
    }

    /// As [`NodeArea::retire`], of a call's only epoch: others may learn that a few calls later, see
    /// [`Area::retire_soon`].
    #[inline]
    pub fn retire_soon(&mut self, epoch: u64) {
        let NodeArea { area, doorbells, .. } = self;
        area.retire_soon(epoch, |member| ring_one(doorbells, member));
    }

    /// This process waits. Whether it had better keep polling the slot of `awaited` for a while than yield, see
    /// [`Hint::may_keep_polling`]. If so, the caller reports the outcome by [`NodeArea::kept_polling`].
    pub fn may_keep_polling(&mut self, awaited: Option<usize>) -> bool {
        self.area.wait_on(platform::processor::current());
        let NodeArea { area, hint, .. } = self;
        hint.may_keep_polling(|| awaited.is_some_and(|awaited| area.is_next_after(awaited)))
    }

    /// Whether polling on found anything; if not, the process yields now.
    pub fn kept_polling(&mut self, found: bool) {
        self.hint.kept_polling(found);
    }

    /// This process does not wait any more.
    pub fn go_on(&self) {
        self.area.go_on();
    }

    /// Wakes a member if it sleeps; to be called after publishing.
    pub fn ring(&self, member: usize) {
        ring_one(&self.doorbells, member);
    }

    /// Wakes the members after this one that sleep.
    pub fn ring_after(&self) {
        ring_each(self.doorbells[self.me + 1..].iter().copied());
    }

    /// Wakes every member that sleeps.
    pub fn ring_all(&self) {
        let (before, after) = self.doorbells.split_at(self.me);
        ring_each(before.iter().chain(&after[1..]).copied());
    }
}

/// Wakes a member if it sleeps; none for a number that a peer has spoilt.
fn ring_one(doorbells: &[&'static Doorbell], member: usize) {
    if let Some(doorbell) = doorbells.get(member) {
        ring(doorbell);
    }
}

impl Drop for NodeArea {
    fn drop(&mut self) {
        if let AreaMemory::Segment(entry, number) = self.place {
            self.node.held_areas.fetch_and(!(1 << number), Ordering::Relaxed);
            entry.release(self.node.me, self.next);
        }
        self.node.made_areas.fetch_sub(self.made, Ordering::Relaxed);
    }
}
