//! What the program attached for its buffered sends (MPI-5.0 section 3.6), and what is charged to it: the process, a
//! communicator and a session have one each.

use abi::{Address, Count};
use engine::P2p;
use pml::ReqId;

/// An attached buffer and the messages charged to it.
#[derive(Default)]
pub struct BufferPool {
    pub attached: Option<Attached>,
    pub pending: Vec<Pending>,
}

/// The memory that the program gave.
#[derive(Clone, Copy)]
pub struct Attached {
    pub address: Address,
    pub bytes: Count,
}

/// A message that has not left yet, with the packed data that it is sent from.
pub struct Pending {
    pub id: ReqId,
    pub charge: Count,
    /// Kept for as long as the message layer sends from it.
    pub data: Vec<u8>,
}

impl BufferPool {
    /// Whether the program has attached one.
    pub fn is_attached(&self) -> bool {
        self.attached.is_some()
    }

    /// Forgets the messages that have left.
    pub fn reap(&mut self, p2p: &mut P2p) {
        self.pending.retain(|pending| p2p.take(pending.id).is_none());
    }

    /// Whether a message of so many packed bytes can be charged to it.
    pub fn room_for(&self, bytes: Count) -> bool {
        match self.attached {
            None => false,
            Some(Attached { address: Address(abi::BUFFER_AUTOMATIC), .. }) => true,
            Some(attached) => {
                let used: Count = self.pending.iter().map(|pending| pending.charge).sum();
                used + bytes + Count::from(abi::BSEND_OVERHEAD) <= attached.bytes
            }
        }
    }

    /// Whether every message has left.
    pub fn drained(&mut self, p2p: &mut P2p) -> bool {
        self.reap(p2p);
        self.pending.is_empty()
    }
}
