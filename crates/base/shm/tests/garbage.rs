//! Whatever a peer writes into the segment, a reader stays within it and goes on or stops, and never panics.
#![cfg(not(loom))]

use mem::PeerBytes;
use proptest::prelude::*;
use shm::bounce::BounceHead;
use shm::fastbox::{self, BLOCK_BYTES, Block, Fastbox, Item, Progress, SLOT_BYTES, Slot};
use shm::joint::{Control, Job};
use shm::queue::{self, Queue, Tail};

const SLOTS: usize = 4;
/// Enough for divided data.
const BLOCKS: usize = 1024;

/// Memory of a fastbox that is written through as a hostile peer would.
struct Memory {
    slots: Box<[Slot]>,
    blocks: Box<[Block]>,
    progress: Box<Progress>,
}

impl Memory {
    fn new() -> Memory {
        Memory {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            blocks: (0..BLOCKS).map(|_| Block::default()).collect(),
            progress: Box::default(),
        }
    }

    fn fastbox(&self) -> Fastbox<'_> {
        Fastbox { slots: &self.slots, blocks: &self.blocks, progress: &self.progress }
    }

    /// Stores `word` as the first word of slot `index`.
    fn write_word(&self, index: usize, word: u64) {
        let slot = &raw const self.slots[index % SLOTS];
        // SAFETY: the slot's first word is an atomic integer; any value is valid there.
        unsafe { slot.cast::<std::sync::atomic::AtomicU64>().as_ref() }
            .expect("not null")
            .store(word, std::sync::atomic::Ordering::Relaxed);
    }

    fn holds(&self, bytes: PeerBytes<'_>) -> bool {
        let start = bytes.as_ptr() as usize;
        let within = |base: usize, len: usize| start >= base && start + bytes.len() <= base + len;
        within(self.slots.as_ptr() as usize, SLOTS * SLOT_BYTES)
            || within(self.blocks.as_ptr() as usize, BLOCKS * BLOCK_BYTES)
    }
}

proptest! {
    /// Words with the expected sequence number and random kind and lengths: views lie within the memory.
    #[test]
    fn fastbox_words_never_lead_outside(words in prop::collection::vec((any::<u32>(), 0u64..1 << 6), 1..40)) {
        let memory = Memory::new();
        let mut receiver = fastbox::Receiver::new(memory.fastbox());
        for (number, (len, rest)) in words.into_iter().enumerate() {
            // Small lengths are the interesting ones.
            let len = if len & 1 == 0 { len >> 16 & 0x1FFF } else { len & 0x1F_FFFF };
            memory.write_word(number, (number as u64) << 28 | 1 << 27 | rest << 21 | u64::from(len));
            let word = receiver.poll().expect("the word is the one expected");
            match receiver.open(word) {
                Item::Message(views) => {
                    prop_assert!(memory.holds(views.header) && memory.holds(views.payload));
                    prop_assert_eq!(views.payload.len(), len as usize);
                }
                Item::Note(_) => {}
                Item::Corrupt => break,
            }
            receiver.advance();
        }
    }

    /// Words of any other sequence number are not messages.
    #[test]
    fn stale_fastbox_words_are_not_messages(word in any::<u64>()) {
        let memory = Memory::new();
        let receiver = fastbox::Receiver::new(memory.fastbox());
        memory.write_word(0, word);
        prop_assert_eq!(receiver.poll().is_some(), word >> 27 == 1);
        if word >> 27 != 1 {
            prop_assert!(receiver.peek_short().is_none());
        }
    }

    /// A queue gives out entries below its limit only, and ends.
    #[test]
    fn queue_slots_of_any_value_are_entries_or_nothing(words in prop::collection::vec(any::<u64>(), 8)) {
        let slots: Vec<queue::Slot> = words.iter().map(|_| queue::Slot::default()).collect();
        for (slot, word) in slots.iter().zip(&words) {
            let slot = (&raw const *slot).cast::<std::sync::atomic::AtomicU64>();
            // SAFETY: a slot is one atomic integer.
            unsafe { slot.as_ref() }.expect("not null").store(*word, std::sync::atomic::Ordering::Relaxed);
        }
        let tail = Tail::default();
        let mut receiver = queue::Receiver::new(Queue::new(&slots, &tail));
        let taken = std::iter::from_fn(|| receiver.take()).take(1000).inspect(|entry| {
            assert!((1..queue::ENTRY_LIMIT).contains(entry));
        });
        prop_assert!(taken.count() < 1000);
    }

    /// The head of a bounce buffer is believed only if its lengths fit.
    #[test]
    fn bounce_heads_of_any_value_are_checked(words in any::<[u64; 10]>(), capacity in 0usize..70_000) {
        let head = BounceHead::default();
        // SAFETY: a head is integers only and at least as long as the words.
        unsafe { (&raw const head).cast_mut().cast::<[u64; 10]>().write(words) };
        if let Some((header, len)) = head.read(capacity) {
            prop_assert!(len <= capacity && header.len() <= 64);
        }
    }

    /// Chunks of any job lie within it, and any control block can be asked anything.
    #[test]
    fn joint_jobs_of_any_value_have_parts_within(
        words in any::<[u64; 7]>(), generation in 0u32..1 << 24, index in any::<u64>(),
    ) {
        let control = Control::default();
        // SAFETY: a control block is integers only and at least as long as the words.
        unsafe { (&raw const control).cast_mut().cast::<[u64; 7]>().write(words) };
        let job = control.job(generation).unwrap_or(Job {
            target: words[0], offset: words[1], len: words[2], chunk: words[3], receiver: words[4] as u32,
        });
        let (start, len) = job.part(index);
        prop_assert!(start.checked_add(len).is_some_and(|end| end <= job.len));
        control.claim(generation, job.chunks());
        control.progress(generation);
        control.close(generation);
    }
}
