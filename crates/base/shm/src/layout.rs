//! Where what lies in the segment.
//!
//! ```text
//!   head | doorbells | identities | records | queue tails | queue slots | bounce buffer heads, joints | fastboxes
//!          of all      of all       of all    of all        of rank 0,    of rank 0,           received
//!          ranks       ranks        ranks     ranks         1, ...        1, ...               by rank 0, 1, ...
//!        | small bounce buffers    | large bounce buffers    | areas
//!          of rank 0, 1…    of rank 0, 1…
//! ```
//! Lines that every rank reads come first and together, so that they cost each rank a page or two; the large
//! parts are touched only by use.

use crate::area::{self, BOUNCE_BYTES};
use crate::fastbox::{BLOCK_BYTES, SLOT_BYTES};
use crate::record;

/// The sizes that a layout depends on, the same in every process of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Ranks on this node.
    pub ranks: usize,
    /// Fastboxes per receiver.
    pub fastboxes: usize,
    /// Slots per fastbox, a power of two.
    pub slots: usize,
    /// Blocks of data per fastbox, a power of two.
    pub blocks: usize,
    /// Slots per receive queue, a power of two and at least 8.
    pub queue: usize,
    /// Bounce buffers per owner and size: first the small ones, then the large ones.
    pub bounce_buffers: [usize; 2],
    /// Payload bytes per bounce buffer of each size, multiples of 64.
    pub bounce_bytes: [usize; 2],
    /// Control blocks of joint copies per owner.
    pub joints: usize,
}

/// Offsets into the segment, in bytes, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    doorbells: usize,
    identities: usize,
    records: usize,
    alerts: usize,
    tails: usize,
    slots: usize,
    heads: usize,
    joints: usize,
    fastboxes: usize,
    payloads: [usize; 2],
    areas: usize,
    bytes: usize,
}

/// Distance between lines that different ranks write: two cache lines, since adjacent ones are fetched in pairs.
pub const APART: usize = 128;
const LINE: usize = 64;
const PAGE: usize = 4096;

impl Layout {
    /// The layout for `shape`.
    pub fn new(shape: Shape) -> Layout {
        let n = shape.ranks;
        let mut end = APART;
        let mut place = |bytes: usize, align: usize| {
            let start = end.next_multiple_of(align);
            end = start + bytes;
            start
        };
        Layout {
            shape,
            doorbells: place(n * APART, APART),
            identities: place(n * LINE, LINE),
            records: place(n * record::KEPT * LINE, APART),
            alerts: place(n * size_of::<record::Alerts>(), APART),
            tails: place(n * APART, APART),
            slots: place(n * shape.queue * 8, PAGE),
            heads: place(n * shape.bounce_buffers_per_rank() * APART, PAGE),
            joints: place(n * shape.joints * APART, PAGE),
            fastboxes: place(n * shape.fastboxes * shape.fastbox_bytes(), PAGE),
            payloads: [
                place(n * shape.bounce_buffers[0] * shape.bounce_bytes[0], PAGE),
                place(n * shape.bounce_buffers[1] * shape.bounce_bytes[1], PAGE),
            ],
            areas: place(PAGE + area::areas(n) * area_bytes(n), PAGE),
            bytes: place(0, PAGE),
        }
    }

    /// The sizes this layout is made from.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Length of the segment in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The doorbells of all ranks.
    pub fn doorbells(&self) -> usize {
        self.doorbells
    }

    /// The identities of all ranks.
    pub(crate) fn identities(&self) -> usize {
        self.identities
    }

    /// The records of `rank`'s last calls.
    pub fn records(&self, rank: usize) -> usize {
        self.records + rank * record::KEPT * LINE
    }

    /// How often each rank was alerted.
    pub fn alerts(&self) -> usize {
        self.alerts
    }

    /// The tails of all ranks' receive queues.
    pub(crate) fn tails(&self) -> usize {
        self.tails
    }

    /// The slots of `rank`'s receive queue.
    pub fn slots(&self, rank: usize) -> usize {
        self.slots + rank * self.shape.queue * 8
    }

    /// The heads of `rank`'s bounce buffers, small ones first.
    pub fn bounce_heads(&self, rank: usize) -> usize {
        self.heads + rank * self.shape.bounce_buffers_per_rank() * APART
    }

    /// The control blocks of `rank`'s joint copies.
    pub fn joints(&self, rank: usize) -> usize {
        self.joints + rank * self.shape.joints * APART
    }

    /// The parts of fastbox `number` of `receiver`: progress, slots, blocks.
    pub fn fastbox(&self, receiver: usize, number: usize) -> [usize; 3] {
        let index = receiver * self.shape.fastboxes + number;
        let start = self.fastboxes + index * self.shape.fastbox_bytes();
        let slots = start + APART;
        [start, slots, slots + self.shape.slots * SLOT_BYTES]
    }

    /// The directory of the areas for collectives; `None` where there are too many ranks for areas.
    pub fn directory(&self) -> Option<usize> {
        (area_bytes(self.shape.ranks) > 0).then_some(self.areas)
    }

    /// The parts of area `number`: lines, words, payloads aside, bounce buffers.
    pub fn area(&self, number: usize) -> [usize; 4] {
        let ranks = self.shape.ranks;
        let start = self.areas + PAGE + number * area_bytes(ranks);
        area_parts(ranks).map(|part| start + part)
    }

    /// Offset and length of the payload of `rank`'s bounce buffer `bounce`, which is below
    /// [`Shape::bounce_buffers_per_rank`].
    pub fn bounce(&self, rank: usize, bounce: usize) -> (usize, usize) {
        let [small, large] = self.shape.bounce_buffers;
        let (size, index, count) =
            if bounce < small { (0, bounce, small) } else { (1, bounce - small, large) };
        let bytes = self.shape.bounce_bytes[size];
        (self.payloads[size] + (rank * count + index) * bytes, bytes)
    }
}

/// Where the parts of an area begin that itself begins with a page: lines, words, payloads aside, bounce buffers.
pub(crate) fn area_parts(ranks: usize) -> [usize; 4] {
    let words = (area::slots(ranks) * area::SLOT_BYTES).next_multiple_of(APART);
    let payloads = words + area::words(ranks) * APART;
    [0, words, payloads, (payloads + area::payload_bytes(ranks)).next_multiple_of(PAGE)]
}

/// Bytes of one area, whole pages; none for more ranks than an area serves.
pub fn area_bytes(ranks: usize) -> usize {
    if ranks > area::MOST_RANKS {
        return 0;
    }
    let [.., bounce_buffers] = area_parts(ranks);
    bounce_buffers + ranks * area::bounce_buffers(ranks) * BOUNCE_BYTES
}

impl Shape {
    /// The sizes for `ranks` ranks that share everything but messages.
    pub fn without_messages(ranks: usize) -> Shape {
        Shape {
            ranks,
            fastboxes: 0,
            slots: 0,
            blocks: 0,
            queue: 0,
            bounce_buffers: [0; 2],
            bounce_bytes: [0; 2],
            joints: 0,
        }
    }

    /// Bounce buffers of one owner, of both sizes.
    pub(crate) fn bounce_buffers_per_rank(&self) -> usize {
        self.bounce_buffers[0] + self.bounce_buffers[1]
    }

    fn fastbox_bytes(&self) -> usize {
        APART + self.slots * SLOT_BYTES + self.blocks * BLOCK_BYTES
    }

    /// A number that differs between shapes, for processes to compare: FNV-1a over the sizes.
    pub(crate) fn fingerprint(&self) -> u64 {
        let sizes = [self.ranks, self.fastboxes, self.slots, self.blocks, self.queue, self.joints];
        let all = sizes.iter().chain(&self.bounce_buffers).chain(&self.bounce_bytes);
        all.fold(0xcbf2_9ce4_8422_2325, |hash, &size| {
            (hash ^ size as u64).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Layout, Shape};

    #[test]
    fn no_two_parts_overlap_and_all_lie_within() {
        let shape = Shape {
            ranks: 3,
            fastboxes: 2,
            slots: 8,
            blocks: 16,
            queue: 8,
            bounce_buffers: [3, 2],
            bounce_bytes: [128, 512],
            joints: 3,
        };
        let layout = Layout::new(shape);
        let mut parts = vec![
            (0, 128),
            (layout.doorbells(), 3 * 128),
            (layout.identities(), 3 * 64),
            (layout.alerts(), 3 * 4),
            (layout.tails(), 3 * 128),
        ];
        for rank in 0..3 {
            parts.push((layout.slots(rank), 8 * 8));
            parts.push((layout.records(rank), 16 * 64));
            parts.push((layout.bounce_heads(rank), 5 * 128));
            parts.push((layout.joints(rank), 3 * 128));
            for number in 0..2 {
                let [progress, slots, blocks] = layout.fastbox(rank, number);
                parts.extend([(progress, 128), (slots, 8 * 128), (blocks, 16 * 64)]);
            }
            parts.extend((0..5).map(|bounce| layout.bounce(rank, bounce)));
        }
        parts.sort();
        for pair in parts.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?}");
        }
        let last = parts.last().unwrap();
        assert!(last.0 + last.1 <= layout.bytes());
        assert!(parts.iter().all(|(at, _)| at % 64 == 0));
    }

    #[test]
    fn a_fingerprint_tells_shapes_apart() {
        let shape = Shape {
            ranks: 2,
            fastboxes: 1,
            slots: 8,
            blocks: 8,
            queue: 8,
            bounce_buffers: [1, 2],
            bounce_bytes: [64, 64],
            joints: 1,
        };
        let other = Shape { bounce_buffers: [2, 1], ..shape };
        assert_ne!(shape.fingerprint(), other.fingerprint());
    }
}
