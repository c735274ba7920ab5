//! `MPI_Comm_idup` (MPI-5.0 section 7.4.2): a duplicate whose context id is agreed on by progress.
//!
//! ```text
//!   propose ──allreduce max──► candidate ──allreduce "is it taken?"──► agreed
//!      ▲                                            │ somewhere
//!      └────────────────────────────────────────────┘
//! ```
//!
//! In an inter-communicator an allreduce gives each group the other group's value, so each runs twice: the
//! second time everyone brings the larger of that and its own.

use abi::{Address, Result};
use engine::{Operation, Turn};
use pml::Done;

use super::contexts::Party;
use super::{Comm, Held};
use crate::attr::{Object, copy_all};
use crate::coll::Running;
use crate::domain::Token;
use crate::handle::RequestKey;
use crate::info::Info;
use crate::memory::exposed;
use crate::request::EMPTY;
use crate::state::State;

/// A duplicate on its way.
pub(crate) struct Duplicate {
    parent: Held,
    new: abi::Comm,
    /// Context ids that the duplicate needs.
    count: u32,
    step: Step,
    party: Party,
    /// The allreduce's value and result; boxed, since their address is out.
    words: Box<[u64]>,
    running: Box<Running>,
    /// Rounds left of the present question (two between groups, one otherwise).
    rounds: u32,
    tag: i32,
    /// The result, when it is there.
    ended: Option<Done>,
}

#[derive(Clone, Copy)]
enum Step {
    Propose,
    Vote { id: u32, free: bool },
}

/// Tags of duplicates: both bits above the tags of collectives.
const TAGS: u32 = 3 << 29;
/// Tags for one duplicate; more attempts than that start over.
const TAGS_EACH: u32 = 64;

/// `MPI_Comm_idup`
pub fn idup(t: &mut Token, comm: abi::Comm, new: &mut abi::Comm, request: &mut abi::Request) -> Result<()> {
    t.lock().comm(comm)?;
    let info = crate::info::Info::default();
    start(t, comm, info, new, request)
}

/// `MPI_Comm_idup_with_info`
pub fn idup_with_info(
    t: &mut Token,
    comm: abi::Comm,
    info: abi::Info,
    new: &mut abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let info = {
        let state = t.lock();
        state.comm(comm)?;
        state.infos.hints(info)?
    };
    start(t, comm, info, new, request)
}

fn start(
    t: &mut Token,
    comm: abi::Comm,
    info: Info,
    new: &mut abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let attributes = copy_all(t, Object::Comm(comm))?;
    let mut state = t.lock();
    let parent = state.hold(comm)?;
    let mut copy = super::create::copy_of(state.comm(comm)?, 0, info);
    copy.attributes = attributes;
    *new = state.add_comm(copy)?;
    let old = state.comms.get_mut(comm)?;
    old.duplicates = old.duplicates.wrapping_add(TAGS_EACH);
    let tag = (TAGS | old.duplicates & ((1 << 29) - 1)) as i32;
    let (rounds, count) = (rounds(old), old.context_ids());
    let party = Party { over: old.context, number: old.duplicates, failures: 0 };
    let proposal = u64::from(state.contexts.propose(count));
    let mut words: Box<[u64]> = Box::new([0; 2]);
    let address: Address = exposed(&mut words);
    let running = Running::of_words(&mut state, comm, address)?;
    let mut duplicate = Duplicate {
        parent,
        new: *new,
        count,
        step: Step::Propose,
        party,
        words,
        running,
        rounds,
        tag,
        ended: None,
    };
    duplicate.ask(&mut state, proposal)?;
    let key = state.requests.add(duplicate)?;
    state.requests.register(key);
    *request = RequestKey::Operation(key).handle();
    drop(state);
    engine::see_to_connections(t);
    Ok(())
}

fn rounds(comm: &Comm) -> u32 {
    if comm.is_inter() { 2 } else { 1 }
}

impl Duplicate {
    /// Begins one allreduce with `value`.
    fn ask(&mut self, state: &mut State, value: u64) -> Result<()> {
        self.words[0] = value;
        let tag = self.tag;
        self.tag = tag & !(TAGS_EACH as i32 - 1) | (tag + 1) & (TAGS_EACH as i32 - 1);
        self.running.begin_apart(tag)?;
        self.running.step(&mut state.p2p);
        Ok(())
    }

    /// Takes the next step if the allreduce is over; whether anything happened.
    fn take_step(&mut self, state: &mut State) -> Result<bool> {
        self.running.step(&mut state.p2p);
        if !self.running.is_complete() {
            return Ok(false);
        }
        let heard = self.words[1];
        if self.rounds > 1 {
            self.rounds -= 1;
            let mine = self.words[0];
            self.ask(state, heard.max(mine))?;
            return Ok(true);
        }
        self.rounds = rounds(state.comm(self.parent.comm())?);
        match self.step {
            Step::Propose => {
                let id = self.party.candidate(heard as u32, state.contexts.max())?;
                let free = state.contexts.reserve(id, self.count);
                self.step = Step::Vote { id, free };
                self.ask(state, u64::from(!free))?;
            }
            Step::Vote { id, .. } if heard == 0 => {
                state.comms.get_mut(self.new)?.set_context_id(id);
                self.ended = Some(Done { owner: self.parent.comm().0 as u32, ..EMPTY });
            }
            Step::Vote { id, free } => {
                if free {
                    state.contexts.release(id, self.count);
                }
                self.step = Step::Propose;
                self.party.failures += 1;
                let proposal = state.contexts.propose(self.count);
                self.ask(state, u64::from(proposal))?;
            }
        }
        Ok(true)
    }
}

impl Operation<State> for Duplicate {
    fn is_over(&mut self, _state: &mut State) -> bool {
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        self.ended.unwrap_or(EMPTY)
    }

    fn advance(&mut self, state: &mut State, _key: u32) -> Turn {
        let moved = self.take_step(state).unwrap_or_else(|error| {
            let owner = self.parent.comm().0 as u32;
            self.ended = Some(Done { error: error.class, owner, ..EMPTY });
            true
        });
        match moved {
            _ if self.ended.is_some() => Turn::Rest,
            true => Turn::Moved,
            false => Turn::Idle,
        }
    }
}
