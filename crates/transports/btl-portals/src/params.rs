//! Parameters of the transport.

mca::params! {
    /// Parameters of the transport over Portals.
    pub struct BtlPortalsParams("btl_portals_") {
        /// Largest message sent without asking the receiver.
        eager_limit: mca::Size = "32k", unit "bytes", range 64 to 1048576, scope AllEq;
        /// Largest fragment of a message sent in pieces.
        max_send_size: mca::Size = "64k", unit "bytes", range 64 to 1048576, scope AllEq;
        /// Blocks of memory that frames arrive in.
        recv_mds_num: mca::Int = "3", range 1 to 64;
        /// Length of each.
        recv_mds_size: mca::Size = "10M", unit "bytes", range 65536 to 1073741824, scope AllEq;
        /// Events of the queue for arrivals: how many frames the blocks hold together.
        eq_recv_size: mca::Int = "16384", range 64 to 1048576;
        /// Frames, gets and puts that may be under way together.
        max_pending_ops: mca::Int = "4096", range 16 to 524288;
        /// Buffers for frames, of each size: up to 1 KiB, and longer.
        free_list_max: mca::Int = "1024", range 2 to 262144;
    }
}
