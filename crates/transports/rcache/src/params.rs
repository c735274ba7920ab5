//! Parameters of registered memory.

mca::choice! {
    /// How changes of the address space are noticed, which end the validity of registrations.
    pub enum Watching {
        /// By userfaultfd, with one thread that sleeps until something changes.
        Userfaultfd = "userfaultfd",
        /// Not at all: user buffers are registered for each transfer.
        Off = "none",
        /// Not at all, and registrations are kept: right only for programs that never unmap or free a buffer.
        Trust = "trust",
    }
}

mca::choice! {
    /// Pages of pooled memory.
    pub enum Pages {
        /// Ordinary ones.
        Never = "never",
        /// Huge ones, joined by the kernel.
        Transparent = "transparent",
        /// Those set aside by the administrator, or else transparent ones.
        Reserved = "reserved",
    }
}

mca::params! {
    /// Parameters of memory that transports register: the registration cache and the pool of `MPI_Alloc_mem`.
    pub struct RcacheParams("rcache_") {
        /// How it is noticed that memory was unmapped, moved or given back, so that its registration must not be used
        /// again.
        watch: Watching = "userfaultfd", scope AllEq;
        /// Pages of the memory that MPI_Alloc_mem gives out where no other process of the node can map it.
        huge_pages: Pages = "transparent", level Tuner;
    }
}
