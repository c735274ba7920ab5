//! What everything costs, and the source of each value.

/// One parameter of a cost table, for showing it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Unit of the value.
    pub unit: &'static str,
    /// Where the table's own value comes from.
    pub source: &'static str,
}

/// Declares a table of costs: each parameter with its value, unit and source.
#[macro_export]
macro_rules! cost_table {
    (
        $(#[$about:meta])*
        pub struct $table:ident {
            $($(#[$doc:meta])* $name:ident: $value:literal $unit:literal, $source:literal;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct $table {
            $($(#[$doc])* pub $name: f64,)+
        }

        impl $table {
            /// The values of the sources named.
            pub const SOURCED: $table = $table { $($name: $value,)+ };

            /// All parameters, in the order of the table, with the values of `self`.
            pub fn parameters(&self) -> Vec<$crate::Parameter> {
                vec![$($crate::Parameter {
                    name: stringify!($name),
                    value: self.$name,
                    unit: $unit,
                    source: $source,
                },)+]
            }

            /// The parameter of that name, to be changed.
            pub fn parameter_mut(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

cost_table! {
    /// Costs of the network and of the NIC's calls. Bytes per nanosecond are gigabytes (10^9) per second.
    pub struct Costs {
        /// Capacity of an X link, per direction.
        link_x: 9.375 "B/ns", "Gutierrez et al. 2012, II: 4.68 to 9.375 GB/s; X has two connections per direction";
        /// Capacity of a Y link, per direction.
        link_y: 4.6875 "B/ns", "the same; Y has one connection per direction, half of X and Z";
        /// Capacity of a Z link, per direction.
        link_z: 9.375 "B/ns", "the same; Z has two connections per direction";
        /// Latency of one link with its router.
        hop: 105.0 "ns", "remembered, not attested in print";
        /// What a NIC injects or takes, per direction.
        nic_rate: 6.911 "B/ns", "published DMAPP study: one-sided peak 6,911 MB/s";
        /// Latency of a short transaction from the initiator's CPU to the target's memory, hops not counted.
        request: 700.0 "ns", "EuroBen report on the XE6: 0.7 to 1.4 us by type of transfer; the shortest";
        /// Latency of an answer from the target's NIC to the initiator, hops not counted.
        response: 300.0 "ns", "DMAPP study: a get takes about 1 us, request and response together";
        /// What a block transfer takes longer than an FMA transaction of the same length.
        bte_start: 0.0 "ns", "UCX models RDMA with 0.98 us in all: no more than request and response";
        /// Bytes on the wire beside the payload of a transaction.
        packet_overhead: 32.0 "B", "assumed: header and CRC of a short packet";
        /// Processor time of a call that begins a transaction.
        post: 80.0 "ns", "UCX's model of RDMA over uGNI: 80 ns overhead";
        /// Rate at which the processor stores into an FMA window.
        window_rate: 4.0 "B/ns", "assumed: write-combining stores over HyperTransport";
        /// Processor time of taking an entry from a completion queue.
        cq_event: 40.0 "ns", "assumed: a cache miss on a 2.4 GHz Opteron";
        /// Processor time of taking a message and finding what it is.
        smsg_get: 105.0 "ns", "callgrind: 500 instructions of btl-ugni, taken as 2 per cycle of a 2.4 GHz Opteron";
        /// Processor time more of a message through the queue of a node: at either end, a line that its other ranks
        /// write, too.
        shared_line: 98.0 "ns", "assumed: a cache line that another core of the node has written, as of shared memory";
        /// Processor time of registering memory for a transfer.
        register: 40.0 "ns", "assumed: a cache miss in a registration cache that hits, as the paper's transport had";
        /// Time of a datagram packet, which the kernels exchange.
        datagram: 5000.0 "ns", "assumed: two system calls and an interrupt; not part of any figure";
    }
}

impl Costs {
    /// Capacity of a link along a dimension.
    pub(crate) fn link_rate(&self, dim: usize) -> f64 {
        [self.link_x, self.link_y, self.link_z][dim]
    }
}

#[cfg(test)]
mod tests {
    use super::Costs;

    #[test]
    fn parameters_are_found_by_name() {
        let mut costs = Costs::SOURCED;
        for parameter in Costs::SOURCED.parameters() {
            assert!(!parameter.source.is_empty());
            *costs.parameter_mut(parameter.name).expect("in the table") += 1.0;
        }
        assert_eq!(costs.hop, Costs::SOURCED.hop + 1.0);
        assert_eq!(costs.parameter_mut("hops"), None);
    }
}
