//! Communicators that the program has freed and requests still need: freeing one only marks it for deallocation, and
//! pending operations complete normally (MPI-5.0 section 7.4.3).
//!
//! ```text
//!   MPI_Comm_free ─► held by a request? ── no ──► gone
//!                         │ yes
//!                         └──► kept under another handle, so that the program's names nothing any more ──► gone when the
//!                              last of the requests is, at the next communicator that is made or freed
//! ```
//!
//! A plain receive holds nothing, so that it pays nothing. What its communicator leaves behind are the context ids, until no
//! receive is posted in their contexts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use abi::Result;

use crate::state::State;

/// A request's hold on its communicator.
#[derive(Clone)]
pub(crate) struct Held(Arc<AtomicUsize>);

impl Held {
    /// The handle by which the library finds the communicator now.
    pub fn comm(&self) -> abi::Comm {
        abi::Comm(self.0.load(Ordering::Relaxed))
    }
}

impl State {
    /// Keeps a communicator for as long as the result lives.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub(crate) fn hold(&mut self, comm: abi::Comm) -> Result<Held> {
        let found = self.comms.get_mut(comm)?;
        Ok(found.held.get_or_insert_with(|| Held(Arc::new(AtomicUsize::new(comm.0)))).clone())
    }

    /// The program has freed a communicator: it goes now, or when no request holds it any more.
    pub(super) fn retire(&mut self, comm: abi::Comm) -> Result<()> {
        if !self.is_held(comm) {
            self.dispose(comm);
            return Ok(());
        }
        let Some(old) = self.comms.remove(comm) else { return Ok(()) };
        let held = old.held.clone();
        let handle = self.comms.add(*old)?;
        if let Some(Held(place)) = held {
            place.store(handle.0, Ordering::Relaxed);
        }
        self.comms.retired.push(handle);
        Ok(())
    }

    /// Gives the ids back of communicators that are gone, but for those in whose contexts a receive is posted: another
    /// communicator's messages would be taken for what it waits for.
    fn settle_contexts(&mut self) {
        let mut awaited = BTreeSet::new();
        self.p2p.each_awaited(&mut |context| {
            awaited.insert(context >> 1);
        });
        self.contexts.settle(&awaited);
    }

    /// Lets the freed communicators go that no request holds any more, and ids that no receive needs.
    pub(super) fn reap_retired(&mut self) {
        if self.contexts.has_lingering() {
            self.settle_contexts();
        }
        for comm in std::mem::take(&mut self.comms.retired) {
            if self.is_held(comm) {
                self.comms.retired.push(comm);
            } else {
                self.dispose(comm);
            }
        }
    }

    fn dispose(&mut self, comm: abi::Comm) {
        if let Some(old) = self.remove_comm(comm) {
            self.contexts.leave(old.context >> 1, old.context_ids());
            self.settle_contexts();
        }
    }

    fn is_held(&self, comm: abi::Comm) -> bool {
        let held = self.comms.find(comm).and_then(|comm| comm.held.as_ref());
        held.is_some_and(|Held(place)| Arc::strong_count(place) > 1)
    }
}
