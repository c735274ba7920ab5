//! The parameters of windows.

mca::params! {
    /// Parameters of one-sided communication.
    pub struct OscParams("osc_") {
        /// Ranks of a window that are on one node use memory that they share. If not, they use messages, as between nodes.
        shared_memory: mca::Bool = "true";
        /// Ranks of other nodes have the network read, write and change the memory of windows, where it can. If not,
        /// they use messages.
        network: mca::Bool = "true";
        /// Blocks of memory for MPI_Alloc_mem that the other processes of the node can map, at most; each takes a
        /// descriptor. What it gives out beyond them belongs to the process alone.
        alloc_mem_segments: mca::Int = "256", range 0 to 1048576, level Tuner;
    }
}
