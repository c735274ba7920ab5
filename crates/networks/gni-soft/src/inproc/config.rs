//! What a network is made with: what its nodes have, and what transactions take.

use crate::config::NodeLimits;
use crate::fabric::Class;
use gni::{InstId, JobKey, PeAddr, Time};

/// What the nodes of a world have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkConfig {
    /// The jobs that the launcher has configured.
    pub jobs: Vec<JobKey>,
    /// What each node has.
    pub limits: NodeLimits,
    /// Bytes that a block transfer moves per turn.
    pub rdma_piece: u64,
    /// Whether registrations hold the pages of registration time, as the hardware's do; otherwise they name
    /// addresses. Needs io_uring.
    pub pinned: bool,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        NetworkConfig {
            jobs: vec![JobKey::for_job(0)],
            limits: NodeLimits::default(),
            rdma_piece: 256 << 10,
            pinned: false,
        }
    }
}

/// A transaction as a cost model sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The initiator's node.
    pub from: PeAddr,
    /// The target's node.
    pub to: PeAddr,
    /// The initiator.
    pub from_inst: InstId,
    /// The target.
    pub to_inst: InstId,
    /// The engine that carries it.
    pub class: Class,
    /// Whether data comes from the target.
    pub fetches: bool,
    /// Payload bytes.
    pub bytes: u64,
    /// Whether it must land after earlier ordered ones to the same target.
    pub ordered: bool,
}

/// When a transaction happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// When the target's memory is read or written.
    pub carried_out: Time,
    /// When the initiator learns the end; not before `carried_out`.
    pub ended: Time,
}

/// Decides how long transactions take.
pub trait Model: Send {
    /// Times for a transaction that begins at `now`; called in the order of submission.
    fn time(&mut self, now: Time, flow: &Flow) -> Timing;

    /// When a datagram packet that `from` sends at `now` is at `to`.
    fn packet(&mut self, now: Time, from: (PeAddr, InstId), to: (PeAddr, InstId)) -> Time;
}

/// A moment at which a NIC of a timed world finds something new, for the owner that gives turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// The moment.
    pub at: Time,
    /// The NIC's node.
    pub pe: PeAddr,
    /// The NIC.
    pub inst: InstId,
    /// Whether it is a datagram packet.
    pub packet: bool,
}
