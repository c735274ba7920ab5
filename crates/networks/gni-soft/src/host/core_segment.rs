//! What one NIC shows to initiators of its host: registrations, queues, an inbox for packets.
//!
//! ```text
//!        0   Head        identity, where the owner's doorbell is
//!     1024   Doorbell    what the owner sleeps on, unless the head names another one
//!     4096   QueueEntry  64    which block holds each arrival queue
//!     8192   Ends + 64 Slot    inbox for datagram packets
//!    32768   RegEntry    4096  one per memory descriptor
//! ```

use crate::fabric::Registration;
use crate::mapping::{Mapping, Shared, memory_file};
use crate::ring::{Ends, Ring, Slot};
use core::sync::atomic::{AtomicU64, Ordering, fence};
use gni::{MemFlags, limits};
use shm::doorbell::Doorbell;
use std::io;
use std::os::fd::OwnedFd;

/// Words of a datagram packet in the inbox.
pub(super) const PACKET_WORDS: usize = 20;
/// Arrival queues of one NIC.
pub(super) const QUEUES: usize = 64;
const INBOX: usize = 64;
const MAGIC: u64 = 0x616c_6865_6e61_4731;

const QUEUES_AT: usize = 4096;
const INBOX_AT: usize = 8192;
const REGISTRATIONS_AT: usize = 32_768;
const BYTES: usize = REGISTRATIONS_AT + limits::MDDS as usize * size_of::<RegEntry>();

const _: () =
    assert!(INBOX_AT + size_of::<Ends>() + INBOX * size_of::<Slot<PACKET_WORDS>>() <= REGISTRATIONS_AT);

// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl<const WORDS: usize> Shared for Slot<WORDS> {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Ends {}
// SAFETY: atomics only; the doorbell's creator made it for shared segments.
unsafe impl Shared for Doorbell {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Head {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for QueueEntry {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for RegEntry {}

/// The first page.
#[repr(C, align(128))]
pub(super) struct Head {
    magic: AtomicU64,
    /// Address of the number `nonce` in the owner's private memory: a process that reads that number there reads the
    /// right process.
    pub(super) nonce_address: AtomicU64,
    pub(super) nonce: AtomicU64,
    /// Not zero when the owner has detached.
    pub(super) closed: AtomicU64,
    /// Where in a file, which its service gives out, the doorbell is that the owner sleeps on, plus one; 0: it is the
    /// one in this segment. Written before the service begins.
    doorbell: AtomicU64,
}

/// Where an arrival queue is.
#[repr(C)]
pub(super) struct QueueEntry {
    /// Block number plus one; 0: no such queue.
    block: AtomicU64,
    entries: AtomicU64,
}

/// One memory descriptor, written by its owner alone under a sequence count.
#[repr(C, align(64))]
pub(super) struct RegEntry {
    /// Odd while it is being changed.
    sequence: AtomicU64,
    addr: AtomicU64,
    len: AtomicU64,
    /// valid 63, pinned 62, flags 0..16, generation 16..32, queue plus one 32..48
    meta: AtomicU64,
    /// Block number plus one 32..64, or 0 where peers cannot map the memory.
    block: AtomicU64,
    /// Offset of `addr` in the block.
    offset: AtomicU64,
    /// Initiators that are copying; the owner waits for them before it lets go of the memory.
    users: AtomicU64,
}

/// A registration as an initiator reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) registration: Registration,
    /// The entry's sequence count.
    pub(super) sequence: u64,
    /// Block and offset in it, where the memory can be mapped.
    pub(super) block: Option<(u32, u64)>,
    /// Whether the pages of registration time are held, so that only the owner can reach them.
    pub(super) pinned: bool,
}

const VALID: u64 = 1 << 63;
const PINNED: u64 = 1 << 62;

/// A mapped core segment, one's own or a peer's.
pub(super) struct CoreSegment {
    map: Mapping,
}

impl CoreSegment {
    /// Makes one's own.
    pub(super) fn create() -> io::Result<(OwnedFd, CoreSegment)> {
        let file = memory_file(BYTES)?;
        let core = CoreSegment { map: Mapping::of(&file, BYTES)? };
        core.inbox().prepare();
        core.head().magic.store(MAGIC, Ordering::Release);
        Ok((file, core))
    }

    /// Maps a peer's.
    pub(super) fn map(file: &OwnedFd) -> io::Result<CoreSegment> {
        let core = CoreSegment { map: Mapping::of(file, BYTES)? };
        if core.head().magic.load(Ordering::Acquire) != MAGIC {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not the segment of a NIC"));
        }
        Ok(core)
    }

    pub(super) fn head(&self) -> &Head {
        self.map.one(0)
    }

    /// Owner: states that it sleeps on the doorbell at `offset` of its doorbell file.
    pub(super) fn set_doorbell(&self, offset: u64) {
        self.head().doorbell.store(offset + 1, Ordering::Release);
    }

    /// Where in the doorbell file the doorbell is, if it is not in this segment.
    pub(super) fn doorbell_elsewhere(&self) -> Option<u64> {
        self.head().doorbell.load(Ordering::Acquire).checked_sub(1)
    }

    /// The doorbell of a NIC whose owner has not named another one.
    pub(super) fn doorbell(&self) -> &Doorbell {
        self.map.one(1024)
    }

    pub(super) fn inbox(&self) -> Ring<'_, PACKET_WORDS> {
        Ring::new(self.map.many(INBOX_AT + size_of::<Ends>(), INBOX), self.map.one(INBOX_AT))
    }

    fn queue(&self, queue: u32) -> Option<&QueueEntry> {
        self.map.many::<QueueEntry>(QUEUES_AT, QUEUES).get(queue as usize)
    }

    /// Owner: states where a queue is, or that it is gone.
    pub(super) fn set_queue(&self, queue: u32, block: Option<u32>, entries: u64) {
        let Some(entry) = self.queue(queue) else { return };
        entry.entries.store(entries, Ordering::Relaxed);
        entry.block.store(block.map_or(0, |block| u64::from(block) + 1), Ordering::Release);
    }

    /// Block and entries of a queue.
    pub(super) fn queue_block(&self, queue: u32) -> Option<(u32, usize)> {
        let entry = self.queue(queue)?;
        let block = u32::try_from(entry.block.load(Ordering::Acquire).checked_sub(1)?).ok()?;
        Some((block, entry.entries.load(Ordering::Relaxed) as usize))
    }

    fn entry(&self, mdd: u16) -> Option<&RegEntry> {
        self.map.many::<RegEntry>(REGISTRATIONS_AT, limits::MDDS as usize).get(usize::from(mdd))
    }

    /// Owner: shows a registration.
    pub(super) fn publish(&self, registration: &Registration, block: Option<(u32, u64)>, pinned: bool) {
        let Some(entry) = self.entry(registration.mdd) else { return };
        let queue = registration.queue.map_or(0, |queue| u64::from(queue) + 1);
        let meta =
            u64::from(registration.flags.0) | u64::from(registration.generation) << 16 | queue << 32 | VALID;
        let meta = if pinned { meta | PINNED } else { meta };
        entry.change(|| {
            entry.addr.store(registration.addr, Ordering::Relaxed);
            entry.len.store(registration.len, Ordering::Relaxed);
            entry.block.store(block.map_or(0, |(block, _)| u64::from(block) + 1), Ordering::Relaxed);
            entry.offset.store(block.map_or(0, |(_, offset)| offset), Ordering::Relaxed);
            entry.meta.store(meta, Ordering::Relaxed);
        });
    }

    /// Owner: ends a registration; returns whether no initiator is copying.
    pub(super) fn withdraw(&self, mdd: u16) -> bool {
        let Some(entry) = self.entry(mdd) else { return true };
        entry.change(|| entry.meta.store(0, Ordering::Relaxed));
        // Pairs with the fence in `CoreSegment::enter`: either it sees the registration gone, or this sees it.
        fence(Ordering::SeqCst);
        entry.users.load(Ordering::Acquire) == 0
    }

    /// Owner: whether no initiator is copying any more.
    pub(super) fn is_left(&self, mdd: u16) -> bool {
        self.entry(mdd).is_none_or(|entry| entry.users.load(Ordering::Acquire) == 0)
    }

    /// The sequence count of a descriptor: while it is the one in [`Seen`], the registration is that one.
    #[inline]
    pub(super) fn sequence(&self, mdd: u16) -> Option<u64> {
        Some(self.entry(mdd)?.sequence.load(Ordering::Acquire))
    }

    /// The registration at a descriptor, if there is one and it is not just being changed.
    pub(super) fn registration(&self, mdd: u16) -> Option<Seen> {
        let entry = self.entry(mdd)?;
        loop {
            let before = entry.sequence.load(Ordering::Acquire);
            let (addr, len) = (entry.addr.load(Ordering::Relaxed), entry.len.load(Ordering::Relaxed));
            let (meta, block) = (entry.meta.load(Ordering::Relaxed), entry.block.load(Ordering::Relaxed));
            let offset = entry.offset.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if before & 1 != 0 || meta & VALID == 0 {
                return None;
            }
            if entry.sequence.load(Ordering::Relaxed) == before {
                let queue = (meta >> 32 & 0xffff).checked_sub(1).map(|queue| queue as u32);
                let registration = Registration {
                    mdd,
                    generation: (meta >> 16) as u16,
                    addr,
                    // A range that wraps would defeat the bounds check.
                    len: len.min(u64::MAX - addr),
                    flags: MemFlags(meta as u16),
                    queue,
                };
                let block = u32::try_from(block).ok().and_then(|block| block.checked_sub(1));
                let block = block.map(|block| (block, offset));
                return Some(Seen { registration, sequence: before, block, pinned: meta & PINNED != 0 });
            }
        }
    }

    /// Initiator: announces a copy; to be called before the read that the copy relies on.
    pub(super) fn enter(&self, mdd: u16) {
        if let Some(entry) = self.entry(mdd) {
            entry.users.fetch_add(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }

    /// Initiator: the copy announced is over.
    pub(super) fn leave(&self, mdd: u16) {
        if let Some(entry) = self.entry(mdd) {
            entry.users.fetch_sub(1, Ordering::Release);
        }
    }
}

impl RegEntry {
    fn change(&self, change: impl FnOnce()) {
        self.sequence.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        change();
        self.sequence.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::CoreSegment;
    use crate::fabric::Registration;
    use gni::MemFlags;

    const REGISTRATION: Registration = Registration {
        mdd: 4095,
        generation: 1023,
        addr: 0x1000,
        len: 77,
        flags: MemFlags(0x121),
        queue: Some(63),
    };

    #[test]
    fn a_peer_reads_what_the_owner_published() {
        let (file, own) = CoreSegment::create().unwrap();
        let peer = CoreSegment::map(&file).unwrap();
        own.publish(&REGISTRATION, Some((3, 512)), true);
        let seen = peer.registration(4095).expect("published");
        assert_eq!((seen.registration, seen.block, seen.pinned), (REGISTRATION, Some((3, 512)), true));
        assert!(peer.registration(4094).is_none());
        assert!(own.withdraw(4095));
        assert!(peer.registration(4095).is_none());
    }

    #[test]
    fn the_owner_sees_a_copy_under_way() {
        let (file, own) = CoreSegment::create().unwrap();
        let peer = CoreSegment::map(&file).unwrap();
        own.publish(&REGISTRATION, None, false);
        peer.enter(4095);
        assert!(peer.registration(4095).is_some());
        assert!(!own.withdraw(4095));
        peer.leave(4095);
        assert!(own.is_left(4095));
    }

    #[test]
    fn queues_are_found() {
        let (file, own) = CoreSegment::create().unwrap();
        let peer = CoreSegment::map(&file).unwrap();
        own.set_queue(5, Some(9), 64);
        assert_eq!(peer.queue_block(5), Some((9, 64)));
        own.set_queue(5, None, 0);
        assert_eq!(peer.queue_block(5), None);
        assert_eq!(peer.queue_block(64), None);
    }
}
