//! A request's hold on its communicator: freeing one only marks it for deallocation, and pending operations complete
//! normally (MPI-5.0 section 7.4.3).
//!
//! A plain receive holds nothing, so that it pays nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use abi::Result;

use super::Comms;
use crate::state::State;

/// A request's hold on its communicator.
#[derive(Clone)]
pub struct Held(Arc<AtomicUsize>);

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
    pub fn hold(&mut self, comm: abi::Comm) -> Result<Held> {
        let found = self.comms.get_mut(comm)?;
        Ok(found.held.get_or_insert_with(|| Held(Arc::new(AtomicUsize::new(comm.0)))).clone())
    }
}

impl Comms {
    /// Whether a request holds the communicator.
    pub fn is_held(&self, comm: abi::Comm) -> bool {
        let held = self.find(comm).and_then(|comm| comm.held.as_ref());
        held.is_some_and(|Held(place)| Arc::strong_count(place) > 1)
    }

    /// Puts a communicator under another handle, by which requests that hold it find it, so that the program's names nothing
    /// any more.
    pub fn rename(&mut self, comm: abi::Comm) -> Result<()> {
        let Some(old) = self.remove(comm) else { return Ok(()) };
        let held = old.held.clone();
        let handle = self.add(*old)?;
        if let Some(Held(place)) = held {
            place.store(handle.0, Ordering::Relaxed);
        }
        self.renamed.push(handle);
        Ok(())
    }

    /// Those of the renamed communicators that no request holds any more.
    pub fn no_longer_held(&mut self) -> Vec<abi::Comm> {
        let renamed = std::mem::take(&mut self.renamed);
        let (held, gone) = renamed.into_iter().partition(|&comm| self.is_held(comm));
        self.renamed = held;
        gone
    }
}
