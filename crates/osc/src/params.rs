//! The parameters of windows.

mca::params! {
    /// Parameters of one-sided communication.
    pub struct OscParams("osc_") {
        /// Ranks of a window that are on one node use memory that they share. If not, they use messages, as between nodes.
        shared_memory: mca::Bool = "true";
        /// Ranks of other nodes have the network read, write and change the memory of windows, where it can. If not,
        /// they use messages.
        network: mca::Bool = "true";
    }
}
