//! What a NIC has, and what it counts.

/// `ptl_ni_limits_t`: wished for when attaching, and what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Match entries.
    pub max_mes: u32,
    /// Memory descriptors.
    pub max_mds: u32,
    /// Event queues.
    pub max_eqs: u32,
    /// Highest index of the access table.
    pub max_ac_index: u32,
    /// Highest index of the portal table.
    pub max_pt_index: u32,
    /// Runs of one memory descriptor.
    pub max_md_iovecs: u32,
    /// Entries of one match list.
    pub max_me_list: u32,
    /// Longest `PtlGetPut`, in bytes.
    pub max_getput_md: u32,
}

/// Registers of `PtlNIStatus`. Only [`Status::DropCount`] is there on every NIC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// Operations that arrived and that nothing accepted.
    DropCount,
    /// Bytes of the dropped operations.
    DropBytes,
    /// Operations that arrived and were accepted, with acknowledgements and replies.
    ReceiveCount,
    /// Bytes received.
    ReceiveBytes,
    /// Operations, acknowledgements and replies sent.
    SendCount,
    /// Bytes sent.
    SendBytes,
    /// Match entries in use.
    MatchEntries,
    /// Memory descriptors in use.
    MemoryDescriptors,
    /// Event queues in use.
    EventQueues,
    /// Bytes of the NIC's memory that entries, descriptors and events take.
    NicBytes,
    /// Match entries that arriving operations have walked past or matched.
    EntriesWalked,
}
