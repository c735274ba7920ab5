//! MSGQ: one receive queue per node instead of one mailbox per peer.

use crate::limits;

/// What all ranks of a node agree on about their queue (`gni_msgq_attr_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MsgqAttr {
    /// Largest message in bytes, header included; at most 128.
    pub max_message: u32,
    /// Messages that may be under way from one node to another: 1 or even.
    pub credits: u32,
    /// Messages the node's queue holds in all, for all its ranks.
    pub pool: u32,
    /// Ranks of this node that share the queue, at most 48.
    pub instances: u32,
}

impl MsgqAttr {
    /// Whether a queue can have these attributes.
    pub const fn is_valid(&self) -> bool {
        self.max_message > 0
            && self.max_message <= limits::MSGQ_MAX
            && (self.credits == 1 || self.credits > 0 && self.credits.is_multiple_of(2))
            && self.pool >= self.credits
            && self.instances > 0
            && self.instances <= limits::MSGQ_INSTANCES
    }
}

/// A message taken from the node's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MsgqMessage {
    /// The sender.
    pub inst: crate::InstId,
    /// The sender's node.
    pub pe: crate::PeAddr,
    /// The message's tag.
    pub tag: u8,
    bytes: [u8; limits::MSGQ_MAX as usize],
    len: u8,
}

impl MsgqMessage {
    /// A message of `bytes`, cut to what one can hold.
    pub fn new(inst: crate::InstId, pe: crate::PeAddr, tag: u8, bytes: &[u8]) -> MsgqMessage {
        let len = bytes.len().min(limits::MSGQ_MAX as usize);
        let mut copy = [0; limits::MSGQ_MAX as usize];
        copy[..len].copy_from_slice(&bytes[..len]);
        MsgqMessage { inst, pe, tag, bytes: copy, len: len as u8 }
    }

    /// Header and data.
    pub fn data(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
