//! What the NICs of one node share: how much of its resources is in use, and the shared message queue.
//!
//! ```text
//!        0   Counters                resources in use, attributes of the queue, members
//!     4096   Connection   1024       credits towards other nodes
//!    32768   Free                    stack of free message slots
//!    36864   next         4096       its links
//!    65536   Message      4096       the slots
//! ```
//! A message goes into a free slot of the *target's* node; its number then goes into the target instance's
//! ring (in a block of that NIC), which has room for all slots.

use crate::mapping::{Mapping, Shared, memory_file};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use gni::{Error, InstId, MsgqAttr, MsgqMessage, PeAddr, Result, limits};
use std::io;
use std::os::fd::OwnedFd;

/// Slots of the node's queue.
pub(super) const SLOTS: u32 = 4096;
const CONNECTIONS: usize = 1024;
const DATA_WORDS: usize = limits::MSGQ_MAX as usize / 8;

const CONNECTIONS_AT: usize = 4096;
const FREE_AT: usize = 32_768;
const NEXT_AT: usize = 36_864;
const MESSAGES_AT: usize = 65_536;
const BYTES: usize = MESSAGES_AT + SLOTS as usize * size_of::<Message>();

// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Counters {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Connection {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Message {}

#[repr(C)]
struct Counters {
    mdds: AtomicU32,
    pages: AtomicU32,
    fma: AtomicU32,
    members: AtomicU32,
    /// The queue's attributes, packed; 0: no NIC has joined.
    attr: AtomicU64,
    /// Credits given to other nodes.
    promised: AtomicU32,
}

/// Credits towards one other node.
#[repr(C)]
struct Connection {
    /// The node's address plus one; 0: free.
    pe: AtomicU32,
    /// [`ASKING`], or credits left plus one.
    credits: AtomicU32,
}

/// The other node has not answered yet.
const ASKING: u32 = 0;
const NO_CREDITS: u32 = 1;

#[repr(C)]
struct Message {
    /// Sender's instance 0..32, its node 32..64.
    from: AtomicU64,
    /// Tag 0..8, length 8..16.
    head: AtomicU64,
    data: [AtomicU64; DATA_WORDS],
}

/// The mapped segment.
pub(super) struct NodeSegment {
    map: Mapping,
}

fn pack(attr: &MsgqAttr) -> u64 {
    u64::from(attr.max_message)
        | u64::from(attr.credits) << 8
        | u64::from(attr.pool) << 32
        | u64::from(attr.instances) << 56
}

impl NodeSegment {
    pub(super) fn create() -> io::Result<(OwnedFd, NodeSegment)> {
        let file = memory_file(BYTES)?;
        let node = NodeSegment { map: Mapping::of(&file, BYTES)? };
        for slot in 0..SLOTS {
            node.give_slot(slot);
        }
        Ok((file, node))
    }

    pub(super) fn map(file: &OwnedFd) -> io::Result<NodeSegment> {
        Ok(NodeSegment { map: Mapping::of(file, BYTES)? })
    }

    fn counters(&self) -> &Counters {
        self.map.one(0)
    }

    /// Descriptors, relocation entries and FMA windows in use.
    pub(super) fn in_use(&self) -> [u32; 3] {
        let counters = self.counters();
        [&counters.mdds, &counters.pages, &counters.fma].map(|counter| counter.load(Ordering::Relaxed))
    }

    pub(super) fn reserve(&self, pages: u32, limits: (u32, u32)) -> Result<()> {
        let counters = self.counters();
        take(&counters.mdds, 1, limits.0)?;
        take(&counters.pages, pages, limits.1).inspect_err(|_| give(&counters.mdds, 1))
    }

    pub(super) fn unreserve(&self, pages: u32) {
        give(&self.counters().mdds, 1);
        give(&self.counters().pages, pages);
    }

    pub(super) fn take_fma(&self, limit: u32) -> Result<()> {
        take(&self.counters().fma, 1, limit)
    }

    pub(super) fn give_fma(&self) {
        give(&self.counters().fma, 1);
    }

    // ---- shared queue ----

    /// Whether a NIC has joined the node's queue, with these attributes.
    pub(super) fn has_queue(&self, attr: &MsgqAttr) -> Result<()> {
        match self.counters().attr.load(Ordering::Acquire) {
            0 => Err(Error::NotDone),
            theirs if theirs == pack(attr) => Ok(()),
            _ => Err(Error::InvalidParam),
        }
    }

    pub(super) fn join(&self, attr: &MsgqAttr) -> Result<()> {
        if attr.pool > SLOTS {
            return Err(Error::Resource);
        }
        let ours = pack(attr);
        let found = self.counters().attr.compare_exchange(0, ours, Ordering::AcqRel, Ordering::Acquire);
        if found.is_err_and(|theirs| theirs != ours) {
            return Err(Error::InvalidParam);
        }
        take(&self.counters().members, 1, attr.instances).map_err(|_| Error::InvalidParam)
    }

    pub(super) fn leave(&self) {
        give(&self.counters().members, 1);
    }

    /// Sets room for another node's `credits` messages aside.
    pub(super) fn promise(&self, credits: u32, pool: u32) -> Result<()> {
        take(&self.counters().promised, credits, pool.min(SLOTS))
    }

    fn connection(&self, pe: PeAddr) -> Option<&Connection> {
        let wanted = pe.0 + 1;
        self.connections().find(|connection| connection.pe.load(Ordering::Acquire) == wanted)
    }

    fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.map.many::<Connection>(CONNECTIONS_AT, CONNECTIONS).iter()
    }

    /// Claims the connection to `pe`, to ask that node for room. `Ok(false)`: it is made already.
    ///
    /// # Errors
    /// `NOT_DONE` while another rank of the node is asking, `ERROR_RESOURCE` when the table is full.
    pub(super) fn claim_connection(&self, pe: PeAddr) -> Result<bool> {
        let wanted = pe.0 + 1;
        for connection in self.connections() {
            match connection.pe.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(true),
                Err(theirs) if theirs == wanted && connection.credits.load(Ordering::Acquire) == ASKING => {
                    return Err(Error::NotDone);
                }
                Err(theirs) if theirs == wanted => return Ok(false),
                Err(_) => {}
            }
        }
        Err(Error::Resource)
    }

    /// The other node's answer to the NIC that claimed the connection: it has set room aside for `credits` messages,
    /// or not.
    pub(super) fn answered(&self, pe: PeAddr, credits: Option<u32>) {
        let Some(connection) = self.connection(pe) else { return };
        match credits {
            Some(credits) => connection.credits.store(credits + 1, Ordering::Release),
            None => connection.pe.store(0, Ordering::Release),
        }
    }

    pub(super) fn take_credit(&self, pe: PeAddr) -> Result<()> {
        let connection = self.connection(pe).ok_or(Error::InvalidState)?;
        let less = |credits: u32| (credits > NO_CREDITS).then(|| credits - 1);
        match connection.credits.fetch_update(Ordering::AcqRel, Ordering::Acquire, less) {
            Ok(_) => Ok(()),
            Err(ASKING) => Err(Error::InvalidState),
            Err(_) => Err(Error::NotDone),
        }
    }

    pub(super) fn give_credit(&self, pe: PeAddr) {
        if let Some(connection) = self.connection(pe) {
            connection.credits.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn next(&self, slot: u32) -> &AtomicU32 {
        &self.map.many::<AtomicU32>(NEXT_AT, SLOTS as usize)[(slot % SLOTS) as usize]
    }

    fn message(&self, slot: u32) -> &Message {
        &self.map.many::<Message>(MESSAGES_AT, SLOTS as usize)[(slot % SLOTS) as usize]
    }

    /// Takes a free slot. The stack's head is `pops << 32 | slot + 1`; the count distinguishes a head that was popped
    /// and pushed again from one that stayed.
    fn take_slot(&self) -> Option<u32> {
        let head = self.map.one::<AtomicU64>(FREE_AT);
        let mut seen = head.load(Ordering::Acquire);
        loop {
            let slot = (seen as u32).checked_sub(1)?;
            let below = self.next(slot).load(Ordering::Relaxed);
            let popped = ((seen >> 32).wrapping_add(1)) << 32 | u64::from(below);
            match head.compare_exchange_weak(seen, popped, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(slot),
                Err(now) => seen = now,
            }
        }
    }

    /// Puts a slot back.
    fn give_slot(&self, slot: u32) {
        let head = self.map.one::<AtomicU64>(FREE_AT);
        let mut seen = head.load(Ordering::Relaxed);
        loop {
            self.next(slot).store(seen as u32, Ordering::Relaxed);
            let pushed = seen & !u64::from(u32::MAX) | u64::from(slot % SLOTS + 1);
            match head.compare_exchange_weak(seen, pushed, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Writes a message into a free slot and returns its number; `None`: there is none.
    pub(super) fn put(&self, pe: PeAddr, inst: InstId, tag: u8, bytes: &[u8]) -> Option<u32> {
        let slot = self.take_slot()?;
        let message = self.message(slot);
        message.from.store(u64::from(pe.0) << 32 | u64::from(inst.0), Ordering::Relaxed);
        message.head.store(u64::from(tag) | (bytes.len() as u64) << 8, Ordering::Relaxed);
        for (cell, chunk) in message.data.iter().zip(bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            cell.store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
        Some(slot)
    }

    /// Takes the message out of a slot, which is free then.
    pub(super) fn get(&self, slot: u32) -> MsgqMessage {
        let message = self.message(slot);
        let from = message.from.load(Ordering::Relaxed);
        let head = message.head.load(Ordering::Relaxed);
        let mut bytes = [0; limits::MSGQ_MAX as usize];
        for (chunk, cell) in bytes.chunks_mut(8).zip(&message.data) {
            chunk.copy_from_slice(&cell.load(Ordering::Relaxed).to_ne_bytes());
        }
        self.give_slot(slot);
        let len = (head >> 8 & 0xff).min(limits::MSGQ_MAX.into()) as usize;
        MsgqMessage::new(InstId(from as u32), PeAddr((from >> 32) as u32), head as u8, &bytes[..len])
    }
}

fn take(counter: &AtomicU32, amount: u32, limit: u32) -> Result<()> {
    let more = |used: u32| used.checked_add(amount).filter(|&used| used <= limit);
    counter.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).map(drop).map_err(|_| Error::Resource)
}

fn give(counter: &AtomicU32, amount: u32) {
    counter.fetch_sub(amount, Ordering::AcqRel);
}

#[cfg(test)]
mod tests {
    use super::{NodeSegment, SLOTS};
    use gni::{Error, InstId, PeAddr};

    #[test]
    fn slots_are_taken_and_given_back() {
        let (file, node) = NodeSegment::create().unwrap();
        let other = NodeSegment::map(&file).unwrap();
        for _ in 0..2 {
            let slots: Vec<u32> = (0..SLOTS)
                .map(|n| node.put(PeAddr(1), InstId(2), n as u8, &[7; 128]).expect("a slot"))
                .collect();
            assert_eq!(node.put(PeAddr(1), InstId(2), 0, b""), None);
            for (n, slot) in (0..SLOTS).zip(slots) {
                let message = other.get(slot);
                assert_eq!((message.pe, message.inst, message.tag), (PeAddr(1), InstId(2), n as u8));
                assert_eq!(message.data(), [7; 128]);
            }
        }
    }

    #[test]
    fn resources_have_limits() {
        let (_, node) = NodeSegment::create().unwrap();
        assert_eq!(node.reserve(3, (2, 4)), Ok(()));
        assert_eq!(node.reserve(2, (2, 4)), Err(Error::Resource));
        assert_eq!(node.in_use(), [1, 3, 0]);
        assert_eq!(node.reserve(1, (2, 4)), Ok(()));
        assert_eq!(node.reserve(0, (2, 4)), Err(Error::Resource));
        node.unreserve(3);
        assert_eq!(node.in_use(), [1, 1, 0]);
    }

    #[test]
    fn credits_towards_a_node() {
        let (_, node) = NodeSegment::create().unwrap();
        assert_eq!(node.take_credit(PeAddr(0)), Err(Error::InvalidState));
        assert_eq!(node.claim_connection(PeAddr(0)), Ok(true));
        assert_eq!(node.claim_connection(PeAddr(0)), Err(Error::NotDone));
        node.answered(PeAddr(0), None);
        assert_eq!(node.claim_connection(PeAddr(0)), Ok(true));
        assert_eq!(node.take_credit(PeAddr(0)), Err(Error::InvalidState));
        node.answered(PeAddr(0), Some(2));
        assert_eq!(node.claim_connection(PeAddr(0)), Ok(false));
        assert_eq!(node.take_credit(PeAddr(0)), Ok(()));
        assert_eq!(node.take_credit(PeAddr(0)), Ok(()));
        assert_eq!(node.take_credit(PeAddr(0)), Err(Error::NotDone));
        node.give_credit(PeAddr(0));
        assert_eq!(node.take_credit(PeAddr(0)), Ok(()));
    }
}
