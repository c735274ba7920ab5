//! Parameters of matching over Portals, with the values that Open MPI 1.3 had but for the queues, which had 1,024 events.

mca::params! {
    /// Parameters of matching over Portals.
    pub struct MtlPortalsParams("mtl_portals_") {
        /// Longest message that is kept at the receiver if it comes before its receive; longer ones are fetched again.
        eager_limit: mca::Size = "128k", unit "bytes", range 64 to 1048576;
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
        copy_block_len: mca::Size = "8k", unit "bytes", range 0 to 65536;
    }
}
