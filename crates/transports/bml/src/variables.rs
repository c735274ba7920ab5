//! Performance variables of the transports.

use mca::{Quantity, Variable};

use crate::Traffic;

/// They, read from what [`crate::Bml::traffic`] gives.
pub const VARIABLES: &[Variable<Traffic>] = &[
    Variable::new(
        "btl_self_bytes",
        Quantity::Sum,
        |traffic| traffic.to_self,
        "Payload that went from this process to itself",
    ),
    Variable::new(
        "btl_vader_bytes",
        Quantity::Sum,
        |traffic| traffic.sent,
        "Payload sent through shared memory",
    ),
    Variable::new(
        "btl_vader_copied_bytes",
        Quantity::Sum,
        |traffic| traffic.copied,
        "Payload of messages that this process fetched from or stored into the memory of processes on its node; the \
         sender's share of a joint copy counts for the receiver",
    ),
    Variable::new(
        "btl_ugni_bytes",
        Quantity::Sum,
        |traffic| traffic.gemini_sent,
        "Payload sent over Gemini in messages: through mailboxes, the node's shared queue, and buffers that the peer fetches",
    ),
    Variable::new(
        "btl_ugni_moved_bytes",
        Quantity::Sum,
        |traffic| traffic.gemini_moved,
        "Payload that this process fetched from or stored into other processes' memory over Gemini: of messages and in windows",
    ),
    Variable::new(
        "btl_ugni_atomics",
        Quantity::Sum,
        |traffic| traffic.gemini_atomics,
        "Atomic operations of this process on other processes' windows over Gemini",
    ),
    Variable::new(
        "btl_portals_bytes",
        Quantity::Sum,
        |traffic| traffic.portals_sent,
        "Payload sent over Portals in frames",
    ),
    Variable::new(
        "btl_portals_moved_bytes",
        Quantity::Sum,
        |traffic| traffic.portals_moved,
        "Payload of messages that this process fetched from or stored into other processes' memory over Portals",
    ),
    Variable::new(
        "btl_portals_retransmissions",
        Quantity::Sum,
        |traffic| traffic.portals_again,
        "Frames that this process sent over Portals again, since their target had no room",
    ),
    Variable::new(
        "btl_ofi_bytes",
        Quantity::Sum,
        |traffic| traffic.ofi_sent,
        "Payload sent over libfabric in messages, those included that the peer fetches from a buffer",
    ),
    Variable::new(
        "btl_ofi_moved_bytes",
        Quantity::Sum,
        |traffic| traffic.ofi_moved,
        "Payload that this process fetched from or stored into other processes' memory over libfabric: of messages and in windows",
    ),
    Variable::new("btl_tcp_bytes", Quantity::Sum, |traffic| traffic.tcp_sent, "Payload sent over TCP"),
    Variable::new(
        "btl_tcp_network0_bytes",
        Quantity::Sum,
        |traffic| traffic.tcp_moved[0],
        "Payload that this process fetched from or stored into other processes' memory by TCP over the first network of this host, \
         in the order of the system's list of interfaces",
    ),
    Variable::new(
        "btl_tcp_network1_bytes",
        Quantity::Sum,
        |traffic| traffic.tcp_moved[1],
        "The same over the second network",
    ),
    Variable::new(
        "btl_tcp_network2_bytes",
        Quantity::Sum,
        |traffic| traffic.tcp_moved[2],
        "The same over the third network",
    ),
    Variable::new(
        "btl_tcp_network3_bytes",
        Quantity::Sum,
        |traffic| traffic.tcp_moved[3],
        "The same over all other networks",
    ),
];
