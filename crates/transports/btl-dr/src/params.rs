//! The transport's parameters.

mca::choice! {
    /// Which payload travels under a checksum.
    pub enum Checksum {
        /// None. Headers always do.
        Never = "never",
        /// That which leaves the host.
        Network = "network",
        /// All.
        Always = "always",
    }
}

mca::choice! {
    /// Whether long messages are copied by the kernel or a NIC.
    pub enum Rdma {
        /// Never: they go in fragments, under sums.
        Never = "never",
        /// By gets and puts that are compared with their owner's memory.
        Verified = "verified",
        /// By gets and puts as the transports do them.
        Trusted = "trusted",
    }
}

mca::params! {
    /// Parameters of data reliability.
    pub struct DrParams("btl_dr_") {
        /// Which payload travels under CRC-32C: none (never), what leaves the host (network), or all (always). Headers of
        /// messages always do.
        checksum: Checksum = "network", scope AllEq;
        /// Bytes for one peer that may be under way without an acknowledgement. They are kept until it comes.
        window: mca::Size = "4M", unit "bytes", range 65536 to 1073741824, level Tuner;
        /// Put data reliability over shared memory, too: messages between processes of a host are numbered, kept until they are
        /// acknowledged, and go over a network where shared memory fails. Otherwise they go as without data reliability. Faults
        /// for tests set it.
        shared_memory: mca::Bool = "false", scope AllEq;
        /// Whether long messages are copied by the kernel or by a NIC, without sums on their way: never (they go in fragments),
        /// verified (by gets and puts whose bytes are compared with sums of their owner's memory), or trusted (by gets and puts as
        /// the transports do them). A get that differs is made again. What fails goes in fragments.
        rdma: Rdma = "never", scope AllEq;
        /// Report ways to peers that fail, and that return, on standard error.
        report: mca::Bool = "true";
        /// Faults for tests that happen to frames which leave, each with a probability from 0 to 1: drop, twice, damage (one
        /// bit), late (after the next frame); copy, of gets and puts (one bit of what was copied changes); a seed, as in
        /// seed=1,drop=0.01; and a cut of the fastest way to each peer, from a number of milliseconds after the first frame to
        /// another: cut_from=100,cut_to=3000.
        faults: mca::Text = "", level Developer;
    }
}

impl DrParams {
    /// Whether messages within a host are covered, too.
    pub fn cover_shared_memory(&self) -> bool {
        self.shared_memory || !self.faults.is_empty()
    }
}
