//! Parameters of the message layer.

mca::params! {
    /// Parameters of messages without a receive.
    pub struct Ob1Params("mpi_") {
        /// Payload of unexpected messages that a process keeps, at most; beyond it senders keep theirs.
        unexpected_cap: mca::Size = "64M", unit "bytes", range 65536 to 1099511627776;
    }
}
