//! What happens when a transport gives a peer up.

use btl::{Loss, Peer};
use engine::Process;

use crate::facts::FACTS;
use objects::comm::Comm;
use objects::errhandler::Handler;
use objects::state::State;
use windows::WINDOWS;

/// Nothing more reaches `peer` or comes from it. Requests with it have ended with `MPI_ERR_PROC_ABORTED`, but
/// others may wait for what such a request was to bring about: so the job ends, unless the program handles errors of
/// all objects that contain the peer. It ends in any case where the message layer is set to do as its original did.
///
/// A peer that has sent its goodbye is no loss, and a process that has sent its own has nothing to wait for.
#[cold]
pub(crate) fn peer_lost(state: &mut State, peer: Peer) {
    if state.world.is_none() || state.p2p.is_away() || state.has_left(peer) {
        return;
    }
    if state.failures.survives {
        return go_on_without(state, peer);
    }
    let handled = !is_fatal(state, peer) && !state.p2p.must_end();
    if handled {
        return;
    }
    let Loss { seen, advice } = state.p2p.loss(peer);
    let peers = state.p2p.peers();
    let name = match (peers.own_rank(peer), peers.process(peer)) {
        (None, Some(Process { job, rank })) => format!("rank {rank} of the job {job:016x}"),
        (_, _) => format!("rank {}", peer.0),
    };
    let message = format!(
        "alhena: {name} {}: messages to it do not arrive any more\n\
         alhena: seen: {seen}\n\
         alhena: look at what {name} wrote last, {advice}",
        pmi::lost::IS_LOST
    );
    objects::fatal::abort_with(1, format_args!("{message}"))
}

/// The job goes on: calls that need the peer fail. The launcher ends a rank of this job unless it has ended, so that no process takes it
/// for failed while it goes on with others. Processes of other jobs have launchers of their own, which this one cannot ask: what a
/// transport has lost has failed.
fn go_on_without(state: &mut State, peer: Peer) {
    failures::peer_lost(state, peer);
    if state.failures.announced.contains(&peer) {
        return;
    }
    if !state.accuse(peer) {
        state.failures.announced.push(peer);
        failures::rank_failed(state, peer);
    }
}

/// Whether an object that contains `peer` has errors that are fatal.
fn is_fatal(state: &State, peer: Peer) -> bool {
    let ends = |handler: Handler| matches!(handler, Handler::Fatal | Handler::Abort);
    // Without MPI_Init the two that are always there are not the program's.
    let counts = |comm: &&Comm| FACTS.is_initialized() || comm.handle != abi::COMM_WORLD;
    let comms = state.comms.iter().filter(counts);
    comms.filter(|comm| comm.contains(peer)).any(|comm| ends(comm.errhandler))
        || WINDOWS
            .get(&state.tables)
            .iter()
            .filter(|window| window.group.members().contains(&peer.0))
            .any(|window| ends(window.errhandler))
}
