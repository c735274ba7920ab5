//! The transport's parameters.

mca::choice! {
    /// What is done to frames between the two sides of a connection.
    pub enum Security {
        /// They go as they are, unless the two sides see different ends of the connection: then as under `integrity`.
        None = "none",
        /// They are signed: who changes one on its way ends the connection.
        Integrity = "integrity",
        /// They are signed and encrypted.
        Encrypt = "encrypt",
    }
}

impl From<Security> for connect::Protection {
    fn from(security: Security) -> connect::Protection {
        match security {
            Security::None => connect::Protection::None,
            Security::Integrity => connect::Protection::Integrity,
            Security::Encrypt => connect::Protection::Encrypt,
        }
    }
}

mca::params! {
    /// Parameters of the transport over TCP.
    pub struct TcpParams("btl_tcp_") {
        /// Largest message that is sent without asking the receiver first.
        eager_limit: mca::Size = "64K", unit "bytes", range 0 to 134217728, scope AllEq, level Tuner;
        /// Largest payload of one frame: longer messages go in fragments of this size.
        max_send_size: mca::Size = "128K", unit "bytes", range 1024 to 134217728, scope AllEq, level Tuner;
        /// Largest part of a message that is fetched or stored at a time; others have their turn in between.
        max_rdma_size: mca::Size = "4M", unit "bytes", range 4096 to 1073741824, scope AllEq, level Tuner;
        /// How long a short message takes, to compare this way with others.
        latency: mca::Int = "15000", unit "nanoseconds", range 1 to 1000000000, scope AllEq, level Tuner;
        /// How fast long messages are, to compare this way with others.
        bandwidth: mca::Int = "1500", unit "bytes per microsecond", range 1 to 1000000, scope AllEq, level Tuner;
        /// Bytes for one peer that wait in the process when its socket is full, before sends are refused.
        out_buffer: mca::Size = "256K", unit "bytes", range 0 to 1073741824, level Tuner;
        /// Bytes of short messages in a row to one peer that are kept, to leave together: until there are so many, the process waits, or
        /// 100 microseconds have passed. The first four leave at once; 0: all do.
        burst: mca::Size = "8K", unit "bytes", range 0 to 1048576, level Tuner;
        /// Smallest get or put, of those into which long messages are cut, that is divided among the networks that
        /// both hosts have. 0: all goes over one of them.
        striping: mca::Size = "256K", unit "bytes", range 0 to 1073741824, level Tuner;
        /// Connections with a peer over each of these networks. Several serve a network that keeps each connection on
        /// one of its cables.
        links: mca::Int = "1", range 1 to 8, level Tuner;
        /// Networks to use alone, separated by commas: names of interfaces (eth0) or networks (10.0.0.0/8).
        if_include: mca::Text = "";
        /// Networks not to use, likewise; only where btl_tcp_if_include is empty.
        if_exclude: mca::Text = "";
        /// Ports to listen on, a number or two with a hyphen between (20000-20999); empty: any that the system gives.
        ports: mca::Text = "";
        /// How messages are protected on their way: not at all, signed (integrity), or signed and encrypted (encrypt).
        /// Of two processes the stronger wish holds. Each copies and computes over all bytes (docs/security.md).
        security: Security = "none";
        /// How long a peer may leave an address unanswered before its next one is tried, too.
        connect_timeout_ms: mca::Int = "1000", unit "milliseconds", range 1 to 600000, level Tuner;
        /// How long a peer's host may leave what was sent unanswered before the peer is given up; 0: as long as the
        /// system allows. A process that computes is not given up.
        silence_ms: mca::Int = "10000", unit "milliseconds", range 0 to 3600000, level Tuner;
        /// Connections at a time; when there are so many, idle ones are closed, and made again when they are wanted.
        /// 0: as many as the limit for open files (ulimit -n) allows.
        connections: mca::Int = "0", range 0 to 1000000, level Tuner;
        /// How often all addresses of a peer are tried before it is given up, where each of them fails. A process of another job that
        /// refuses by each of them is given up after the second time.
        connect_rounds: mca::Int = "20", range 1 to 1000000, level Tuner;
    }
}
