//! Parameters of waiting, and the choice of the message layer.

mca::choice! {
    /// A message layer, by name.
    pub enum MessageLayer {
        /// Matching in the library, over any transport.
        Ob1 = "ob1",
        /// Matching by the network.
        Cm = "cm",
        /// As ob1, over data reliability.
        Dr = "dr",
    }
}

mca::choice! {
    /// A network that matches, by name.
    pub enum Network {
        /// libfabric.
        Ofi = "ofi",
        /// A Portals NIC, used as Open MPI did.
        Portals = "portals",
        /// A Portals NIC, used as a device of MPICH did.
        Mpich = "mpich",
        /// Symmetric memory over a Portals NIC, as MPICH-1.2.6 over SHMEM had it.
        Shmem = "shmem",
    }
}

mca::params! {
    /// The choice of the message layer.
    pub struct PmlParams("") {
        /// Message layer: ob1 matches in the library and works over every transport; cm lets the network match
        /// (parameter mtl), also between ranks of one node; dr is ob1 over data reliability, which sends again what a
        /// transport loses or damages, and takes another one where one fails (btl_dr parameters).
        pml: MessageLayer = "ob1", scope AllEq;
        /// Network that matches, under cm: ofi is libfabric; portals is a Portals NIC in software as Open MPI used it;
        /// mpich is the same as the devices of MPICH used it (mpich_device); shmem matches in the library over
        /// symmetric memory.
        mtl: Network = "ofi", scope AllEq;
    }
}

mca::params! {
    /// Parameters of how ranks wait.
    pub struct EngineParams("mpi_") {
        /// How long a waiting rank polls before it sleeps, where every rank has a processor of its own.
        spin_us: mca::Int = "500", unit "microseconds", range 0 to 1000000;
        /// How long a rank polls for a message from one on another processor before it yields to the others on its own,
        /// where ranks share processors and its turn comes next. 0: not at all.
        hint: mca::Int = "10", unit "microseconds", range 0 to 1000;
        /// Let waiting ranks yield and sleep early, as if there were more ranks than processors.
        yield_when_idle: mca::Bool = "false";
        /// Answer peers also while the program computes, by a thread of the library that makes progress then. All calls
        /// take a lock meanwhile, and a program that never computes for long gains nothing. What cannot do without asks
        /// for it itself.
        async_progress: mca::Bool = "false";
    }
}
