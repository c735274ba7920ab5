//! Parameters of libfabric.

mca::params! {
    /// Which libfabric, and what of it.
    pub struct OfiParams("ofi_") {
        /// File of libfabric; without a slash, the loader searches for it.
        library: mca::Text = "libfabric.so.1";
        /// Provider as `fi_info` names it, for instance `tcp;ofi_rxm`. Empty: the first one that can do what is needed, and that
        /// libfabric does not call a test of its own (`sockets`, `udp;ofi_rxd`).
        provider: mca::Text = "", scope AllEq;
        /// Domain, which is the interface or adapter as `fi_info` names it. Empty: the first one, loopback last.
        domain: mca::Text = "";
    }
}
