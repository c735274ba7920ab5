//! The agreements that are under way or may still be asked for: each a [`Consensus`] between the members of a communicator.
//!
//! A call is numbered among those of its communicator, which all members make in one order, and each of its questions among those of the
//! call. What comes for a call that this process has not made yet is kept for it.

use std::collections::BTreeMap;

use abi::Result;
use btl::Peer;
use consensus::{Consensus, Decision, Message};
use engine::Guarded;

use crate::ballot::{Ballot, encode};
use crate::frames::{self, CONSENSUS};
use crate::members::Members;
use objects::state::State;

/// Names an agreement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallId {
    /// The communicator's context.
    pub context: u32,
    /// The call on it.
    pub call: u32,
    /// The question of the call.
    pub question: u32,
}

/// All agreements of this process.
pub struct Decisions {
    calls: BTreeMap<CallId, Agreeing>,
    /// Messages for calls that are still to be made here, with their senders.
    early: BTreeMap<CallId, Vec<(u32, Message<Ballot>)>>,
    /// Of `early`.
    kept: usize,
}

/// What others may have this process keep.
const MOST_KEPT: usize = 1 << 16;

struct Agreeing {
    members: Members,
    consensus: Consensus<Ballot>,
}

static DECISIONS: Guarded<Decisions> =
    Guarded::new(Decisions { calls: BTreeMap::new(), early: BTreeMap::new(), kept: 0 });

impl Decisions {
    /// Begins the next agreement of a communicator.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn begin(state: &mut State, comm: abi::Comm, ballot: Ballot) -> Result<CallId> {
        let found = state.comms.get_mut(comm)?;
        let call = found.agreements;
        found.agreements = call.wrapping_add(1);
        let id = CallId { context: found.context, call, question: 0 };
        Decisions::ask(state, comm, id, ballot)?;
        Ok(id)
    }

    /// Asks a question of a call.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn ask(state: &mut State, comm: abi::Comm, id: CallId, ballot: Ballot) -> Result<()> {
        let members = Members::of(state, state.comm(comm)?);
        let announced = state.failures.announced.iter();
        let dead: Vec<u32> = announced.filter_map(|peer| members.place(peer.0)).collect();
        let mut consensus = Consensus::new(members.peers.len() as u32, members.me, dead);
        consensus.contribute(ballot);
        let table = DECISIONS.get_mut(&mut state.tables);
        let early = table.early.remove(&id).unwrap_or_default();
        table.kept -= early.len();
        for (from, message) in early {
            if let Some(place) = members.place(from) {
                consensus.hear(place, message);
            }
        }
        table.calls.insert(id, Agreeing { members, consensus });
        send(state, id);
        Ok(())
    }
}

/// The result of an agreement, once there is one.
pub fn result(state: &State, id: CallId) -> Option<Decision<Ballot>> {
    DECISIONS.get(&state.tables).calls.get(&id)?.consensus.decision().cloned()
}

/// Whether there is a result.
pub fn is_decided(state: &State, id: CallId) -> bool {
    DECISIONS.get(&state.tables).calls.get(&id).is_some_and(|call| call.consensus.is_decided())
}

/// A message for an agreement.
pub fn hear(state: &mut State, id: CallId, from: Peer, message: Message<Ballot>) {
    let table = DECISIONS.get_mut(&mut state.tables);
    match table.calls.get_mut(&id) {
        Some(call) => {
            let Some(place) = call.members.place(from.0) else { return };
            call.consensus.hear(place, message);
            send(state, id);
        }
        None if table.kept < MOST_KEPT => {
            table.kept += 1;
            table.early.entry(id).or_default().push((from.0, message));
        }
        None => {}
    }
}

/// The launcher has announced a failure.
pub fn has_failed(state: &mut State, peer: Peer) {
    let table = DECISIONS.get_mut(&mut state.tables);
    let mut concerned = Vec::new();
    for (&id, call) in &mut table.calls {
        if let Some(place) = call.members.place(peer.0) {
            call.consensus.has_died(place);
            concerned.push(id);
        }
    }
    concerned.into_iter().for_each(|id| send(state, id));
}

/// Sends what an agreement has to send.
fn send(state: &mut State, id: CallId) {
    let Some(call) = DECISIONS.get_mut(&mut state.tables).calls.get_mut(&id) else { return };
    let messages = call.consensus.take_messages();
    let decided = call.consensus.is_decided();
    let messages: Vec<(u32, Vec<u8>)> = messages
        .into_iter()
        .map(|(to, message)| (call.members.peers[to as usize], encode(&message)))
        .collect();
    let CallId { context, call, question } = id;
    let words = [u64::from(context), u64::from(call), u64::from(question)];
    for (to, bytes) in messages {
        frames::send(state, Peer(to), CONSENSUS, words, bytes);
    }
    if decided {
        state.threads.changed();
    }
}
