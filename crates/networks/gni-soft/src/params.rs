//! Parameters of the NIC.

mca::choice! {
    /// Which ways the NIC takes to its peers.
    pub enum Reach {
        /// Shared memory and single copy on the host, TCP beyond.
        Auto = "auto",
        /// As `auto`, but no single copy: the owner of memory copies, asked by socket.
        Socket = "socket",
        /// TCP to all peers.
        Tcp = "tcp",
    }
}

mca::params! {
    /// Parameters of the Gemini NIC in software.
    pub struct GniParams("gni_") {
        /// Faults that each rank's NIC injects, as name=value pairs separated by commas: seed, drop, lost_ack, fatal,
        /// reorder, delay, early_event, overrun, datagram (probabilities), cq_entries, mdds.
        faults: mca::Text = "", level Developer;
        /// Memory descriptors of a node's NIC, shared by its ranks.
        mdds: mca::Int = "4096", range 1 to 4096, scope AllEq, level Tuner;
        /// Relocation table entries of a node's NIC, shared by its ranks: one for every 2 MiB that are registered.
        mrt_entries: mca::Int = "16384", range 1 to 16384, scope AllEq, level Tuner;
        /// Registrations hold the pages of registration time, as the hardware's do: shows registrations that were kept
        /// too long. Needs io_uring; transfers pass through the owner's service and are slow.
        pinned: mca::Bool = "false", scope AllEq, level Developer;
        /// Ways to peers: shared memory on the host and TCP beyond, or one of these alone.
        reach: Reach = "auto", scope AllEq;
        /// Listen for peers of other hosts even if the launcher knows of one node only: for network namespaces.
        listen: mca::Bool = "false", scope AllEq;
    }
}
