//! User-level failure mitigation (ULFM), the extension `mpi-ext.h`: what programs do about processes that have failed.
//!
//! ```text
//!   MPIX_Comm_get_failed, ack_failed, failure_ack, failure_get_acked ─► known.rs    what this process knows
//!   MPIX_Comm_revoke, is_revoked ─────────────────────────────────────► revoke.rs   a word that reaches all that live
//!   MPIX_Comm_agree, iagree ──────────────────────────────────────────► agree.rs   ┐
//!   MPIX_Comm_shrink, ishrink ────────────────────────────────────────► shrink.rs  ├─► decisions.rs ─► the crate `consensus`
//!   calls of communicators with mpi_error_uniform ────────────────────► uniform.rs │        │
//!   MPI_Finalize in a job that goes on ───────────────────────────────► finalize   ┘        │
//!                                       frames of the class Failure ◄─► frames.rs, serve.rs ◄┘
//! ```
//! Without failures, and in jobs that do not go on after one, all calls work and find none.
#![deny(unsafe_code)]

mod abroad;
mod agree;
mod ballot;
mod decisions;
mod frames;
mod known;
mod members;
mod revoke;
mod serve;
mod shrink;
mod uniform;

use btl::Peer;
use objects::domain::Token;
use objects::state::State;
use objects::wait::wait_for;

pub use agree::{agree, iagree};
pub use known::{ack_failed, failure_ack, failure_get_acked, get_failed};
pub use revoke::{is_revoked, revoke, revoke_for_all};
pub use serve::Serve;
pub use shrink::{ishrink, shrink};
pub use uniform::agree_on;

use ballot::Ballot;
use decisions::{Decisions, Series};

/// A peer is lost, or the launcher has announced that it has failed: collectives of its communicators find that out.
pub fn peer_lost(state: &mut State, peer: Peer) {
    for comm in state.comms.handles() {
        if state.comms.find(comm).is_some_and(|comm| comm.contains(peer)) {
            collectives::refuse(state, comm);
        }
    }
}

/// A process has failed: the launcher has announced it or, of another job, one that knows it.
pub fn rank_failed(state: &mut State, peer: Peer) {
    peer_lost(state, peer);
    decisions::has_failed(state, peer);
    revoke::has_failed(state, peer);
    revoke::in_range(state, peer);
    abroad::spread(state, peer);
}

/// Waits in `MPI_Finalize` for all processes of the world that live. One that has left has seen all of them come.
pub fn meet_to_finalize(t: &mut Token) {
    let begun = Decisions::begin(&mut t.lock(), abi::COMM_WORLD, Series::Program, Ballot::new());
    let Ok(call) = begun else { return };
    let others: Vec<u32> = match t.lock().comm(abi::COMM_WORLD) {
        Ok(world) => world.group.members().to_vec(),
        Err(_) => return,
    };
    wait_for(t, |state| {
        let is_over =
            decisions::is_decided(state, call) || others.iter().any(|&peer| state.has_left(Peer(peer)));
        is_over.then_some(())
    });
}
