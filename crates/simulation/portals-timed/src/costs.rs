//! What everything costs, and the source of each value.

use gni_timed::cost_table;

/// The kernel of compute nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// Physically contiguous memory: one DMA command for a run.
    Catamount,
    /// One DMA command for each page of 4 KiB.
    Linux,
}

cost_table! {
    /// Costs of the network and of the NIC's calls. Bytes per nanosecond are gigabytes (10^9) per second.
    pub struct Costs {
        /// What a NIC injects or takes, per direction.
        port_rate: 1.1 "B/ns", "Red Storm paper: asymptote of a little over 1.1 GB/s; the link carries 2.5, the host interface 2.8";
        /// A message between processors of a node: the sender's kernel copies it.
        local_rate: 2.0 "B/ns", "assumed: one core of an Opteron out of its caches";
        /// Latency of one link with its router.
        hop: 60.0 "ns", "Red Storm's requirement: 2 us nearest and 5 us farthest, over 52 hops";
        /// Latency of a header from the sender's NIC to the target's, hops not counted.
        wire: 1000.0 "ns", "assumed; fitted to one point of each machine";
        /// Taking an interrupt, until the handler runs and back.
        interrupt: 2000.0 "ns", "remembered of the SeaStar literature: about 2 us";
        /// Looking at one entry of a match list.
        match_entry: 30.0 "ns", "assumed: a cache miss every other entry on a 2 GHz Opteron";
        /// Giving the NIC one DMA command.
        command: 100.0 "ns", "assumed: stores over HyperTransport";
        /// A call of the interface: into the kernel and back.
        call: 75.0 "ns", "remembered of the SeaStar literature: an empty trap of Catamount";
        /// Taking an event.
        event: 40.0 "ns", "assumed: a cache miss";
    }
}

/// Bytes of data that travel in the packet of their header.
pub(crate) const IN_HEADER: u64 = 12;

impl Costs {
    /// The same NIC where its own processor walks the lists: no processor is interrupted.
    pub const fn offloaded(self) -> Costs {
        Costs { interrupt: 0.0, ..self }
    }
}
