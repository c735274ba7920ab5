//! A send and a receive that complete together (`MPI_Isendrecv`).

use engine::Operation;
use pml::{Done, ReqId};

use crate::p2p::proc_null;
use objects::immediate::EMPTY;
use objects::state::State;

/// The two operations, with the packed data of a `_replace`.
pub struct Pair {
    receive: Option<ReqId>,
    send: Option<ReqId>,
    received: Done,
    #[expect(dead_code, reason = "keeps alive what the message layer sends from")]
    kept: Vec<u8>,
}

impl Pair {
    /// A receive, `None` if it is from `MPI_PROC_NULL`, and a send, `None` if it is over, from `kept` if that is not
    /// empty.
    pub fn new(receive: Option<ReqId>, send: Option<ReqId>, kept: Vec<u8>) -> Pair {
        let received = if receive.is_some() { EMPTY } else { proc_null() };
        Pair { receive, send, received, kept }
    }
}

impl Operation<State> for Pair {
    fn is_over(&mut self, state: &mut State) -> bool {
        if let Some(done) = self.receive.and_then(|id| state.p2p.take(id)) {
            self.received = done;
            self.receive = None;
        }
        if let Some(done) = self.send.and_then(|id| state.p2p.take(id)) {
            if self.received.error == abi::SUCCESS {
                self.received.error = done.error;
            }
            self.send = None;
        }
        self.receive.is_none() && self.send.is_none()
    }

    fn outcome(&self) -> Done {
        self.received
    }
}
