//! What the transport has done.

/// Counts since the transport was set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Messages that the provider copied at once.
    pub injected: u64,
    /// Messages sent from a buffer.
    pub framed: u64,
    /// Messages sent by Eager GET.
    pub eager_gets: u64,
    /// Payload bytes sent in messages, those of Eager GET included.
    pub sent_bytes: u64,
    /// Payload bytes of GETs and PUTs of this process that are over and went between the memory of two users.
    pub moved_bytes: u64,
    /// Messages that the provider had no room for at first.
    pub delayed: u64,
    /// Frames that were not of this job, or did not hold together.
    pub dropped: u64,
}
