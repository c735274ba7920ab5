//! Parameters of the NIC.

mca::params! {
    /// Parameters of the Portals NIC in software.
    pub struct PortalsParams("portals_") {
        /// Faults that each rank's NIC injects, as name=value pairs separated by commas: seed, drop, fail, defer, overrun,
        /// no_space (probabilities).
        faults: mca::Text = "", level Developer;
        /// Match lists are walked by the NIC's own processor, whose 384 KiB hold all entries, descriptors and events; else
        /// by the host, in interrupts.
        accelerated: mca::Bool = "false", scope AllEq, level Tuner;
    }
}
