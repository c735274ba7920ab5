//! The parameters.

mca::choice! {
    /// What is done about data that arrives damaged.
    pub enum Checksum {
        /// Nothing: it is not looked for.
        Off = "off",
        /// It ends the job.
        Verify = "verify",
        /// It is sent again.
        Repair = "repair",
    }
}

mca::params! {
    /// Checksums of messages from end to end.
    pub struct SumParams("mpi_") {
        /// Checksums of messages from end to end: with verify, envelope and payload of each message are summed by the sender and
        /// the receiver, also where one process copies out of another's memory, and a difference ends the job with its
        /// place; repair sends again what is damaged, which is data reliability (pml dr).
        checksum: Checksum = "off", scope AllEq;
        /// Faults for tests under mpi_checksum verify, each with a probability from 0 to 1: damage (one bit of a frame that
        /// leaves), copy (one bit of what was got or put without a copy); and a seed, as in seed=1,damage=0.01.
        checksum_faults: mca::Text = "", level Developer;
    }
}
