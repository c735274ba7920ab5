//! The parameters of what a node shares. Their names are those of the transport that all of it once belonged to.

mca::choice! {
    /// How memory of another process is reached without an intermediate copy.
    pub enum SingleCopy {
        /// `process_vm_readv` and `process_vm_writev`.
        Cma = "cma",
        /// Mapped by `/dev/xpmem`, where that is there, or else as `cma`.
        Xpmem = "xpmem",
        /// Not at all: long messages go through shared memory in fragments.
        Off = "none",
    }
}

mca::params! {
    /// Parameters of what the processes of a node share, whatever carries their messages.
    pub struct NodeParams("btl_vader_") {
        /// How long messages, and data of collectives, cross without an intermediate copy.
        single_copy_mechanism: SingleCopy = "cma", alias "btl_sm_single_copy_mechanism";
        /// Put memory that long messages are copied from or into again and again onto huge pages, as far as the system
        /// has them; so too what datatypes with holes are packed from and unpacked into. It may take up to one huge page
        /// more at either end of a buffer.
        huge_pages: mca::Bool = "true";
    }
}
