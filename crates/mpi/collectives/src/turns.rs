//! Whose turn it is in the area of a communicator.
//!
//! All processes start the collectives of a communicator in one order (MPI-5.0 section 6.14), but those that do not block
//! may be under way together. One at a time has the area, in the order in which they were started: so all processes
//! count epochs alike, whatever has ended on each of them.
//!
//! ```text
//!   MPI_I… ──► area at home? ── yes ──► its epochs are taken, it runs ──► the area comes back ──┐
//!                   │ no                     ▲                                                  │
//!                   └──► waits in line ──────┴──────────────── next in line ◄───────────────────┘
//! ```
//!
//! A blocking call waits until the line is empty, and finds the area at home. Progress advances the call that has the
//! area, so a call that is waited for comes to its turn even if no thread waits for those before it. What uses
//! messages does not come here.

use node::NodeArea;

use super::kept;
use super::run::Running;
use objects::comm::Slot;
use objects::state::State;

/// Puts a nonblocking call that uses the area in line, and begins it if its turn is now.
pub(super) fn queue(state: &mut State, comm: abi::Comm, key: u32) -> abi::Result<()> {
    let kept = kept::find(state, comm)?;
    kept.turns.waiting.push_back(key);
    if kept.area.is_some() {
        let slot = state.comm(comm)?.slot;
        hand_on(state, slot);
    }
    Ok(())
}

/// The area of a communicator comes back from the call that had it, or is dropped with a communicator that is gone.
#[inline(always)]
pub(super) fn return_to(state: &mut State, comm: abi::Comm, area: Box<NodeArea>) {
    let Some(slot) = state.comms.find(comm).map(|comm| comm.slot) else { return };
    return_at(state, slot, area);
}

/// As [`return_to`], of the communicator at a place.
#[inline(always)]
pub(super) fn return_at(state: &mut State, slot: Slot, area: Box<NodeArea>) {
    let Some(kept) = kept::at_mut(&mut state.tables, slot) else { return };
    kept.area = Some(area);
    state.threads.changed();
    if !kept.turns.waiting.is_empty() {
        hand_on(state, slot);
    }
}

/// Begins the call whose turn is next.
#[cold]
fn hand_on(state: &mut State, slot: Slot) {
    let State { tables, requests, .. } = state;
    let Some(kept) = kept::at_mut(tables, slot) else { return };
    let Some(key) = kept.turns.waiting.pop_front() else { return };
    if let Some(running) = requests.get_as::<Running>(key) {
        running.borrow_area(&mut kept.area);
        running.begin_in_turn();
        requests.register(key);
    }
}

impl Running {
    /// Puts the execution at its start; if that fails, the call is over.
    fn begin_in_turn(&mut self) {
        if let Err(error) = self.begin() {
            self.end(Err(error));
        }
    }
}
