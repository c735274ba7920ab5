//! Slots: what stands in one, and where it lies.

use crate::shmem::{Address, Pe};
use mem::{PeerBytes, UserMem};

/// What a slot carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A message with its payload.
    Short,
    /// A message whose payload waits at its sender under a number.
    Offer { send: u32 },
    /// The payload of a send may be put into a window: as much of it as is granted.
    Grant { send: u32, window: u32 },
    /// All of it is in the window.
    Placed { window: u32 },
}

/// The words of a slot before its payload; the first is the filled slot's number.
pub(crate) const HEAD_BYTES: usize = 40;

/// What stands in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) bits: u64,
    pub(crate) data: u64,
    /// Length of the message, or what is granted of it.
    pub(crate) len: u64,
}

impl Head {
    /// The words behind the slot's number.
    pub(crate) fn words(&self) -> [u64; 4] {
        let kind = match self.kind {
            Kind::Short => 0,
            Kind::Offer { send } => 1 | u64::from(send) << 32,
            Kind::Grant { send, window } => 2 | u64::from(window) << 8 | u64::from(send) << 32,
            Kind::Placed { window } => 3 | u64::from(window) << 8,
        };
        [kind, self.bits, self.data, self.len]
    }

    /// Reads them; `None`: no honest process has written them.
    pub(crate) fn parse([kind, bits, data, len]: [u64; 4]) -> Option<Head> {
        let (window, send) = ((kind >> 8 & 0xff) as u32, (kind >> 32) as u32);
        let kind = match kind & 0xff {
            0 => Kind::Short,
            1 => Kind::Offer { send },
            2 => Kind::Grant { send, window },
            3 => Kind::Placed { window },
            _ => return None,
        };
        Some(Head { kind, bits, data, len })
    }
}

/// Where rings and credits lie in each process's heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingLayout {
    pub(crate) processes: u32,
    pub(crate) slots: u64,
    /// Longest payload of a slot.
    pub(crate) payload: usize,
    /// Buffers that slots are filled from.
    pub(crate) staging: usize,
}

impl RingLayout {
    fn slot_bytes(&self) -> u64 {
        (HEAD_BYTES + self.payload).next_multiple_of(64) as u64
    }

    /// Bytes of the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        (self.credits_of(Pe(2 * self.processes)).offset + self.staging as u64 * self.slot_bytes()) as usize
    }

    /// The slot of a sender with a running number.
    pub(crate) fn slot(&self, of: Pe, number: u64) -> Address {
        Address::heap((u64::from(of.0) * self.slots + number % self.slots) * self.slot_bytes())
    }

    /// The word of credits that a receiver puts.
    pub(crate) fn credits_of(&self, receiver: Pe) -> Address {
        let rings = u64::from(self.processes) * self.slots * self.slot_bytes();
        Address::heap(rings + 8 * u64::from(receiver.0))
    }

    /// The word that this process's credits for a sender are put from.
    pub(crate) fn granted_to(&self, sender: Pe) -> Address {
        self.credits_of(Pe(self.processes + sender.0))
    }

    /// A buffer that a slot is filled from.
    pub(crate) fn staging(&self, number: usize) -> Address {
        self.credits_of(Pe(2 * self.processes)).plus(number as u64 * self.slot_bytes())
    }
}

pub(crate) fn write_words(memory: UserMem, words: &[u64]) {
    for (at, word) in words.iter().enumerate() {
        memory.part(8 * at, 8).write(PeerBytes::of(&word.to_ne_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Kind, RingLayout};
    use crate::shmem::Pe;

    #[test]
    fn heads_are_read_as_written() {
        let kinds = [
            Kind::Short,
            Kind::Offer { send: u32::MAX },
            Kind::Grant { send: 7, window: 255 },
            Kind::Placed { window: 1 },
        ];
        for kind in kinds {
            let head = Head { kind, bits: 1, data: u64::MAX, len: 3 };
            assert_eq!(Head::parse(head.words()), Some(head));
        }
        assert_eq!(Head::parse([4, 0, 0, 0]), None);
    }

    #[test]
    fn places_do_not_overlap() {
        let plan = RingLayout { processes: 3, slots: 4, payload: 100, staging: 2 };
        let mut places: Vec<(u64, u64)> = Vec::new();
        for pe in 0..3 {
            places.extend((0..4).map(|number| (plan.slot(Pe(pe), number).offset, 192)));
            places.push((plan.credits_of(Pe(pe)).offset, 8));
            places.push((plan.granted_to(Pe(pe)).offset, 8));
        }
        places.extend((0..2).map(|number| (plan.staging(number).offset, 192)));
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        assert!(places.last().is_some_and(|last| last.0 + last.1 <= plan.heap_bytes() as u64));
        assert_eq!(plan.slot(Pe(1), 9), plan.slot(Pe(1), 1));
    }
}
