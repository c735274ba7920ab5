//! What a NIC has under way.

use super::post::Post;
use gni::{Cq, MsgqAttr, PeAddr};

/// A transaction of this NIC that is not over yet.
pub(super) enum Flight {
    Post(Box<Post>),
    Message(Box<Shipment>),
    Credit { ep: u32 },
    Shared(Box<Sending>),
}

/// A message under way that is kept for retransmission.
pub(super) struct Shipment {
    pub(super) ep: u32,
    pub(super) number: u64,
    pub(super) msg_id: u32,
    pub(super) image: Box<[u8]>,
    pub(super) tries: u16,
    pub(super) spoiled: bool,
}

/// A message of the shared queue under way.
pub(super) struct Sending {
    pub(super) ep: u32,
    pub(super) pe: PeAddr,
    pub(super) msg_id: u32,
    pub(super) tag: u8,
    pub(super) bytes: Box<[u8]>,
    pub(super) tries: u16,
}

/// This NIC's part in the shared queue.
pub(super) struct Joined {
    pub(super) attr: MsgqAttr,
    pub(super) source: Cq,
}
