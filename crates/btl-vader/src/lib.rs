//! Shared-memory transport: fastboxes, a lock-free receive queue and single copy.
#![forbid(unsafe_code)]

/// Bytes of the node's shared segment for `local_size` ranks.
pub fn segment_bytes(local_size: usize) -> u64 {
    local_size as u64 * (1 << 20)
}
