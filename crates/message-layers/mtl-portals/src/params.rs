//! Parameters of matching over Portals.

mca::params! {
    /// Parameters of matching over Portals, with the values that Open MPI 1.3 had but for the queues, which had 1,024
    /// events.
    pub struct MtlPortalsParams("mtl_portals_") {
        /// Longest message that is kept at the receiver if it comes before its receive; longer ones are fetched again.
        eager_limit: mca::Size = "128k", unit "bytes", range 64 to 1048576, scope AllEq;
        /// Blocks for messages that come before their receive.
        short_recv_mds_num: mca::Int = "3", range 1 to 64;
        /// Length of each.
        short_recv_mds_size: mca::Size = "15M", unit "bytes", range 65536 to 1073741824;
        /// Events of the queue for receives and sends.
        expected_queue_size: mca::Int = "8192", range 64 to 1048576;
        /// Events of the queue for messages that come before their receive.
        unexpected_queue_size: mca::Int = "8192", range 64 to 1048576;
        /// Buffers that short messages leave from.
        num_copy_blocks: mca::Int = "256", range 1 to 65536;
        /// Length of each: longest message that is copied.
        copy_block_len: mca::Size = "8k", unit "bytes", range 0 to 65536, scope AllEq;
        /// Send a header of a long message first, and the rest when it is asked for, so that nothing crosses twice.
        use_rendezvous: mca::Bool = "false", scope AllEq;
        /// End the process when memory or events for early messages run out, as the original did, whatever error
        /// handler the program has set.
        strict: mca::Bool = "false";
    }
}

mca::choice! {
    /// A device of MPICH for Portals.
    pub enum MpichDevice {
        /// MPICH-1.2.6, Red Storm.
        One = "1.2.6",
        /// MPICH2-0.97, Red Storm.
        Two = "2-0.97",
        /// Cray MPT 1.5, XT4.
        Xt = "xt",
    }
}

mca::choice! {
    /// How a device of MPICH sends long messages.
    pub enum LongMessages {
        /// As it did.
        Device = "device",
        /// All at once.
        Eager = "eager",
        /// A header first.
        Rendezvous = "rendezvous",
    }
}

mca::params! {
    /// Parameters of the devices of MPICH over Portals. Where 0 is given, the device has what the original had.
    pub struct MpichParams("mpich_") {
        /// Which device: 1.2.6 and 2-0.97 of Red Storm, xt (Cray MPT 1.5) of the XT4.
        device: MpichDevice = "1.2.6", scope AllEq;
        /// Longest short message; longer ones are fetched if they come before their receive.
        short_limit: mca::Size = "0", unit "bytes", range 0 to 1048576, scope AllEq;
        /// Copy very short messages, so that their send is complete at once (1.2.6).
        very_short: mca::Bool = "true";
        /// Longest message that is copied.
        very_short_limit: mca::Size = "8k", unit "bytes", range 0 to 65536, scope AllEq;
        /// Buffers for messages that come before their receive, of the short limit each (1.2.6, 2-0.97).
        unexpected_buffers: mca::Int = "0", range 0 to 65536;
        /// Memory for such messages (xt).
        unexpected_size: mca::Size = "0", unit "bytes", range 0 to 1073741824;
        /// Events of the queue for such messages.
        unexpected_events: mca::Int = "0", range 0 to 1048576;
        /// Events of the queue for everything else.
        other_events: mca::Int = "0", range 0 to 1048576;
        /// Long messages: eager sends all at once, and again if no receive was posted; rendezvous sends a header first.
        long_messages: LongMessages = "device", scope AllEq;
        /// End the process when memory or events for early messages run out, as the originals did, whatever error
        /// handler the program has set.
        strict: mca::Bool = "false";
    }
}
