//! The transport's parameters.

mca::choice! {
    /// What is done to datagrams.
    pub enum Security {
        /// They are signed.
        Integrity = "integrity",
        /// They are signed and encrypted.
        Encrypt = "encrypt",
    }
}

mca::params! {
    /// Parameters of the transport over UDP.
    pub struct UdpParams("btl_udp_") {
        /// Interfaces of this host, or networks as 10.1.0.0/16, that are used, separated by commas. Each is a way of its own
        /// to peers that are on that network, too. Empty: all but the loopback, and that where there is no other.
        if_include: mca::Text = "";
        /// Those that are not used, where if_include is empty.
        if_exclude: mca::Text = "";
        /// Ports among which each socket chooses one, as 20000-20999. Empty: any.
        ports: mca::Text = "";
        /// How datagrams are protected on their way: signed (integrity), so that only processes of the job can make one, or
        /// encrypted, too (encrypt).
        security: Security = "integrity", scope AllEq;
        /// Longest packet in bytes. 0: the smallest that an interface of the job reports, at most 9000.
        mtu: mca::Int = "0", unit "bytes", range 0 to 65535, scope AllEq, level Tuner;
        /// Bytes that each socket buffers in the kernel, each way, as far as net.core.rmem_max and wmem_max allow.
        socket_buffer: mca::Size = "4M", unit "bytes", range 4096 to 1073741824, level Tuner;
        /// How long a short message takes, to compare this way with others.
        latency: mca::Int = "20000", unit "nanoseconds", range 1 to 1000000000, scope AllEq, level Tuner;
        /// How fast long messages are, to compare this way with others.
        bandwidth: mca::Int = "1000", unit "bytes per microsecond", range 1 to 1000000, scope AllEq, level Tuner;
    }
}
