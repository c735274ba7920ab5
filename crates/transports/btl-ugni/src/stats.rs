//! What the transport has done: which protocol ran how often, and what it cost.

/// Counts since the transport was set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Messages sent inline through a mailbox.
    pub smsg_sends: u64,
    /// Messages sent inline through the shared queue.
    pub msgq_sends: u64,
    /// Messages sent by Eager GET.
    pub eager_gets: u64,
    /// GETs by FMA, those of Eager GET included.
    pub fma_gets: u64,
    /// GETs by the block transfer engine, those of Eager GET included.
    pub bte_gets: u64,
    /// PUTs by FMA.
    pub fma_puts: u64,
    /// PUTs by the block transfer engine.
    pub bte_puts: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// GETs refused for alignment or length: the layer above falls back to PUT.
    pub unfit_gets: u64,
    /// GET_INIT and RDMA_COMPLETE messages.
    pub control_messages: u64,
    /// Copies of payload made by this process, into mailboxes and buffers.
    pub copies: u64,
    /// Payload bytes so copied.
    pub copied_bytes: u64,
    /// Payload bytes moved by GETs and PUTs of this process.
    pub moved_bytes: u64,
    /// Of these, bytes of transfers that are over and went between the memory of two users, without a buffer.
    pub direct_bytes: u64,
    /// Registrations of memory to be exposed or copied to and from.
    pub registrations: u64,
    /// Sends refused for want of a connection, credit or buffer.
    pub busy: u64,
    /// Transfers posted again.
    pub retries: u64,
    /// PUTs of no bytes, to see whether a peer is there.
    pub probes: u64,
    /// Overruns of the arrival queue.
    pub overruns: u64,
    /// Connections made.
    pub connections: u64,
    /// Bytes of registered mailboxes.
    pub mailbox_bytes: u64,
    /// Bytes of registered Eager GET buffers.
    pub buffer_bytes: u64,
    /// Bytes of this node's shared queue.
    pub msgq_bytes: u64,
}
