//! Events.

use crate::{Descriptor, Jid, MatchBits, Md, ProcessId, Uid};

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventKind {
    /// A get was accepted here.
    GetStart,
    /// Its data has left.
    GetEnd,
    /// A put was accepted here.
    PutStart,
    /// Its data is here.
    PutEnd,
    /// A get-put was accepted here.
    GetPutStart,
    /// Both data are where they belong.
    GetPutEnd,
    /// The answer to a get begins to arrive.
    ReplyStart,
    /// The answer is here.
    ReplyEnd,
    /// A put begins to leave.
    SendStart,
    /// A put has left: its memory may be used again. The target need not have it yet.
    SendEnd,
    /// The target has accepted a put.
    Ack,
    /// The descriptor is unlinked, after it became inactive.
    Unlink,
}

/// Why an operation failed (`ni_fail_type`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The other process is gone, or the network to it.
    Unreachable,
    /// Asked for by a plan of faults.
    Injected,
}

/// `ptl_event_t`. What a kind of event does not know is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The other process: for accepted operations the one that began them.
    pub initiator: ProcessId,
    /// Its user.
    pub uid: Uid,
    /// Its job.
    pub jid: Jid,
    /// Index of the portal table.
    pub index: u32,
    /// The match bits of the operation.
    pub match_bits: MatchBits,
    /// Bytes that the operation asked for. In an acknowledgement the length of the put, as on Cray's NIC.
    pub rlength: usize,
    /// Bytes that were or are moved.
    pub mlength: usize,
    /// Where in the descriptor's memory.
    pub offset: usize,
    /// The descriptor.
    pub md: Md,
    /// A copy of it, as it is after the operation.
    pub descriptor: Descriptor,
    /// The initiator's own word, of a put or get-put.
    pub hdr_data: u64,
    /// Equal for START and END of one operation.
    pub link: u64,
    /// Number of the event in its queue.
    pub sequence: u64,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}

/// An event taken out of a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The oldest one that the queue still has.
    pub event: Event,
    /// Older ones were overwritten since the last event was taken (`PTL_EQ_DROPPED`).
    pub dropped: bool,
}

/// A queue's handler, called for every event when it is queued; it must not call the NIC.
pub type Handler = Box<dyn FnMut(&Event) + Send>;
