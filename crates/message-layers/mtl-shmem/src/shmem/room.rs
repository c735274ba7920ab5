//! A process's room: its descriptors, and the operations on those of others.

use super::address::{Address, Destination, Region, offset_in};
use super::waiting::Compare;
use mem::{PeerBytes, UserMem};
use portals::{
    Ack, Descriptor, Eq, Error, EventKind, Md, Memory, NewEntry, Options, Portals, Position, ProcessId,
    ProcessMatch, Result, SetupError, Target, Threshold, Unlink,
};
use std::collections::{HashMap, VecDeque};

/// A process, by its place in the table of all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pe(pub u32);

/// Memory descriptors that a room takes.
pub const DESCRIPTORS: u64 = 8;
/// Event queues that it takes.
pub const QUEUES: u64 = 1;
/// Windows that it has.
pub const WINDOWS: usize = 2;

/// Index of the portal table: one that no other user of the NIC has.
const INDEX: u32 = 40;

/// What a room has to offer.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The heap, as long in all processes.
    pub heap: UserMem,
    /// [`super::statics`], or nothing.
    pub statics: Memory,
    /// Operations that may be under way together.
    pub operations: u32,
}

/// An operation's own memory is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// As given to the operation.
    pub cookie: u64,
    /// Whether the operation could be done; if not, its process is gone.
    pub fine: bool,
}

/// Symmetric memory of a process, and its way to that of others. See the crate's documentation.
pub struct Room<N: Portals> {
    nic: N,
    ids: Vec<ProcessId>,
    heap: UserMem,
    statics: Memory,
    eq: Eq,
    /// Over all memory: what is put, what is got.
    puts: Md,
    gets: Md,
    /// What a swap brings, what it sends.
    old: Md,
    new: Md,
    words: [UserMem; 2],
    windows: [Md; WINDOWS],
    most: u64,
    /// Puts whose memory is not free, by number: the target and the cookie.
    leaving: HashMap<u64, (ProcessId, u64)>,
    next_put: u64,
    /// Puts that are not acknowledged, by process, and in all.
    unacknowledged: (HashMap<ProcessId, u64>, u64),
    /// Gets by the address of what they fill: the target and the cookie.
    coming: HashMap<usize, (Pe, u64)>,
    /// A swap is under way, or its result waits for the owner.
    swap: Swap,
    ends: VecDeque<End>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Swap {
    None,
    UnderWay,
    Done(u64),
}

/// The match bits of a region or window.
fn bits(place: Destination) -> (u64, u64) {
    match place {
        Destination::Symmetric(Address { region: Region::Heap, offset }) => (0, offset),
        Destination::Symmetric(Address { region: Region::Statics, offset }) => (1, offset),
        Destination::Window(number, offset) => (2 + u64::from(number), offset),
    }
}

/// All memory of the process, for descriptors that only this process's own operations use, each with memory of its own.
#[allow(unsafe_code)]
fn everything() -> UserMem {
    // SAFETY: no operation reads or writes through it but by `Room::put` and `Room::get`, which name a part that their
    // caller vouches for.
    unsafe { UserMem::new(0, isize::MAX as usize) }
}

impl<N: Portals> Room<N> {
    /// Sets a room up on an attached NIC; `Pe(i)` is the process `ids[i]`.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(mut nic: N, ids: Vec<ProcessId>, shape: Shape) -> core::result::Result<Room<N>, SetupError> {
        let Shape { heap, statics, operations } = shape;
        let at = |step| {
            move |error| SetupError { what: "symmetric memory", parameters: "mtl_shmem_", step, error }
        };
        // A put has two events: it has left, and it is there.
        let eq = nic.eq_alloc(2 * operations.max(2), None).map_err(at("making its queue"))?;
        let mut show = |bits: u64, memory: Memory, accepts: Options| {
            let entry = NewEntry::new(ProcessMatch::ANY, bits, 0, Unlink::Retain);
            let me = nic.me_attach(INDEX, entry, Position::After)?;
            nic.md_attach(me, &shown(memory, accepts), Unlink::Retain)
        };
        let both = Options::OP_PUT | Options::OP_GET;
        show(0, Memory::One(heap), both).map_err(at("showing the heap"))?;
        show(1, statics.clone(), both).map_err(at("showing the program's statics"))?;
        let mut window = |number: u64| show(2 + number, Memory::EMPTY, Options::OP_PUT);
        let windows = [window(0).map_err(at("making windows"))?, window(1).map_err(at("making windows"))?];
        let words = [portals::lasting(8), portals::lasting(8)];
        let mut own = |memory| {
            let options = Options::EVENT_START_DISABLE;
            nic.md_bind(&Descriptor { options, eq: Some(eq), ..Descriptor::of(memory) }, Unlink::Retain)
                .map_err(at("making descriptors of its own"))
        };
        let (puts, gets, old, new) = (own(everything())?, own(everything())?, own(words[0])?, own(words[1])?);
        Ok(Room {
            nic,
            ids,
            heap,
            statics,
            eq,
            puts,
            gets,
            old,
            new,
            words,
            windows,
            most: operations.into(),
            leaving: HashMap::new(),
            next_put: 0,
            unacknowledged: (HashMap::new(), 0),
            coming: HashMap::new(),
            swap: Swap::None,
            ends: VecDeque::new(),
        })
    }

    /// The NIC below.
    pub fn nic(&self) -> &N {
        &self.nic
    }

    /// The NIC below, for a driver that gives it turns of its own, as interrupts do.
    pub fn nic_mut(&mut self) -> &mut N {
        &mut self.nic
    }

    /// Processes that there are.
    pub fn count(&self) -> u32 {
        self.ids.len() as u32
    }

    /// Where an object of this process is, as all others have it; `None`: it is not symmetric.
    pub fn address_of(&self, memory: UserMem) -> Option<Address> {
        let heap = Memory::One(self.heap);
        let regions = [(Region::Heap, &heap), (Region::Statics, &self.statics)];
        regions.into_iter().find_map(|(region, whole)| {
            offset_in(whole, memory.address()).map(|offset| Address { region, offset })
        })
    }

    /// This process's own memory at an address, cut to what exists.
    pub fn own(&self, at: Address, len: usize) -> UserMem {
        let offset = usize::try_from(at.offset).unwrap_or(usize::MAX);
        match at.region {
            Region::Heap => self.heap.part(offset, len),
            Region::Statics => self.statics.part(offset, len).next().unwrap_or(UserMem::EMPTY),
        }
    }

    /// This process's own word at an address; 0 where there is none.
    pub fn word(&self, at: Address) -> u64 {
        let memory = self.own(at, 8);
        if memory.len() == 8 { memory.as_bytes().word(0) } else { 0 }
    }

    /// Waits until the own word at an address stands to `value` as `compare` names; `pause` is called between two looks
    /// and may sleep.
    pub fn wait_until(&mut self, at: Address, compare: Compare, value: u64, mut pause: impl FnMut()) -> u64 {
        loop {
            let word = self.word(at);
            if compare.holds(word, value) {
                return word;
            }
            if self.progress() == 0 {
                pause();
            }
        }
    }

    fn target(&self, pe: Pe, place: Destination) -> Result<Target> {
        let id = *self.ids.get(pe.0 as usize).ok_or(Error::ProcessInvalid)?;
        let (match_bits, offset) = bits(place);
        Ok(Target { id, index: INDEX, access: 0, match_bits, offset: offset as usize })
    }

    fn has_room(&mut self) -> Result<()> {
        let under_way = |room: &Room<N>| room.unacknowledged.1 + room.coming.len() as u64;
        if under_way(self) >= self.most {
            self.progress();
        }
        if under_way(self) >= self.most { Err(Error::NoSpace) } else { Ok(()) }
    }

    /// Puts memory to a process; the end is reported with `cookie`. What lies beyond the target's memory is lost.
    ///
    /// # Errors
    /// `NO_SPACE`: nothing was begun, try again; `PROCESS_INVALID`.
    pub fn put(&mut self, to: Pe, at: Destination, from: UserMem, cookie: u64) -> Result<()> {
        let target = self.target(to, at)?;
        self.has_room()?;
        let number = self.next_put;
        self.nic.put_region(self.puts, from.address(), from.len(), Ack::Wanted, &target, number)?;
        self.next_put += 1;
        self.leaving.insert(number, (target.id, cookie));
        *self.unacknowledged.0.entry(target.id).or_default() += 1;
        self.unacknowledged.1 += 1;
        Ok(())
    }

    /// Gets a process's memory; the end is reported with `cookie`. Memory that is being filled is not named again.
    ///
    /// # Errors
    /// As [`Room::put`]; `MD_ILLEGAL` for memory that is being filled, or none.
    pub fn get(&mut self, from: Pe, at: Destination, into: UserMem, cookie: u64) -> Result<()> {
        let target = self.target(from, at)?;
        if into.is_empty() || self.coming.contains_key(&into.address()) {
            return Err(Error::MdIllegal);
        }
        self.has_room()?;
        self.nic.get_region(self.gets, into.address(), into.len(), &target)?;
        self.coming.insert(into.address(), (from, cookie));
        Ok(())
    }

    /// Swaps a process's word for `value`, at once for all other processes. One swap is under way at a time.
    ///
    /// # Errors
    /// As [`Room::put`]; `MD_IN_USE` while the result of another one is not taken.
    pub fn swap(&mut self, with: Pe, at: Address, value: u64) -> Result<()> {
        let target = self.target(with, Destination::Symmetric(at))?;
        if self.swap != Swap::None {
            return Err(Error::MdInUse);
        }
        self.words[1].write(PeerBytes::of(&value.to_ne_bytes()));
        self.nic.get_put(self.old, self.new, &target, 0)?;
        self.swap = Swap::UnderWay;
        Ok(())
    }

    /// The word that a swap has brought.
    pub fn take_swapped(&mut self) -> Option<u64> {
        let Swap::Done(word) = self.swap else { return None };
        self.swap = Swap::None;
        Some(word)
    }

    /// Shows memory of this process as a window, whose place the others learn and into which they may put.
    ///
    /// # Errors
    /// `MD_NO_UPDATE`: operations on what it showed before are not over.
    pub fn open_window(&mut self, number: usize, memory: UserMem) -> Result<()> {
        let new = shown(Memory::One(memory), Options::OP_PUT);
        self.nic.md_update(self.windows[number], &new, None)
    }

    /// Shows nothing there any more.
    ///
    /// # Errors
    /// As [`Room::open_window`]; the memory is still shown.
    pub fn close_window(&mut self, number: usize) -> Result<()> {
        self.open_window(number, UserMem::EMPTY)
    }

    /// Whether all puts are where they belong, and all gets here.
    pub fn is_quiet(&self) -> bool {
        self.unacknowledged.1 == 0 && self.coming.is_empty() && self.swap != Swap::UnderWay
    }

    /// A process that was reached before and is gone. What was under way with it ends as not done.
    pub fn lost(&mut self) -> Option<Pe> {
        let id = self.nic.lost()?;
        self.unacknowledged.1 -= self.unacknowledged.0.remove(&id).unwrap_or(0);
        let pe = Pe(self.ids.iter().position(|&other| other == id)? as u32);
        let ends = &mut self.ends;
        self.coming.retain(|_, &mut (from, cookie)| {
            if from == pe {
                ends.push_back(End { cookie, fine: false });
            }
            from != pe
        });
        Some(pe)
    }

    /// One put to a process less is unacknowledged.
    fn settle(&mut self, id: ProcessId) {
        // One that was given up is not counted any more.
        if let Some(count) = self.unacknowledged.0.get_mut(&id).filter(|count| **count > 0) {
            *count -= 1;
            self.unacknowledged.1 -= 1;
        }
    }

    /// What has come to its end.
    pub fn next_end(&mut self) -> Option<End> {
        self.ends.pop_front()
    }

    /// Gives the NIC a turn and takes its events; how many things happened.
    pub fn progress(&mut self) -> usize {
        let mut happened = 0;
        // Operations under way are fewer than the queue has places for, so none is lost.
        while let Ok(taken) = self.nic.eq_get(self.eq) {
            happened += 1;
            self.take_event(&taken.event);
        }
        happened + self.nic.progress()
    }

    fn take_event(&mut self, event: &portals::Event) {
        let fine = event.failure.is_none();
        match event.kind {
            EventKind::SendEnd if event.md == self.puts => {
                let Some((id, cookie)) = self.leaving.remove(&event.hdr_data) else { return };
                self.ends.push_back(End { cookie, fine });
                if !fine {
                    // No target acknowledges what has not left.
                    self.settle(id);
                }
            }
            EventKind::Ack => self.settle(event.initiator),
            EventKind::ReplyEnd if event.md == self.gets => {
                if let Some((_, cookie)) = self.coming.remove(&event.offset) {
                    self.ends.push_back(End { cookie, fine });
                }
            }
            EventKind::ReplyEnd => self.swap = Swap::Done(self.words[0].as_bytes().word(0)),
            _ => {}
        }
    }
}

/// A descriptor that others reach, silently.
fn shown(memory: Memory, accepts: Options) -> Descriptor {
    let silent = Options::EVENT_START_DISABLE | Options::EVENT_END_DISABLE;
    Descriptor {
        memory,
        threshold: Threshold::Infinite,
        max_size: 0,
        // An operation beyond the end is cut, so that it is acknowledged and its origin does not wait forever.
        options: accepts | Options::MANAGE_REMOTE | Options::TRUNCATE | silent,
        user: 0,
        eq: None,
    }
}
