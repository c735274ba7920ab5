//! Whatever a peer leaves in the shared segment, the reader of a fastbox or a cell stays within it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shm::cell::CellHead;
use shm::fastbox::{Block, Fastbox, Item, Progress, Receiver, Slot};

const SLOTS: usize = 4;
const BLOCKS: usize = 8;

/// The memory that peers share, as its types see it.
#[repr(C)]
struct Segment {
    progress: Progress,
    slots: [Slot; SLOTS],
    blocks: [Block; BLOCKS],
    cell: CellHead,
}

fuzz_target!(|bytes: &[u8]| {
    // SAFETY: atomics and cells of integers; all of them may be any bytes, zero among them.
    let mut segment: Box<Segment> = unsafe { Box::new(std::mem::zeroed()) };
    let len = bytes.len().min(size_of::<Segment>());
    // SAFETY: as above; the copy stays within the segment, which nobody else sees yet.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut *segment).cast::<u8>(), len);
    }
    let ring = Fastbox { slots: &segment.slots, blocks: &segment.blocks, progress: &segment.progress };
    let mut receiver = Receiver::new(ring);
    for _ in 0..4 * SLOTS {
        if let Some((header, payload)) = receiver.peek_short() {
            let _ = (header.to_vec(), payload.to_vec());
        }
        let Some(word) = receiver.look() else { break };
        match receiver.open(word) {
            Item::Message(views) => {
                let _ = (views.header.to_vec(), views.payload.to_vec());
            }
            Item::Note(_) => {}
            Item::Corrupt => break,
        }
        receiver.advance();
    }
    if let Some((header, len)) = segment.cell.read(4096) {
        assert!(len <= 4096);
        let _ = header.to_vec();
    }
});
