//! Communicators that the program has freed and requests still need: freeing one only marks it for deallocation, and
//! pending operations complete normally (MPI-5.0 section 7.4.3).
//!
//! ```text
//!   MPI_Comm_free ─► held by a request? ── no ──► gone
//!                         │ yes
//!                         └──► kept under another handle, so that the program's names nothing any more ──► gone when the
//!                              last of the requests is, at the next communicator that is made or freed
//! ```

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

    /// Lets the freed communicators go that no request holds any more.
    pub(super) fn reap_retired(&mut self) {
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
            self.contexts.release(old.context >> 1, old.context_ids());
        }
    }

    fn is_held(&self, comm: abi::Comm) -> bool {
        let held = self.comms.find(comm).and_then(|comm| comm.held.as_ref());
        held.is_some_and(|Held(place)| Arc::strong_count(place) > 1)
    }
}
