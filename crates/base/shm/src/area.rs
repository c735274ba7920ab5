//! Areas for collectives on one node: slots that their owner publishes and every member may read, without messages.
//!
//! ```text
//!   directory   one entry per area: how many hold it and which, and the epoch from which it may be used
//!   slots       (ranks + 1) x SLOTS   epoch and up to SHORT bytes each; the last group is the release flag
//!   wanting     MOST_RANKS / 64       a bit for each process that waits for room and may sleep
//!   counters    DEPTH                 processes that arrived in an epoch
//!   members     ranks x 3             the last epoch that each has retired; where it runs and whether it waits (`hint`)
//!   medium      (ranks + 1) x MEDIUM_DEPTH   MEDIUM bytes each, for slots with more than SHORT
//!   payloads    (ranks + 1) x DEPTH   PAYLOAD bytes each, for slots with more than MEDIUM
//!   bounce      ranks x bounce_buffers(ranks)  BOUNCE_BYTES each, written by their owner before it publishes
//! ```
//!
//! Time in an area is counted in epochs. A process's slot `epoch % SLOTS` may be written again once all members have
//! retired the epoch `SLOTS` before, and likewise what lies aside; so a reader that has not retired an epoch finds
//! exactly that epoch's slot or an older one. Nothing that is read here is used as an index or a length.

use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};

/// Payload bytes that lie in a slot itself, beside its epoch.
pub const SHORT: usize = 120;
/// Payload bytes of a slot, aside, if there are few: an odd number of cache lines.
pub const MEDIUM: usize = 9 * 64;
/// Such payloads of each process, used in turn; a power of two. Half as many as there are slots: all of them together
/// still fit the second-level caches.
pub(crate) const MEDIUM_DEPTH: usize = 128;
/// Payload bytes of a slot, aside: an odd number of cache lines, so that they spread over the sets of a cache.
pub const PAYLOAD: usize = 65 * 64;
/// Slots of each process, a power of two: calls by which a process may be ahead of the last one. Where ranks share
/// processors each of them makes as many calls as it can before the next one's turn.
pub const SLOTS: usize = 256;
/// Payloads aside of each process, used in turn; a power of two.
pub const DEPTH: usize = 16;
/// Bounce buffers that each process has at least, and at most; powers of two.
pub const BOUNCE_BUFFERS: [usize; 2] = [8, 32];
/// Bounce buffers of an area for few processes. A bounce buffer is best written again when its readers have it
/// no longer in their second-level caches: taking lines back from there costs several times what fetching them costs
/// from the shared cache (1 MiB through a ring of 128 KiB: 150 us, of 512 KiB: 44 us).
const AREA_BOUNCE_BUFFERS: usize = 128;
/// Calls of one epoch after which a process states that it has finished with them, see [`Area::retire_soon`]. Nothing
/// in an area is used again after so few. The swap in [`Area::retire`] takes a tenth of the time of the shortest calls.
pub(crate) const RETIRED_TOGETHER: u64 = 4;
const _: () = assert!(RETIRED_TOGETHER as usize <= BOUNCE_BUFFERS[0] && RETIRED_TOGETHER as usize <= DEPTH);
/// Bytes of a bounce buffer.
pub const BOUNCE_BYTES: usize = 32 << 10;
/// Areas of a node with so many ranks. The first belongs to the communicator of all ranks. Pages are allocated for all of
/// them, so wide nodes have fewer.
pub const fn areas(ranks: usize) -> usize {
    match ranks {
        0..=64 => 4,
        65..=MOST_RANKS => 2,
        _ => 0,
    }
}
/// Ranks up to which a node has areas.
pub const MOST_RANKS: usize = 512;

/// A slot: the payload is valid for the epoch that the first word names, beside its mark. What fits the first of its
/// two cache lines crosses in one transfer.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Slot {
    epoch: AtomicU64,
    payload: [UnsafeCell<u64>; SHORT / 8],
}

/// Bytes of a slot.
pub const SLOT_BYTES: usize = size_of::<Slot>();

/// A counter on cache lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Word(AtomicU64);

/// The members that hold an area.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Entry {
    members: AtomicU32,
    base: AtomicU64,
    /// A bit for each of them, by its place on the node.
    holders: [AtomicU64; HOLDER_WORDS],
}

const HOLDER_WORDS: usize = MOST_RANKS.div_ceil(u64::BITS as usize);

// SAFETY: a slot's payload is written by its owner before the epoch is published and only copied by others after
// they saw the epoch; a peer that breaks the rules changes values, nothing else.
unsafe impl Sync for Slot {}

impl Entry {
    /// Takes a free area for the processes at `places` of the node, each given once and below [`MOST_RANKS`]; the epoch after which
    /// they count.
    pub fn claim(&self, places: &[u32]) -> Option<u64> {
        let members = places.len() as u32;
        // Acquire: pairs with the Release of the last holder, whose base is seen then.
        self.members.compare_exchange(0, members, Ordering::Acquire, Ordering::Relaxed).ok()?;
        for &place in places {
            let (word, bit) = self.holder(place);
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Some(self.base.load(Ordering::Relaxed))
    }

    /// The member at `place` has finished with the area, and no epoch is in use of which more than [`SLOTS`] come after `epoch`. The
    /// member calls this itself, or any process that has seen that it is dead; the first call counts.
    pub fn release(&self, place: u32, epoch: u64) {
        self.base.fetch_max(epoch + SLOTS as u64, Ordering::Relaxed);
        let (word, bit) = self.holder(place);
        if word.fetch_and(!bit, Ordering::Relaxed) & bit != 0 {
            // A member count that a peer has spoilt must not wrap.
            let less = |members: u32| members.checked_sub(1);
            let _ = self.members.fetch_update(Ordering::Release, Ordering::Relaxed, less);
        }
    }

    /// Whether the member at `place` holds the area.
    pub fn is_held_by(&self, place: u32) -> bool {
        let (word, bit) = self.holder(place);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// The places of the members that hold the area.
    pub fn holders(&self) -> impl Iterator<Item = u32> {
        let places = 0..MOST_RANKS as u32;
        places.filter(|&place| self.is_held_by(place))
    }

    fn holder(&self, place: u32) -> (&AtomicU64, u64) {
        let (word, bit) = (place / u64::BITS, place % u64::BITS);
        (&self.holders[word as usize % HOLDER_WORDS], 1 << bit)
    }
}

/// Slots that an area of `ranks` processes has.
pub const fn slots(ranks: usize) -> usize {
    (ranks + 1) * SLOTS
}

/// Bytes of the payloads aside of an area of `ranks` processes.
pub const fn payload_bytes(ranks: usize) -> usize {
    (ranks + 1) * (MEDIUM_DEPTH * MEDIUM + DEPTH * PAYLOAD)
}

/// The wanting words, counters, and words of each process of an area of `ranks` processes.
pub const fn words(ranks: usize) -> usize {
    MEMBERS + ranks * OF_MEMBER
}

/// Bounce buffers that each process has in an area for `ranks` processes.
pub const fn bounce_buffers(ranks: usize) -> usize {
    bounce_buffers_of_each(AREA_BOUNCE_BUFFERS, ranks)
}

/// Of `all` bounce buffers those of each of `members` processes, used in turn; a power of two.
const fn bounce_buffers_of_each(all: usize, members: usize) -> usize {
    let ([least, most], share) = (BOUNCE_BUFFERS, all / members);
    if share >= most {
        most
    } else if share <= least {
        least
    } else {
        1 << share.ilog2()
    }
}

/// Where each kind of word begins.
const WANTING: usize = 0;
const COUNTERS: usize = MOST_RANKS / WANTING_BITS;
const MEMBERS: usize = COUNTERS + DEPTH;

/// Members that have a bit in one wanting word.
const WANTING_BITS: usize = u64::BITS as usize;
/// Words of each member.
const OF_MEMBER: usize = 3;

/// What a word of a member states.
#[derive(Clone, Copy)]
pub(crate) enum Tells {
    /// The last epoch that it has finished with.
    Retired,
    /// The processor where it was when it waited last, plus one.
    Processor,
    /// Whether it waits.
    Waiting,
}

/// What an area consists of.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The members' slots, and the release flag's.
    pub slots: &'static [Slot],
    /// The wanting words, counters, and words of each process.
    pub words: &'static [Word],
    /// Address of the payloads aside.
    pub payloads: usize,
    /// Address of the bounce buffers.
    pub bounce_buffers: usize,
    /// How many there are.
    pub bounce_count: usize,
}

impl Memory {
    /// The last epoch that any of its processes has retired, of those that hold it and those before: what they have published is of
    /// at most [`SLOTS`] epochs after it.
    pub fn last_retired(&self) -> u64 {
        let members = self.words[MEMBERS..].chunks_exact(OF_MEMBER);
        let retired = members.map(|words| words[Tells::Retired as usize].0.load(Ordering::Acquire));
        retired.max().unwrap_or(0)
    }

    /// Forgets those that have arrived in epochs that did not end: of a communicator that was revoked, or one of whose processes
    /// failed. For the process that has claimed the area, before others learn of it.
    pub fn clear_arrivals(&self) {
        self.words[COUNTERS..][..DEPTH].iter().for_each(|Word(counter)| counter.store(0, Ordering::Relaxed));
    }
}

/// An area as one of its processes sees it.
#[derive(Debug)]
pub struct Area {
    slots: &'static [Slot],
    words: &'static [Word],
    /// Address of the first payload aside.
    payloads: usize,
    /// Address of the first bounce buffer.
    bounce_buffers: usize,
    /// Bounce buffers of each member.
    ring: usize,
    pub(crate) members: usize,
    pub(crate) me: usize,
    /// The smallest retired epoch seen so far.
    floor: u64,
    /// The epoch that this process retired last.
    retired: u64,
    /// The epoch for which each own bounce buffer was written last.
    written: [u64; BOUNCE_BUFFERS[1]],
    /// What is published beside each epoch, in the bits above [`EPOCH_BITS`].
    mark: u64,
}

/// Bits of a slot's first word that count epochs.
const EPOCH_BITS: u32 = 48;
/// Beside the epoch: behind its payload the slot holds more ([`Area::publish_more`]).
const MORE: u64 = 1 << (EPOCH_BITS - 1);

/// Bits of a counter that count members, of which there are at most [`MOST_RANKS`].
const COUNT_BITS: u32 = 16;

/// Whose slot: a member's, or the release flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Member `.0`.
    Member(usize),
    /// The member that arrived last.
    Flag,
}

impl Area {
    /// The view of member `me` of `members`. An area that others held before is entered by retiring the epoch from
    /// which its members count on: until all have, no member finds room, and one that came earlier may sleep for it.
    pub fn new(memory: Memory, members: usize, me: usize) -> Area {
        let Memory { slots, words, payloads, bounce_buffers, bounce_count } = memory;
        assert!(slots.len() >= self::slots(members) && words.len() >= self::words(members) && me < members);
        let ring = bounce_buffers_of_each(bounce_count, members);
        assert!(ring * members <= bounce_count, "bounce buffers for every member");
        Area {
            slots,
            words,
            payloads,
            bounce_buffers,
            ring,
            members,
            me,
            floor: 0,
            retired: 0,
            written: [0; BOUNCE_BUFFERS[1]],
            mark: 0,
        }
    }

    /// From now on slots are published with `mark`, and only those with the same one are seen: two calls that are
    /// not the same wait for each other forever instead of taking each other's data.
    pub fn set_mark(&mut self, mark: u16) {
        self.mark = u64::from(mark) << EPOCH_BITS;
    }

    fn group(&self, owner: Owner) -> usize {
        match owner {
            Owner::Member(member) => member,
            Owner::Flag => self.members,
        }
    }

    fn slot(&self, owner: Owner, epoch: u64) -> &'static Slot {
        &self.slots[self.group(owner) * SLOTS + epoch as usize % SLOTS]
    }

    pub(crate) fn word(&self, tells: Tells, member: usize) -> &'static AtomicU64 {
        &self.words[MEMBERS + member * OF_MEMBER + tells as usize].0
    }

    fn retired_by(&self, member: usize) -> u64 {
        // Acquire: pairs with the Release in `retire`; what the member read, it has read.
        self.word(Tells::Retired, member).load(Ordering::Acquire)
    }

    /// Whether the slots of `epoch` may be written, with so many bytes of payload: all members have finished with what
    /// they held before.
    pub fn is_free(&mut self, epoch: u64, bytes: usize) -> bool {
        let slots = match () {
            () if bytes <= SHORT => SLOTS,
            () if bytes <= MEDIUM => MEDIUM_DEPTH,
            () => DEPTH,
        };
        self.all_retired(epoch.saturating_sub(slots as u64))
    }

    /// Takes the own bounce buffer of `epoch`, if it may be written: all members have finished with what it held.
    /// Epochs that leave their bounce buffers alone keep no member waiting.
    pub fn take_bounce(&mut self, epoch: u64) -> bool {
        let bounce = epoch as usize % self.ring;
        let free = self.written[bounce] == epoch || self.all_retired(self.written[bounce]);
        if free {
            self.written[bounce] = epoch;
        }
        free
    }

    /// Address of a member's bounce buffer of `epoch`.
    pub fn bounce(&self, member: usize, epoch: u64) -> usize {
        assert!(member < self.members, "a member's bounce buffer");
        // What the members fill in one epoch lies in different sets of a cache.
        let place = (epoch as usize).wrapping_add(member) % self.ring;
        self.bounce_buffers + (member * self.ring + place) * BOUNCE_BYTES
    }

    fn all_retired(&mut self, needed: u64) -> bool {
        if self.floor < needed {
            self.floor = (0..self.members).map(|member| self.retired_by(member)).min().unwrap_or(needed);
        }
        self.floor >= needed
    }

    /// Publishes a slot of the own process or the release flag, with these words at the start of its payload; the caller has
    /// asked [`Area::is_free`].
    #[inline]
    pub fn publish(&self, owner: Owner, epoch: u64, payload: &[u64]) {
        let slot = self.slot(owner, epoch);
        for (word, &value) in slot.payload.iter().zip(payload) {
            // SAFETY: only this process writes the slot in this epoch; readers wait for the epoch below.
            word.with_mut(|word| unsafe { word.write_volatile(value) });
        }
        // Release: pairs with the Acquire in `observe`.
        slot.epoch.store(epoch | self.mark, Ordering::Release);
    }

    /// As [`Area::publish`] without words, of a slot of the own process behind whose payload lies more, for readers
    /// that ask for that; others see a slot as any. [`Area::is_free`] counts what lies behind as payload, and it lies
    /// where a payload as long as both does: aside, unless that fits [`SHORT`] bytes.
    #[inline]
    pub fn publish_more(&self, epoch: u64) {
        // Release: pairs with the Acquire in `carries` and `carries_more`.
        self.slot(Owner::Member(self.me), epoch).epoch.store(epoch | self.mark | MORE, Ordering::Release);
    }

    /// Whether a member's slot carries `epoch`, and more behind its payload.
    #[inline]
    pub fn carries_more(&self, member: usize, epoch: u64) -> bool {
        // Acquire: pairs with the Release in `publish_more`.
        let slot = self.slot(Owner::Member(member), epoch);
        slot.epoch.load(Ordering::Acquire) == epoch | self.mark | MORE
    }

    /// Address of `bytes` bytes of payload of a slot, at most [`PAYLOAD`]: to be written before [`Area::publish`] without
    /// words, to be read after [`Area::carries`], until the epoch is retired. Writer and reader say the same number.
    #[inline(always)]
    pub fn payload(&self, owner: Owner, epoch: u64, bytes: usize) -> usize {
        if bytes <= SHORT {
            return (&raw const self.slot(owner, epoch).payload).expose_provenance();
        }
        self.payload_aside(owner, epoch, bytes)
    }

    #[inline]
    fn payload_aside(&self, owner: Owner, epoch: u64, bytes: usize) -> usize {
        let (group, epoch) = (self.group(owner), epoch as usize);
        if bytes <= MEDIUM {
            return self.payloads + (group * MEDIUM_DEPTH + epoch % MEDIUM_DEPTH) * MEDIUM;
        }
        let large = self.payloads + (self.members + 1) * MEDIUM_DEPTH * MEDIUM;
        large + (group * DEPTH + epoch % DEPTH) * PAYLOAD
    }

    /// Whether a slot carries `epoch`.
    #[inline]
    pub fn carries(&self, owner: Owner, epoch: u64) -> bool {
        // Acquire: pairs with the Release in `publish` and `publish_more`.
        self.slot(owner, epoch).epoch.load(Ordering::Acquire) & !MORE == epoch | self.mark
    }

    /// The payload of a slot, once it carries `epoch`: the words that fit `payload`.
    #[inline]
    pub fn observe(&self, owner: Owner, epoch: u64, payload: &mut [u64]) -> bool {
        if !self.carries(owner, epoch) {
            return false;
        }
        let slot = self.slot(owner, epoch);
        for (value, word) in payload.iter_mut().zip(&slot.payload) {
            // SAFETY: a plain word of the mapping; published before the epoch.
            *value = word.with(|word| unsafe { word.read_volatile() });
        }
        true
    }

    /// Counts this process in; whether it is the last of the members and all came with the same mark. If marks
    /// differ, no member is the last.
    pub fn arrive(&self, epoch: u64) -> bool {
        let counter = &self.words[COUNTERS + epoch as usize % DEPTH].0;
        // Marks add up above the count.
        let mark = self.mark >> EPOCH_BITS << COUNT_BITS;
        // AcqRel: the last one has seen everything that the others did before they arrived.
        let sum = counter.fetch_add(mark + 1, Ordering::AcqRel).wrapping_add(mark + 1);
        let members = self.members as u64;
        let last = sum & ((1 << COUNT_BITS) - 1) == members;
        if last {
            counter.store(0, Ordering::Relaxed);
        }
        last && sum == members * (mark + 1)
    }

    /// This process has finished with `epoch` and all before. Calls `ring` for each member that wants to be woken by that.
    pub fn retire(&mut self, epoch: u64, ring: impl Fn(usize)) {
        self.retired = epoch;
        // SeqCst: the swap comes before the load, as in `want_room` the bit comes before the second poll. So either
        // the bit is seen here or the epoch there. Releases what was read, as `retired_by` wants it.
        self.word(Tells::Retired, self.me).swap(epoch, Ordering::SeqCst);
        let in_use = self.members.div_ceil(WANTING_BITS);
        for (place, Word(wanting)) in self.words[WANTING..][..in_use].iter().enumerate() {
            if wanting.load(Ordering::SeqCst) == 0 {
                continue;
            }
            let mut members = wanting.swap(0, Ordering::SeqCst);
            while members != 0 {
                ring(place * WANTING_BITS + members.trailing_zeros() as usize);
                members &= members - 1;
            }
        }
    }

    /// This process has finished with `epoch`, which was a call's only one, and with all before. Others learn that of
    /// every [`RETIRED_TOGETHER`]th: a member that wants room in a call need not wait for one that has finished with
    /// the call before, as that has held back fewer epochs than pass until any slot, payload or bounce buffer is used
    /// again. A call of several epochs begins with [`Area::catch_up`], since its own epochs would count among these.
    #[inline]
    pub fn retire_soon(&mut self, epoch: u64, ring: impl Fn(usize)) {
        if epoch >= self.retired + RETIRED_TOGETHER {
            self.retire(epoch, ring);
        }
    }

    /// Retires what [`Area::retire_soon`] has not yet, up to `epoch`.
    #[inline]
    pub fn catch_up(&mut self, epoch: u64, ring: impl Fn(usize)) {
        if self.retired < epoch {
            self.retire(epoch, ring);
        }
    }

    /// Asks to be woken when a member retires an epoch. The caller then looks once more for room before it sleeps.
    pub fn want_room(&self) {
        let (wanting, bit) = (&self.words[WANTING + self.me / WANTING_BITS].0, 1 << (self.me % WANTING_BITS));
        // A poll that finds the bit still there leaves the cache line to the others.
        if wanting.load(Ordering::SeqCst) & bit == 0 {
            wanting.fetch_or(bit, Ordering::SeqCst);
        }
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
