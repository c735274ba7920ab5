//! One message each way with one peer after another.

use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use abi::Result;
use pml::ReqId;

/// Exchanges a message with each peer that it is given.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    bytes: usize,
    peer: Option<u32>,
    open: Vec<ReqId>,
}

impl Exchange {
    /// A rank that exchanges messages of `bytes` with `peer`.
    pub fn new(bytes: usize, peer: Option<u32>) -> Exchange {
        Exchange { bytes, peer, open: Vec::new() }
    }

    /// The next peer.
    pub fn with(&mut self, peer: u32) {
        self.peer = Some(peer);
    }
}

impl Program for Exchange {
    fn memory(&self) -> usize {
        2 * self.bytes
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        if let Some(peer) = self.peer.take() {
            let (out, into) = (end.memory().part(0, self.bytes), end.memory().part(self.bytes, self.bytes));
            self.open.push(end.irecv(peer, 0, into)?);
            self.open.extend(end.isend(peer, 0, out)?);
        }
        self.open.retain(|&id| !end.take(id));
        Ok(if self.open.is_empty() { Step::Done } else { Step::Waiting })
    }
}
