//! The layout of a mailbox, and the words in it that both sides touch.
//!
//! ```text
//!     0   returned: u32, messages that the peer has released of those this side sent   (written by the peer)
//!   128   slot 0    sequence u32 | length u16 | tag u8 | 0 | returned u32 | 0 u32 | header and data ...
//!         slot 1    (each slot a multiple of 64 bytes; the peer writes slot n % credits as its message n)
//!         ...
//! ```
//!
//! A slot's `sequence` is the message's number plus one and is stored last, so that a zeroed slot and a slot of
//! the previous round both read as "not there yet". `returned` in a slot is the same count as the word at 0,
//! carried along by traffic in the other direction.

use core::sync::atomic::{AtomicU32, Ordering};
use gni::{Error, Result, SmsgAttr, SmsgType};

const SLOTS: u64 = 128;
/// Bytes of a slot before the message.
pub(crate) const SLOT_HEADER: usize = 16;

/// The shape of one mailbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Address of its first byte.
    pub(crate) base: u64,
    credits: u32,
    stride: u32,
}

/// The first 16 bytes of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotHeader {
    pub(crate) sequence: u32,
    pub(crate) len: u16,
    pub(crate) tag: u8,
    pub(crate) returned: u32,
}

impl SlotHeader {
    pub(crate) fn to_bytes(self) -> [u8; SLOT_HEADER] {
        let mut bytes = [0; SLOT_HEADER];
        bytes[0..4].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.len.to_ne_bytes());
        bytes[6] = self.tag;
        bytes[8..12].copy_from_slice(&self.returned.to_ne_bytes());
        bytes
    }

    /// The words after the sequence: [`SlotHeader::to_bytes`] from byte 4 on.
    #[inline(always)]
    pub(crate) fn rest(self) -> [u32; 2] {
        let [low, high] = self.len.to_ne_bytes();
        [u32::from_ne_bytes([low, high, self.tag, 0]), self.returned]
    }

    /// The header with these words after its sequence, as read from a slot.
    #[inline(always)]
    pub(crate) fn of_words(sequence: u32, [sizes, returned]: [u32; 2]) -> SlotHeader {
        let [low, high, tag, _] = sizes.to_ne_bytes();
        SlotHeader { sequence, len: u16::from_ne_bytes([low, high]), tag, returned }
    }
}

/// Bytes of a mailbox with these attributes.
pub(crate) fn size(attr: &SmsgAttr) -> Result<u32> {
    if attr.kind == SmsgType::Invalid
        || attr.credits == 0
        || attr.max_size == 0
        || attr.max_size > gni::limits::SMSG_MAX
    {
        return Err(Error::InvalidParam);
    }
    let size = SLOTS + u64::from(attr.credits) * u64::from(stride(attr.max_size));
    u32::try_from(size).map_err(|_| Error::InvalidParam)
}

fn stride(max_size: u32) -> u32 {
    (max_size + SLOT_HEADER as u32).next_multiple_of(64)
}

impl Shape {
    /// The mailbox that `attr` describes; its size must have been checked.
    pub(crate) fn of(attr: &SmsgAttr) -> Shape {
        Shape {
            base: attr.buffer + u64::from(attr.offset),
            credits: attr.credits.into(),
            stride: stride(attr.max_size),
        }
    }

    /// Address of the slot of message `number`.
    pub(crate) fn slot(&self, number: u64) -> u64 {
        self.base + SLOTS + number % u64::from(self.credits) * u64::from(self.stride)
    }

    /// Address of the slot after the one at `slot`.
    #[inline(always)]
    pub(crate) fn after(&self, slot: u64) -> u64 {
        let next = slot + u64::from(self.stride);
        if next == self.slot_end() { self.base + SLOTS } else { next }
    }

    /// Address of the slot before the one at `slot`.
    #[inline(always)]
    pub(crate) fn before(&self, slot: u64) -> u64 {
        let after = if slot == self.base + SLOTS { self.slot_end() } else { slot };
        after - u64::from(self.stride)
    }

    #[inline(always)]
    fn slot_end(&self) -> u64 {
        self.base + SLOTS + u64::from(self.credits) * u64::from(self.stride)
    }

    /// Messages it holds.
    pub(crate) fn credits(&self) -> u32 {
        self.credits
    }
}

/// The shared word at `addr`, read with acquire order.
///
/// # Safety
/// `addr` is a multiple of 4 in memory that stays mapped and readable during the call.
#[inline(always)]
pub(crate) unsafe fn load(addr: u64) -> u32 {
    // SAFETY: by the caller's promise the word exists and is aligned; peers access it atomically or through
    // the kernel.
    unsafe { AtomicU32::from_ptr(addr as *mut u32) }.load(Ordering::Acquire)
}

/// Stores the shared word at `addr` without an order of its own, before one that [`store`] publishes.
///
/// # Safety
/// As [`store`].
#[inline(always)]
pub(crate) unsafe fn store_early(addr: u64, value: u32) {
    // SAFETY: as in `load`.
    unsafe { AtomicU32::from_ptr(addr as *mut u32) }.store(value, Ordering::Relaxed);
}

/// Stores the shared word at `addr` with release order, which pairs with [`load`].
///
/// # Safety
/// As [`load`], and writable.
#[inline(always)]
pub(crate) unsafe fn store(addr: u64, value: u32) {
    // SAFETY: as in `load`.
    unsafe { AtomicU32::from_ptr(addr as *mut u32) }.store(value, Ordering::Release);
}
