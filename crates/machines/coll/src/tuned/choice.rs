//! What was chosen for a call, in classes, so that few schedules are kept.

use crate::algorithms::node::bounce;
use crate::algorithms::registry::{AlgorithmId, Memory};

use super::query::Query;

/// What was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: AlgorithmId,
    /// For [`crate::Params::segments`].
    pub segments: u32,
    /// For [`crate::Params::blocks`].
    pub blocks: u32,
    /// For [`crate::Params::fanout`].
    pub fanout: u32,
}

/// The choice of `algorithm` for a call, cut into segments of so many bytes.
pub(super) fn choice(algorithm: AlgorithmId, query: &Query, segment: u64, fanout: u32) -> Choice {
    let needs = &algorithm.get().needs;
    let wanted = if segment == 0 { 1 } else { query.bytes.div_ceil(segment) };
    let least = if needs.memory == Memory::BounceBuffers { bounce_segments(query) } else { 1 };
    let most = (query.bytes / query.element.max(1)).max(1);
    let segments = if needs.segments { segment_class(wanted.min(most).max(least)) } else { 1 };
    let blocks = if needs.blocks { block_class(most) } else { 1 };
    Choice { algorithm, segments, blocks, fanout: if needs.fanout { fanout } else { 0 } }
}

/// Blocks at most that a vector of `elements` has: rounded up, so that few schedules are kept.
pub fn block_class(elements: u64) -> u32 {
    u32::try_from(elements).ok().and_then(u32::checked_next_power_of_two).unwrap_or(u32::MAX)
}

/// Segments of a call through bounce buffers.
pub(super) fn bounce_segments(query: &Query) -> u64 {
    bounce::segments_for(query.bytes, query.element.max(1))
}

/// Segments at most, so that schedules stay short; so many for each rank of an area are still rounds that 16 bits count.
pub(super) const MOST_SEGMENTS: u32 = 768;

/// Rounds up to 1, 2, 3, 4, 6, 8, 12, 16, …: few classes of counts, so that few schedules are kept.
fn segment_class(wanted: u64) -> u32 {
    let wanted = wanted.clamp(1, u64::from(MOST_SEGMENTS)) as u32;
    let power = wanted.next_power_of_two();
    if power >= 4 && wanted <= power / 4 * 3 { power / 4 * 3 } else { power }
}
