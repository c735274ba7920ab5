//! The event queues: one for messages without a receive, and for the rest one, or one for each operation.

use portals::{Eq, Error, Portals, Result, Taken};
use std::sync::{Arc, Mutex, PoisonError};

/// Events that an operation has at most: SEND_END, ACK and GET_END of a long send.
const OF_AN_OPERATION: u32 = 4;

pub(crate) struct Queues {
    pub(crate) unexpected: Eq,
    /// Of all operations, or of the copies.
    pub(crate) expected: Eq,
    each: bool,
    /// Queues of operations that have an event, once for each event.
    news: Arc<Mutex<Vec<Eq>>>,
    /// Queues to be freed once their descriptors are gone.
    leaving: Vec<Eq>,
}

impl Queues {
    pub(crate) fn new<N: Portals>(nic: &mut N, expected: u32, unexpected: u32, each: bool) -> Result<Queues> {
        Ok(Queues {
            expected: nic.eq_alloc(expected, None)?,
            unexpected: nic.eq_alloc(unexpected, None)?,
            each,
            news: Arc::default(),
            leaving: Vec::new(),
        })
    }

    /// The queue for an operation.
    pub(crate) fn open<N: Portals>(&self, nic: &mut N) -> Result<Eq> {
        if !self.each {
            return Ok(self.expected);
        }
        let news = Arc::clone(&self.news);
        let handler = move |event: &portals::Event| {
            let mut news = news.lock().unwrap_or_else(PoisonError::into_inner);
            news.extend(event.descriptor.eq);
        };
        nic.eq_alloc(OF_AN_OPERATION, Some(Box::new(handler)))
    }

    /// The operation is over, or was not begun.
    pub(crate) fn close<N: Portals>(&mut self, nic: &mut N, eq: Eq) {
        if eq != self.expected && nic.eq_free(eq) == Err(Error::EqInUse) {
            self.leaving.push(eq);
        }
    }

    /// Frees the queues whose descriptors have gone meanwhile.
    pub(crate) fn close_leaving<N: Portals>(&mut self, nic: &mut N) {
        if !self.leaving.is_empty() {
            self.leaving.retain(|&eq| nic.eq_free(eq) == Err(Error::EqInUse));
        }
    }

    /// The next event of an operation.
    pub(crate) fn next<N: Portals>(&mut self, nic: &mut N) -> Option<Taken> {
        if let Ok(taken) = nic.eq_get(self.expected) {
            return Some(taken);
        }
        loop {
            let eq = self.news.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            // An operation that was over before has left events behind, with its queue.
            if let Ok(taken) = nic.eq_get(eq) {
                return Some(taken);
            }
        }
    }

    /// Whether something waits here for the next turn.
    pub(crate) fn is_quiet(&self) -> bool {
        self.leaving.is_empty() && self.news.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
