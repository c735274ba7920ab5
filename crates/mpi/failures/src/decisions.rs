//! The agreements that are under way or may still be asked for: each a [`Consensus`] between the members of a communicator.
//!
//! A call is numbered among those of its communicator, which all members make in one order, and each of its questions among those of the
//! call. Messages of a call that this process has not made yet are kept for that call.
//!
//! **How long they stay.** A member that has its result answers in later views, until all members that live have theirs. Each brings along
//! which call is the first that is not over with it; before the first one of all, no call is asked for any more. The last calls of a
//! communicator stay when it is freed, until another one that has its context makes its first call.

use std::collections::{BTreeMap, BTreeSet};

use abi::Result;
use btl::Peer;
use consensus::{Consensus, Decision, Message};
use engine::Guarded;

use crate::abroad;
use crate::ballot::{Ballot, encode};
use crate::frames::{self, CONSENSUS};
use crate::members::Members;
use objects::state::State;

/// What a communicator's agreements are about. Each series has numbers of its own: on a revoked communicator the program's agreements go on,
/// and the others end wherever each process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Series {
    /// Those that the program calls.
    Program,
    /// Those on the errors of other calls.
    Errors,
}

/// Names an agreement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallId {
    /// The communicator's context, and in its last bit the series.
    pub context: u32,
    /// The call on it.
    pub call: u32,
    /// The question of the call.
    pub question: u32,
}

/// All agreements of this process.
pub struct Decisions {
    calls: BTreeMap<CallId, Agreeing>,
    /// Calls that are not over here: the context, and the number of the call.
    open: BTreeSet<(u32, u32)>,
    /// Messages for calls that are still to be made here, with their senders.
    early: BTreeMap<CallId, Vec<(u32, Message<Ballot>)>>,
    /// Of `early`.
    kept: usize,
}

/// What others may have this process keep.
const MOST_KEPT: usize = 1 << 16;

struct Agreeing {
    /// Tells it from those of other communicators that have had the context: see `Contexts::taking`.
    taking: Option<u64>,
    members: Members,
    consensus: Consensus<Ballot>,
}

static DECISIONS: Guarded<Decisions> = Guarded::new(Decisions::new());

impl Decisions {
    const fn new() -> Decisions {
        Decisions { calls: BTreeMap::new(), open: BTreeSet::new(), early: BTreeMap::new(), kept: 0 }
    }

    /// Takes the next number of a communicator's calls, for a call that is over with [`end`].
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn number(state: &mut State, comm: abi::Comm, series: Series) -> Result<CallId> {
        let found = state.comms.get_mut(comm)?;
        let next = &mut found.agreements[series as usize];
        let id = CallId { context: found.context | series as u32, call: *next, question: 0 };
        *next = id.call.wrapping_add(1);
        let table = DECISIONS.get_mut(&mut state.tables);
        if id.call == 0 {
            table.forget_context(id.context);
        }
        table.open.insert((id.context, id.call));
        Ok(id)
    }

    /// Begins the next agreement of a communicator.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn begin(state: &mut State, comm: abi::Comm, series: Series, ballot: Ballot) -> Result<CallId> {
        let id = Decisions::number(state, comm, series)?;
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
        let taking = state.contexts.taking(id.context >> 1);
        let table = DECISIONS.get_mut(&mut state.tables);
        let first_open = table.first_open(id.context).unwrap_or(id.call);
        consensus.contribute(Ballot { first_open, ..ballot });
        let early = table.early.remove(&id).unwrap_or_default();
        table.kept -= early.len();
        for (from, message) in early {
            if let Some(place) = members.place(from) {
                consensus.hear(place, message);
            }
        }
        table.calls.insert(id, Agreeing { taking, members, consensus });
        send(state, id);
        greet(state, id);
        Ok(())
    }

    /// The first call of a context that is not over here.
    fn first_open(&self, context: u32) -> Option<u32> {
        self.open.range((context, 0)..=(context, u32::MAX)).next().map(|&(_, call)| call)
    }

    /// The calls of a context before this one are over with all members that live.
    fn forget_before(&mut self, context: u32, call: u32) {
        let id = |call| CallId { context, call, question: 0 };
        let over: Vec<CallId> = self.calls.range(id(0)..id(call)).map(|(&id, _)| id).collect();
        over.iter().for_each(|id| drop(self.calls.remove(id)));
    }

    /// What there is of a context is of a communicator that was freed.
    fn forget_context(&mut self, context: u32) {
        self.forget_before(context, u32::MAX);
        self.open.retain(|&(other, _)| other != context);
    }
}

/// The result of an agreement, once there is one.
pub fn result(state: &mut State, id: CallId) -> Option<Decision<Ballot>> {
    let table = DECISIONS.get_mut(&mut state.tables);
    let decision = table.calls.get(&id)?.consensus.decision().cloned()?;
    table.forget_before(id.context, decision.value.first_open);
    Some(decision)
}

/// The result of a call's only agreement, with which the call is over.
pub fn take(state: &mut State, id: CallId) -> Option<Decision<Ballot>> {
    let decision = result(state, id)?;
    end(state, id);
    Some(decision)
}

/// This process has all results of a call.
pub fn end(state: &mut State, id: CallId) {
    DECISIONS.get_mut(&mut state.tables).open.remove(&(id.context, id.call));
}

/// Whether there is a result.
pub fn is_decided(state: &State, id: CallId) -> bool {
    DECISIONS.get(&state.tables).calls.get(&id).is_some_and(|call| call.consensus.is_decided())
}

/// A message for an agreement.
pub fn hear(state: &mut State, id: CallId, from: Peer, message: Message<Ballot>) {
    let State { tables, comms, contexts, .. } = state;
    let table = DECISIONS.get_mut(tables);
    let context = id.context >> 1;
    // Otherwise it is for a communicator that gets the context of one that was freed.
    let is_for = |call: &&mut Agreeing| {
        contexts.taking(context).is_none_or(|taking| call.taking == Some(taking))
            && !contexts.makings().is_offered(context, 1)
    };
    let is_over = comms.in_context(context << 1).is_some_and(|comm| {
        let next = comm.agreements[(id.context & 1) as usize];
        id.call < table.first_open(id.context).map_or(next, |open| open.min(next))
    });
    match table.calls.get_mut(&id).filter(is_for) {
        Some(call) => {
            let Some(place) = call.members.place(from.0) else { return };
            call.consensus.hear(place, message);
            send(state, id);
        }
        // It was forgotten, since no member needs it.
        None if is_over => {}
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
    for id in concerned {
        send(state, id);
        greet(state, id);
    }
}

/// Sees to it that the ends of those are noticed for whose reports this process waits.
fn greet(state: &mut State, id: CallId) {
    let Some(call) = DECISIONS.get(&state.tables).calls.get(&id) else { return };
    let children = call.consensus.missing().map(|place| call.members.peers[place as usize]);
    let children = children.collect();
    abroad::greet(state, children);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn id(context: u32, call: u32, question: u32) -> CallId {
        CallId { context, call, question }
    }

    fn table(calls: &[CallId]) -> Decisions {
        let mut table = Decisions::new();
        for &call in calls {
            let members = Members { peers: vec![0], is_second: false, me: 0 };
            let consensus = Consensus::new(1, 0, []);
            table.calls.insert(call, Agreeing { taking: None, members, consensus });
        }
        table
    }

    #[test]
    fn calls_that_are_over_with_all_are_forgotten() {
        let kept = [id(4, 9, 0), id(6, 2, 0), id(6, 2, 1), id(6, 3, 0), id(8, 0, 0)];
        let mut table = table(&[&kept[..], &[id(6, 0, 0), id(6, 1, 0), id(6, 1, 1)]].concat());
        table.forget_before(6, 2);
        assert!(table.calls.keys().eq(&kept));
    }

    #[test]
    fn a_context_that_another_communicator_gets_has_no_calls() {
        let mut table = table(&[id(4, 0, 0), id(6, 0, 0), id(6, 7, 3)]);
        table.open.extend([(4, 0), (6, 7), (6, 8)]);
        assert_eq!([4, 5, 6].map(|context| table.first_open(context)), [Some(0), None, Some(7)]);
        table.forget_context(6);
        assert!(table.calls.keys().eq(&[id(4, 0, 0)]));
        assert_eq!(table.first_open(6), None);
    }
}
