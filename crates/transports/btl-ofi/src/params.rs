//! The transport's parameters.

mca::params! {
    /// Parameters of the transport over libfabric. `ofi_library`, `ofi_provider` and `ofi_domain` choose what it runs on.
    pub struct BtlOfiParams("btl_ofi_") {
        /// Longest message to the provider, 108 bytes of headers included; less where the provider takes no more.
        frame_size: mca::Size = "64K", unit "bytes", range 256 to 16777216, scope AllEq, level Tuner;
        /// Largest payload sent without asking the receiver; what is longer than a frame goes by Eager GET. 0: what a
        /// frame holds.
        eager_limit: mca::Size = "0", unit "bytes", range 0 to 16777216, scope AllEq, level Tuner;
        /// Longest part of a message that is fetched at a time; 0: nothing is fetched, so that rendezvous always stores.
        get_limit: mca::Size = "4M", unit "bytes", range 0 to 1073741824, scope AllEq, level Tuner;
        /// Longest part of a message that is stored at a time; 0: nothing is stored.
        put_limit: mca::Size = "4M", unit "bytes", range 0 to 1073741824, scope AllEq, level Tuner;
        /// How long a short message takes, to compare this way with others; 0: as is common for the provider, 25000
        /// over TCP and UDP, else 1500.
        latency: mca::Int = "0", unit "nanoseconds", range 0 to 1000000000, scope AllEq, level Tuner;
        /// How fast long messages are, to compare this way with others; 0: as is common for the provider, 1000 over
        /// TCP and UDP, else 10000.
        bandwidth: mca::Int = "0", unit "bytes per microsecond", range 0 to 1000000, scope AllEq, level Tuner;
        /// Messages to one peer that it need not have taken yet. A provider may keep each in memory of its own, of a
        /// receiver that sleeps, too.
        window: mca::Int = "256", range 2 to 65536, scope AllEq, level Tuner;
        /// Receives of a frame each that are posted, if the provider holds so many.
        receives: mca::Int = "64", range 2 to 65536, level Tuner;
        /// Buffers of a frame each for messages on their way, made at a time.
        send_inc: mca::Int = "16", range 1 to 65536, level Tuner;
        /// Most such buffers, if the provider holds so many messages.
        send_max: mca::Int = "128", range 1 to 65536, level Tuner;
        /// Eager GET buffers made at a time for each direction.
        eager_inc: mca::Int = "16", range 1 to 65536, level Tuner;
        /// Most Eager GET buffers for each direction.
        eager_max: mca::Int = "128", range 1 to 65536, level Tuner;
        /// Registrations of memory that this process may use at a time.
        max_mem_reg: mca::Int = "4096", range 8 to 16777216, level Tuner;
    }
}
