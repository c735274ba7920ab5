//! `MPI_Comm_idup` (MPI-5.0 section 7.4.2): a duplicate whose context id is agreed on by progress.
//!
//! In an inter-communicator an allreduce gives each group the other group's value, so each question is asked twice: the
//! second time each rank brings that and its own together.

use abi::Result;
use engine::{Advance, Operation, Work};
use pml::Done;

use super::agreement::{Agreement, Party, Question, WORDS};
use super::create::{NUMBERED, add_comm, copy_of, remove_comm, revoke_if_late};
use super::retire::reap_retired;
use collectives::Running;
use objects::attr::{Attributes, copy_all, forget};
use objects::comm::contexts::IN_THE_MAKING;
use objects::comm::hints::Hints;
use objects::comm::library_tags::of_duplicate;
use objects::comm::{Comm, Held};
use objects::domain::Token;
use objects::handle::RequestKey;
use objects::immediate::EMPTY;
use objects::memory::exposed;
use objects::state::State;

/// A duplicate on its way.
pub struct Duplicate {
    parent: Held,
    new: abi::Comm,
    agreement: Agreement,
    question: Question,
    /// The allreduce's words and their result; boxed, since their address is out.
    words: Box<[u64]>,
    running: Box<Running>,
    /// Rounds left of the present question (two between groups, one otherwise).
    rounds: u32,
    tag: i32,
    /// The result, when it is there.
    ended: Option<Done>,
}

/// `MPI_Comm_idup`
pub fn idup(t: &mut Token, comm: abi::Comm, new: &mut abi::Comm, request: &mut abi::Request) -> Result<()> {
    t.lock().comm(comm)?;
    start(t, comm, Hints::default(), new, request)
}

/// `MPI_Comm_idup_with_info`
pub fn idup_with_info(
    t: &mut Token,
    comm: abi::Comm,
    info: abi::Info,
    new: &mut abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let hints = {
        let state = t.lock();
        state.comm(comm)?;
        Hints::known(&state.infos.hints(info)?)
    };
    start(t, comm, hints, new, request)
}

fn start(
    t: &mut Token,
    comm: abi::Comm,
    hints: Hints,
    new: &mut abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    t.lock().requests.check_room()?;
    let attributes = copy_all(t, comm)?;
    (*new, *request) = begin(&mut t.lock(), comm, hints, attributes)?;
    engine::see_to_connections(t);
    Ok(())
}

/// The duplicate, which cannot be used yet, and its request. After an error there is neither.
fn begin(
    state: &mut State,
    comm: abi::Comm,
    hints: Hints,
    attributes: Attributes,
) -> Result<(abi::Comm, abi::Request)> {
    // Functions of the program have copied the attributes, and may have begun requests.
    let copy =
        state.requests.check_room().and_then(|()| Ok(copy_of(state.comm(comm)?, IN_THE_MAKING, hints)));
    let new = match copy.and_then(|copy| add_comm(state, copy)) {
        Ok(new) => new,
        Err(error) => {
            forget(state, attributes);
            return Err(error);
        }
    };
    state.comms.get_mut(new)?.attributes = attributes;
    let duplicate = Duplicate::begin(state, comm, new);
    match duplicate.and_then(|duplicate| state.requests.add(duplicate)) {
        Ok(key) => {
            state.requests.register(key);
            Ok((new, RequestKey::Operation(key).handle()))
        }
        Err(error) => {
            discard(state, new);
            Err(error)
        }
    }
}

/// Takes a duplicate out that the members do not make.
fn discard(state: &mut State, new: abi::Comm) {
    if let Some(new) = remove_comm(state, new) {
        forget(state, new.attributes);
    }
}

fn rounds(comm: &Comm) -> u32 {
    if comm.is_inter() { 2 } else { 1 }
}

impl Duplicate {
    /// Begins to make `new` the duplicate of a communicator.
    fn begin(state: &mut State, comm: abi::Comm, new: abi::Comm) -> Result<Duplicate> {
        let parent = state.hold(comm)?;
        let old = state.comms.get_mut(comm)?;
        old.duplicates = old.duplicates.wrapping_add(1);
        let tag = of_duplicate(old.duplicates);
        let party = Party::of(&[u64::from(old.context), NUMBERED, u64::from(old.duplicates)]);
        let rounds = rounds(old);
        let mut agreement = Agreement::new(party, old.context_ids());
        reap_retired(state);
        let question = agreement.ask(&state.contexts);
        let mut words: Box<[u64]> = Box::new([0; 2 * WORDS]);
        let running = Running::of_words(state, comm, exposed(&mut words), WORDS, question.op)?;
        let mut duplicate =
            Duplicate { parent, new, agreement, question, words, running, rounds, tag, ended: None };
        duplicate.reduce(state)?;
        Ok(duplicate)
    }

    /// Begins the reductions of the present question.
    fn ask(&mut self, state: &mut State) -> Result<()> {
        let parent = self.parent.comm();
        self.rounds = rounds(state.comm(parent)?);
        self.running = Running::of_words(state, parent, exposed(&mut self.words), WORDS, self.question.op)?;
        self.reduce(state)
    }

    /// Begins one allreduce. All of a duplicate have one tag: each begins where the one before it has ended.
    fn reduce(&mut self, state: &mut State) -> Result<()> {
        self.words[..WORDS].copy_from_slice(&self.question.words);
        self.running.begin_apart(self.tag)?;
        self.running.step(state);
        Ok(())
    }

    /// Takes the next step if the allreduce is over; whether anything happened.
    fn take_step(&mut self, state: &mut State) -> Result<bool> {
        self.running.step(state);
        if !self.running.is_complete() {
            return Ok(false);
        }
        self.running.result()?;
        let mut heard = [0; WORDS];
        heard.copy_from_slice(&self.words[WORDS..]);
        self.rounds -= 1;
        if self.rounds > 0 {
            self.question = self.question.with(&heard);
            self.reduce(state)?;
            return Ok(true);
        }
        match self.agreement.hear(&mut state.contexts, &heard)? {
            Some(id) => {
                state.comms.get_mut(self.new)?.set_context_id(id);
                revoke_if_late(state, self.new);
                self.ended = Some(Done { owner: self.parent.comm().0 as u32, ..EMPTY });
            }
            None => {
                self.question = self.agreement.ask(&state.contexts);
                self.ask(state)?;
            }
        }
        Ok(true)
    }

    /// The members cannot go on: there is no duplicate.
    fn fail(&mut self, state: &mut State, error: abi::Error) {
        self.agreement.give_up();
        discard(state, self.new);
        self.ended = Some(Done { error: error.class, owner: self.parent.comm().0 as u32, ..EMPTY });
    }
}

impl Operation<State> for Duplicate {
    fn work(&self) -> Option<Work> {
        Some(Work::Communicator)
    }

    fn is_over(&mut self, _state: &mut State) -> bool {
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        self.ended.unwrap_or(EMPTY)
    }

    fn advance(&mut self, state: &mut State, _key: u32) -> Advance {
        let moved = self.take_step(state).unwrap_or_else(|error| {
            self.fail(state, error);
            true
        });
        match moved {
            _ if self.ended.is_some() => Advance::Finished,
            true => Advance::Moved,
            false => Advance::Idle,
        }
    }
}
