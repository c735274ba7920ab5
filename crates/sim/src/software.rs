//! What the library's own code costs its processor.

gni_timed::cost_table! {
    /// Processor time of the layers above the NIC, and of copies.
    pub struct SoftwareCosts {
        /// Sending one frame: envelope, sequence number, choice of protocol.
        pml_send: 35.0 "ns", "callgrind: 170 instructions of ob1, taken as 2 per cycle of a 2.4 GHz Opteron";
        /// Taking one frame: matching, completing a request.
        pml_recv: 110.0 "ns", "callgrind: 530 instructions of ob1, posting the receive included, likewise";
        /// Taking the end of a transfer.
        pml_event: 40.0 "ns", "assumed: a cache miss";
        /// Rate of copies between buffers.
        copy_rate: 6.0 "B/ns", "assumed: one core of a Magny-Cours Opteron out of its caches";
    }
}
