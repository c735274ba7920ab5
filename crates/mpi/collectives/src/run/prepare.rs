//! From the arguments of a call to its schedule.

use coll::tuned::Level;
use std::sync::Arc;
use std::time::Instant;

use abi::{Address, Result};
use btl::Peer;
use coll::Coll;
use engine::Peers;

use super::super::arguments::Arguments;
use super::super::call::{Call, is_neighbourhood};
use super::super::exact::Exact;
use super::super::kept;
use super::super::mode::Start;
use super::super::port::{Wire, apart};
use super::super::select;
use super::super::state::CollState;
use super::Running;
use objects::comm::Comm;
use objects::state::State;

impl Running {
    /// The allreduce of `len` words at `words` into those behind them, for the library itself.
    pub fn of_words(
        state: &mut State,
        comm: abi::Comm,
        words: Address,
        len: usize,
        op: abi::Op,
    ) -> Result<Box<Running>> {
        let mut running = Running::new(Coll::Allreduce, comm);
        running.call = Call::of_words(state, comm, words, len, op)?;
        running.choose(state, Start::OwnApart)?;
        Ok(Box::new(running))
    }

    /// The gathering of every rank's `len` words at `words` into those at `all`, for the library itself.
    pub fn gathering(
        state: &mut State,
        comm: abi::Comm,
        words: Address,
        len: i64,
        all: Address,
    ) -> Result<Box<Running>> {
        let mut running = Running::new(Coll::Allgather, comm);
        running.call = Call::gathering(state, comm, words, len, all)?;
        running.choose(state, Start::OwnApart)?;
        Ok(Box::new(running))
    }

    /// Takes the arguments of a call and finds its schedule; nothing has been sent yet. The result is how it starts.
    ///
    /// # Errors
    /// Those of the arguments. The value can be used for another call.
    pub(in super::super) fn set_up(
        &mut self,
        state: &mut State,
        coll: Coll,
        start: Start,
        fill: impl FnOnce(&mut Arguments<'_>) -> Result<()>,
    ) -> Result<Start> {
        self.call.reset(coll);
        // It may wait for its turn before it begins.
        self.ended = None;
        if is_neighbourhood(coll) {
            let State { comms, tables, .. } = state;
            let comm = comms.get_mut(self.call.comm)?;
            kept::of(tables, comm).meet_neighbours(comm);
        }
        let comm = state.comm(self.call.comm)?;
        fill(&mut Arguments::new(state, comm, &mut self.call))?;
        if state.params.tuned.check != Level::Off {
            self.call.check_disjoint()?;
        }
        self.exact = match state.params.tuned.reproducible {
            true => Exact::over(state, comm, &mut self.call)?,
            false => None,
        };
        self.choose_again(state, start)
    }

    /// Finds the schedule, by what the processes know of each other now. The result is how the call starts.
    pub(in super::super) fn choose_again(&mut self, state: &mut State, start: Start) -> Result<Start> {
        match start {
            Start::Persistent | Start::InOwnArea => self.choose_persistent(state),
            _ => self.choose(state, start).map(|()| start),
        }
    }

    /// Whether its rounds could go through an area.
    pub(in super::super) fn may_share(&self, state: &State) -> Result<bool> {
        let comm = state.comm(self.call.comm)?;
        Ok(!is_neighbourhood(self.call.coll) && select::may_share(state, comm))
    }

    /// Rounds of a persistent call have an area to themselves where they are faster there, or a forced algorithm needs one.
    fn choose_persistent(&mut self, state: &mut State) -> Result<Start> {
        let may_share = self.may_share(state)?;
        let gains = may_share && self.gains_from_area(state)?;
        let start = if gains { Start::InOwnArea } else { Start::Persistent };
        match self.choose(state, start) {
            Err(_) if may_share && !gains => self.choose(state, Start::InOwnArea).map(|()| Start::InOwnArea),
            chosen => chosen.map(|()| start),
        }
    }

    fn gains_from_area(&self, state: &mut State) -> Result<bool> {
        let State { tables, comms, world, .. } = state;
        let comm = comms.get_mut(self.call.comm)?;
        let kept = kept::of(tables, comm);
        Ok(select::gains_from_area(&self.call, comm, kept, world.as_ref()))
    }

    pub(in super::super) fn choose(&mut self, state: &mut State, start: Start) -> Result<()> {
        let State { tables, comms, world, params, algorithms, p2p, .. } = state;
        let comm = comms.get_mut(self.call.comm)?;
        let kept = kept::of(tables, comm);
        self.wire.follow(comm, kept, p2p.peers());
        // Exact sums are the same however they are put together.
        let canonical = self.call.op.is_some() && params.tuned.reproducible && self.exact.is_none();
        let signature = select::signature(&self.call, comm, kept, world.as_ref(), canonical, start);
        if start == Start::Blocking
            && params.tuned.online
            && let Some((attempt, choice)) = kept.online.next(signature.query(), &params.tuned)
        {
            self.schedule = select::build(comm, kept, world.as_ref(), &signature, choice)?;
            algorithms[self.call.coll as usize] = self.schedule.algorithm();
            self.signature = Some(signature);
            self.attempt = Some((attempt, Instant::now()));
            return Ok(());
        }
        if !self.is_prepared_for(&signature) {
            // After a trial the schedule is not the signature's.
            if self.attempt.take().is_some() {
                self.signature = None;
            }
            kept.trade(self, &signature);
        }
        if self.signature.as_ref() != Some(&signature) {
            self.schedule = select::schedule(comm, kept, world.as_ref(), &params.tuned, &signature)?;
            self.signature = Some(signature);
        }
        algorithms[self.call.coll as usize] = self.schedule.algorithm();
        Ok(())
    }

    /// Whether the processes should first ask each other if they can read each other's memory.
    pub fn wants_vote(&self, kept: &CollState) -> bool {
        self.signature.as_ref().is_some_and(|signature| signature.query().area && kept.direct.is_none())
    }
}

impl Wire {
    /// Takes over the processes of a communicator.
    fn follow(&mut self, comm: &Comm, kept: &CollState, peers: &Peers) {
        self.context = comm.context | 1;
        // Groups that borrow one context, one after the other, give a rank to different processes.
        self.by_peer = kept.is_apart();
        self.source = match self.by_peer {
            true => apart(peers, Peer(comm.group.members()[comm.rank as usize])),
            false => comm.rank,
        };
        self.owner = comm.handle.0 as u32;
        if !Arc::ptr_eq(&self.peers, &comm.peers) {
            // One that was revoked addresses none any more, but a call on it that has begun still ends.
            self.peers = comm.remote.as_ref().unwrap_or(&comm.group).peers();
            self.local = comm.group.peers();
        }
        // The library's own calls on the local group count by themselves, in the context beside this one.
        self.local_context = comm.local_context();
    }
}
