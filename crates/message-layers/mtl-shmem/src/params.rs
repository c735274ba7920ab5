//! Parameters of matching over SHMEM.

mca::params! {
    /// Parameters of MPICH-1.2.6's device over SHMEM.
    pub struct MtlShmemParams("mtl_shmem_") {
        /// Slots that a sender has at each receiver.
        slots: mca::Int = "8", range 2 to 1024, scope AllEq;
        /// Longest message that fits into a slot; longer ones wait for their receive.
        short_limit: mca::Size = "1k", unit "bytes", range 256 to 65536, scope AllEq;
        /// Short messages of one sender that may wait for their receive.
        early: mca::Int = "32", range 1 to 65536, scope AllEq;
        /// Longest piece of a long message that one put carries. What goes the other way waits for a piece, not for a
        /// message.
        piece: mca::Size = "128k", unit "bytes", range 1024 to 1073741824;
        /// Puts that may be under way together.
        operations: mca::Int = "1024", range 8 to 65536;
    }
}
