//! What can be set about a NIC, and what it counts.

use crate::fault::FaultPlan;
use gni::{Time, limits};

/// What the NIC of a node has for all its ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeLimits {
    /// Memory descriptors.
    pub mdds: u32,
    /// Relocation table entries.
    pub mrt_entries: u32,
    /// Their page size, as a power of two: one of [`gni::limits::MRT_PAGE_SHIFTS`].
    pub mrt_page_shift: u32,
    /// FMA descriptors for user processes.
    pub fma_descriptors: u32,
}

impl Default for NodeLimits {
    /// The hardware's numbers, with pages of 2 MiB.
    fn default() -> Self {
        NodeLimits {
            mdds: limits::MDDS,
            mrt_entries: limits::MRT_ENTRIES,
            mrt_page_shift: 21,
            fma_descriptors: limits::FMA_DESCRIPTORS,
        }
    }
}

/// Settings of one NIC.
#[derive(Clone, PartialEq, Debug)]
pub struct NicConfig {
    /// Faults to inject.
    pub faults: FaultPlan,
    /// First interval after which an unanswered datagram is sent again; the n-th try waits n² times this, at
    /// most a second.
    pub datagram_interval: Time,
    /// Datagram transmissions without answer before `POST_TIMEOUT`.
    pub datagram_tries: u32,
    /// Completion queues this NIC may have.
    pub cqs: u32,
}

impl Default for NicConfig {
    fn default() -> Self {
        NicConfig {
            faults: FaultPlan::default(),
            datagram_interval: Time::from_millis(1),
            datagram_tries: 60,
            cqs: 64,
        }
    }
}

/// What a NIC has done since it was attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Mailbox messages sent.
    pub messages: u64,
    /// Sends refused for want of a mailbox credit.
    pub credit_stalls: u64,
    /// Sends refused for want of a request slot.
    pub request_stalls: u64,
    /// Messages and credits sent again after a loss.
    pub retransmissions: u64,
    /// Explicit credit returns.
    pub credit_returns: u64,
    /// FMA posts and atomics.
    pub fma_posts: u64,
    /// Block transfers.
    pub bte_posts: u64,
    /// Bytes that FMA posts moved or are to move.
    pub fma_bytes: u64,
    /// Bytes that block transfers moved or are to move.
    pub bte_bytes: u64,
    /// Registrations made.
    pub registrations: u64,
    /// Bytes registered now.
    pub registered_bytes: u64,
    /// Bytes registered so far, those given back since included.
    pub bytes_ever_registered: u64,
    /// Transactions that failed, injected faults included.
    pub failures: u64,
    /// Entries that this NIC's local queues lost.
    pub local_overruns: u64,
}
