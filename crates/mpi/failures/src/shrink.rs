//! `MPIX_Comm_shrink` and `MPIX_Comm_ishrink`: a communicator of those that live.
//!
//! Each question about its context id is an agreement, and those that are dead to the last one are not in it. So all its members make the
//! same communicator, also if others fail meanwhile.

use std::sync::Arc;

use abi::{Error, Result};
use communicators::agreement::{Agreement, Party, WORDS};
use communicators::{add_comm, agree_by, revoke_if_late};
use engine::{Advance, Operation, Work};
use pml::Done;

use crate::ballot::Ballot;
use crate::decisions::{self, CallId, Decisions, Series};
use crate::members::Members;
use objects::comm::contexts::IN_THE_MAKING;
use objects::comm::{Comm, Held};
use objects::domain::Token;
use objects::group::Group;
use objects::handle::RequestKey;
use objects::state::State;
use objects::wait::wait_for;

/// What distinguishes a shrinking communicator among the parties over its context.
const SHRINK: u64 = 3;

/// `MPIX_Comm_shrink`
pub fn shrink(t: &mut Token, comm: abi::Comm, new: &mut abi::Comm) -> Result<()> {
    *new = abi::COMM_NULL;
    let (mut call, count) = begin(&mut t.lock(), comm)?;
    let party = party(call);
    let mut dead = Vec::new();
    let id = agree_by(t, party, count, |t, question| {
        let ballot = Ballot { question: Some(question), ..Ballot::new() };
        Decisions::ask(&mut t.lock(), comm, call, ballot)?;
        engine::see_to_connections(t);
        let decision = wait_for(t, |state| decisions::result(state, call));
        call.question += 1;
        dead = decision.dead;
        answer(decision.value)
    });
    let mut state = t.lock();
    decisions::end(&mut state, call);
    let made = without(&state, comm, id?, &dead)?;
    *new = add_comm(&mut state, made)?;
    Ok(())
}

/// `MPIX_Comm_ishrink`
pub fn ishrink(
    t: &mut Token,
    comm: abi::Comm,
    new: &mut abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    *new = abi::COMM_NULL;
    let mut state = t.lock();
    state.requests.check_room()?;
    let (call, count) = begin(&mut state, comm)?;
    let held = state.hold(comm)?;
    let place = placeholder(&state, comm)?;
    let made = add_comm(&mut state, place)?;
    let agreement = Agreement::new(party(call), count);
    let mut shrinking = Shrinking { held, call, new: made, agreement, ended: None };
    shrinking.ask(&mut state)?;
    let key = state.requests.add(shrinking)?;
    state.requests.register(key);
    (*new, *request) = (made, RequestKey::Operation(key).handle());
    drop(state);
    engine::see_to_connections(t);
    Ok(())
}

/// Takes the next number of the communicator's calls; with that, how many context ids are needed.
fn begin(state: &mut State, comm: abi::Comm) -> Result<(CallId, u32)> {
    Ok((Decisions::number(state, comm, Series::Program)?, state.comm(comm)?.context_ids()))
}

fn party(call: CallId) -> Party {
    Party::of(&[u64::from(call.context), SHRINK, u64::from(call.call)])
}

fn answer(value: Ballot) -> Result<[u64; WORDS]> {
    let asked =
        value.question.ok_or(Error::new(abi::ERR_INTERN, "the members have agreed on something else"))?;
    Ok(asked.words)
}

/// The communicator without its members `dead`, under a context id.
fn without(state: &State, comm: abi::Comm, id: u32, dead: &[u32]) -> Result<Comm> {
    let old = state.comm(comm)?;
    let members = Members::of(state, old);
    let lives = |peer: &u32| members.place(*peer).is_none_or(|place| dead.binary_search(&place).is_err());
    let group = |old: &Group| {
        let peers: Vec<u32> = old.members().iter().copied().filter(lives).collect();
        Arc::new(Group::new(peers.into(), state.me()).of_session(old.session))
    };
    let own = group(&old.group);
    let rank = own.rank.unwrap_or(0);
    let mut new = Comm::new(id, own, rank, old.errhandler);
    new.session = old.session;
    new.name.clone_from(&old.name);
    new.hints = old.hints.clone();
    if let Some(remote) = &old.remote {
        new.make_inter(group(remote));
    }
    Ok(new)
}

/// What stands for the communicator until its members are known.
fn placeholder(state: &State, comm: abi::Comm) -> Result<Comm> {
    let old = state.comm(comm)?;
    let alone = Arc::new(Group::new([state.me()].into(), state.me()));
    let mut place = Comm::new(IN_THE_MAKING, alone, 0, old.errhandler);
    place.peers = Arc::new([]);
    Ok(place)
}

/// A communicator in the making.
struct Shrinking {
    held: Held,
    call: CallId,
    new: abi::Comm,
    agreement: Agreement,
    ended: Option<Done>,
}

impl Shrinking {
    fn ask(&mut self, state: &mut State) -> Result<()> {
        let question = Some(self.agreement.ask(&state.contexts));
        Decisions::ask(state, self.held.comm(), self.call, Ballot { question, ..Ballot::new() })
    }

    /// Takes the answer, if it is there; whether there is nothing more to do.
    fn go_on(&mut self, state: &mut State) -> Result<bool> {
        let Some(decision) = decisions::result(state, self.call) else { return Ok(false) };
        self.call.question += 1;
        match self.agreement.hear(&mut state.contexts, &answer(decision.value)?)? {
            Some(id) => {
                let made = without(state, self.held.comm(), id, &decision.dead)?;
                state.comms.replace(self.new, made)?;
                revoke_if_late(state, self.new);
                Ok(true)
            }
            None => self.ask(state).map(|()| false),
        }
    }
}

impl Operation<State> for Shrinking {
    fn work(&self) -> Option<Work> {
        Some(Work::Communicator)
    }

    fn is_over(&mut self, _: &mut State) -> bool {
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        self.ended.unwrap_or(Done::sent(self.held.comm().0 as u32))
    }

    fn advance(&mut self, state: &mut State, _key: u32) -> Advance {
        let error = match self.go_on(state) {
            Ok(false) => return Advance::Idle,
            Ok(true) => abi::SUCCESS,
            Err(error) => error.class,
        };
        decisions::end(state, self.call);
        self.ended = Some(Done { error, ..Done::sent(self.held.comm().0 as u32) });
        Advance::Finished
    }
}
