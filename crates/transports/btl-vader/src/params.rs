//! The parameters of the transport and the sizes that follow from them.

use shm::{Layout, Shape};

mca::params! {
    /// Parameters of the shared-memory transport.
    pub struct VaderParams("btl_vader_") {
        /// Largest message that is copied through shared memory at once; longer ones are fetched by the receiver.
        eager_limit: mca::Size = "16k", unit "bytes", range 128 to 32768, alias "btl_sm_eager_limit";
        /// Data part of a fastbox, rounded down to a power of two and to what the segment has room for. Messages up to
        /// a quarter of it go through the fastbox; longer ones go in bounce buffers, which carry answers, too.
        fastbox_size: mca::Size = "8k", unit "bytes", range 4096 to 262144;
        /// Most senders that a rank reads by fastbox; others share its receive queue.
        max_fastboxes: mca::Int = "32", range 0 to 256;
        /// Messages to a peer after which it gets a fastbox.
        fastbox_threshold: mca::Int = "4", range 0 to 1000000, alias "btl_sm_fbox_threshold";
        /// Let sender and receiver of a long message copy it together.
        cooperative: mca::Bool = "true";
        /// Piece in which long messages are copied, between two polls for other work.
        chunk: mca::Size = "128k", unit "bytes", range 4096 to 67108864;
    }
}

/// Payload of small and large bounce buffers. A large bounce buffer holds the longest message of one `send`.
const BOUNCE_BYTES: [usize; 2] = [8 << 10, 32 << 10];
/// Bounce buffers of each size per rank, at most and at least, and how many the ranks of a node share in between.
///
/// A sender that goes round 1 MiB of bounce buffers fills what has left the receiver's second-level cache. Measured
/// on a Zen 4 server, 64 messages in one direction, 128 and 32 bounce buffers against 32 and 16: 8 KiB at 9.0 instead
/// of 6.1 GB/s, doubles with a step of 2, 64 KiB 13.3 instead of 7.0 GB/s. Where ranks are many, less memory to begin
/// with is worth more.
const MOST_BOUNCE_BUFFERS: [usize; 2] = [128, 32];
const LEAST_BOUNCE_BUFFERS: [usize; 2] = [32, 16];
const NODE_BOUNCE_BUFFERS: [usize; 2] = [512, 128];
/// Joint copies that the memory of one rank takes part in at a time.
const JOINTS: usize = 64;
/// Slots of a receive queue.
const QUEUE: usize = 256;
/// Bounds of the data part of one fastbox.
const FASTBOX_DATA: [usize; 2] = [4 << 10, 256 << 10];
/// Slots of a fastbox: as many as stay in the first-level cache in both directions (see `shm::fastbox`).
const FASTBOX_SLOTS: usize = 64;

/// Bytes of the shared segment of a node with `ranks` ranks; its creator provides at least as many, zeroed.
pub fn segment_bytes(ranks: usize) -> u64 {
    VaderParams::default().wish(ranks).bytes() as u64
}

impl VaderParams {
    /// The layout of a segment of `bytes` for `ranks` ranks: what the parameters wish for, with the fastboxes cut
    /// to what fits. The same in all processes that have the same parameters.
    pub fn layout(&self, ranks: usize, bytes: u64) -> Layout {
        let mut layout = self.wish(ranks);
        while layout.bytes() as u64 > bytes && layout.shape().blocks > FASTBOX_DATA[0] / BLOCK {
            let blocks = layout.shape().blocks / 2;
            layout = Layout::new(Shape { blocks, ..*layout.shape() });
        }
        layout
    }

    fn wish(&self, ranks: usize) -> Layout {
        let fastboxes = (self.max_fastboxes as usize).min(ranks.saturating_sub(1));
        let data = floor_power_of_two(self.fastbox_size).clamp(FASTBOX_DATA[0], FASTBOX_DATA[1]);
        Layout::new(Shape {
            ranks,
            fastboxes,
            slots: FASTBOX_SLOTS,
            blocks: data / BLOCK,
            queue: QUEUE,
            bounce_buffers: bounce_buffers(ranks, fastboxes),
            bounce_bytes: BOUNCE_BYTES,
            joints: JOINTS,
        })
    }
}

const BLOCK: usize = shm::fastbox::BLOCK_BYTES;

/// The largest power of two that is at most `n`, and 1 for 0.
fn floor_power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// Bounce buffers of each size per rank. Where not all senders have a fastbox, few bounce buffers keep each of them
/// from filling the receive queue that they share.
fn bounce_buffers(ranks: usize, fastboxes: usize) -> [usize; 2] {
    if fastboxes + 1 < ranks {
        return LEAST_BOUNCE_BUFFERS;
    }
    [0, 1].map(|size| {
        (NODE_BOUNCE_BUFFERS[size] / ranks.max(1))
            .clamp(LEAST_BOUNCE_BUFFERS[size], MOST_BOUNCE_BUFFERS[size])
    })
}

#[cfg(test)]
mod tests {
    use super::{VaderParams, segment_bytes};
    use shm::{Layout, Shape};

    #[test]
    fn segments_stay_small() {
        assert!(segment_bytes(2) <= 15 << 20);
        assert!(segment_bytes(32) <= 96 << 20);
        assert!(segment_bytes(128) <= 272 << 20);
        assert!(
            segment_bytes(512) <= 4 * segment_bytes(128),
            "memory grows with ranks, not with their square"
        );
    }

    #[test]
    fn every_choice_fits_the_segment_of_the_defaults() {
        for (fastbox_size, max_fastboxes, ranks) in
            [(1, 0, 1), (5000, 3, 2), (1 << 20, 256, 3), (4096, 32, 64)]
        {
            let params = VaderParams { fastbox_size, max_fastboxes, ..VaderParams::default() };
            let layout = params.layout(ranks, segment_bytes(ranks));
            assert!(layout.bytes() as u64 <= segment_bytes(ranks));
            assert!(layout.shape().blocks.is_power_of_two());
            assert!(Layout::new(Shape::without_messages(ranks)).bytes() < layout.bytes());
        }
    }
}
