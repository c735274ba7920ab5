//! The parameters of windows.

mca::params! {
    /// Parameters of one-sided communication.
    pub struct OscParams("osc_") {
        /// Windows whose processes are on one node use memory that these share. If not, they use messages, as between nodes.
        shared_memory: mca::Bool = "true";
    }
}
