//! Communicators that the program has freed and requests still need (MPI-5.0 section 7.4.3).
//!
//! ```text
//!   MPI_Comm_free ─► held by a request? ── no ──► gone
//!                         │ yes
//!                         └──► kept under another handle, so that the program's names nothing any more ──► gone when the
//!                              last of the requests is, at the next communicator that is made or freed
//! ```
//!
//! A plain receive holds nothing ([`objects::comm::Held`]). What its communicator leaves behind are the context ids, until no
//! receive is posted in their contexts.

use std::collections::BTreeSet;

use abi::Result;

use super::create::remove_comm;
use objects::state::State;

/// The program has freed a communicator: it goes now, or when no request holds it any more.
pub(super) fn retire(state: &mut State, comm: abi::Comm) -> Result<()> {
    if state.comms.is_held(comm) {
        return state.comms.rename(comm);
    }
    dispose(state, comm);
    Ok(())
}

/// Lets the freed communicators go that no request holds any more, and ids that no receive needs.
pub(super) fn reap_retired(state: &mut State) {
    if state.contexts.has_lingering() {
        settle_contexts(state);
    }
    for comm in state.comms.no_longer_held() {
        dispose(state, comm);
    }
}

fn dispose(state: &mut State, comm: abi::Comm) {
    if let Some(old) = remove_comm(state, comm) {
        let (id, count) = (old.context >> 1, old.context_ids());
        if state.is_broken(&old) {
            state.contexts.abandon(id, count);
            return;
        }
        state.contexts.leave(id, count);
        settle_contexts(state);
    }
}

/// Gives the ids back of communicators that are gone, but for those in whose contexts a receive is posted: another
/// communicator's messages would be taken for what it waits for.
fn settle_contexts(state: &mut State) {
    let mut awaited = BTreeSet::new();
    state.p2p.each_awaited(&mut |context, _| {
        awaited.insert(context >> 1);
    });
    state.contexts.settle(&awaited);
}
