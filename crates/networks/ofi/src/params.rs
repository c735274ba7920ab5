//! Parameters of libfabric.

mca::params! {
    /// Which libfabric, and what of it.
    pub struct OfiParams("ofi_") {
        /// File of libfabric; without a slash, the loader searches for it.
        library: mca::Text = "libfabric.so.1";
        /// Provider as `fi_info` names it, for instance `tcp;ofi_rxm`. Empty: the first one that can do what is needed,
        /// but for `sockets`, `udp;ofi_rxd` and `shm` (for pml cm also `net` and `tcp` alone), which are used only
        /// where they are named.
        provider: mca::Text = "", scope AllEq;
        /// Domain, which is the interface or adapter as `fi_info` names it. Empty: the first one, loopback and bridges
        /// last.
        domain: mca::Text = "";
        /// Whether pml cm takes a provider that stands still behind messages without a receive, and may hang.
        allow_stalls: mca::Bool = "false", scope AllEq;
    }
}
