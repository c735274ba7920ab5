//! `MPIX_Comm_agree` and `MPIX_Comm_iagree`: the same bits and the same error on all processes that live.

use abi::{Address, Error, Result};
use consensus::Decision;
use engine::{Operation, Work};
use pml::Done;

use crate::ballot::Ballot;
use crate::decisions::{self, CallId, Decisions, Series};
use crate::known::acknowledged_in;
use crate::members::Members;
use mem::PeerBytes;
use objects::comm::Held;
use objects::domain::Token;
use objects::memory::of_user;
use objects::state::State;
use objects::wait::wait_for;

const FAILED: Error = Error::new(
    abi::ERR_PROC_FAILED,
    "a process of the communicator has failed, and not all others have acknowledged that",
);

/// `MPIX_Comm_agree`
pub fn agree(t: &mut Token, comm: abi::Comm, flag: &mut i32) -> Result<()> {
    let (id, is_second) = begin(&mut t.lock(), comm, *flag)?;
    engine::see_to_connections(t);
    let decision = wait_for(t, |state| decisions::take(state, id));
    let (bits, error) = judge(&decision, is_second);
    *flag = bits;
    error.map_or(Ok(()), Err)
}

/// `MPIX_Comm_iagree`
pub fn iagree(t: &mut Token, comm: abi::Comm, flag: Address, request: &mut abi::Request) -> Result<()> {
    if flag.0 == 0 {
        return Err(Error::new(abi::ERR_ARG, "the address of the flag is null"));
    }
    let mut state = t.lock();
    state.requests.check_room()?;
    let mut given = [0; 4];
    of_user(flag, 4).as_bytes().copy_to(&mut given);
    let (id, is_second) = begin(&mut state, comm, i32::from_ne_bytes(given))?;
    let held = state.hold(comm)?;
    *request = state.add_request(Agreement { held, id, is_second, flag, ended: None })?;
    drop(state);
    engine::see_to_connections(t);
    Ok(())
}

/// Begins an agreement on bits; whether this process is of the second group.
fn begin(state: &mut State, comm: abi::Comm, flag: i32) -> Result<(CallId, bool)> {
    let found = state.comm(comm)?;
    let members = Members::of(state, found);
    let failed = acknowledged_in(state, found);
    let mut places: Vec<u32> = failed.into_iter().filter_map(|peer| members.place(peer)).collect();
    places.sort_unstable();
    let mut ballot = Ballot { acknowledged: Some(places), ..Ballot::new() };
    ballot.flags[usize::from(members.is_second)] = flag.cast_unsigned();
    if found.remote.is_none() {
        ballot.flags[1] = ballot.flags[0];
    }
    Ok((Decisions::begin(state, comm, Series::Program, ballot)?, members.is_second))
}

/// The bits and the error that a decision amounts to. Between two groups each gets the bits of the other one.
fn judge(decision: &Decision<Ballot>, is_second: bool) -> (i32, Option<Error>) {
    let Decision { value, dead } = decision;
    let bits = value.flags[usize::from(!is_second)].cast_signed();
    let acknowledged = value.acknowledged.as_deref().unwrap_or(&[]);
    let is_new = |place: &u32| acknowledged.binary_search(place).is_err();
    (bits, dead.iter().any(is_new).then_some(FAILED))
}

/// An agreement on its way.
struct Agreement {
    held: Held,
    id: CallId,
    is_second: bool,
    flag: Address,
    ended: Option<Done>,
}

impl Operation<State> for Agreement {
    fn work(&self) -> Option<Work> {
        Some(Work::Agreement)
    }

    fn is_over(&mut self, state: &mut State) -> bool {
        if self.ended.is_none()
            && let Some(decision) = decisions::take(state, self.id)
        {
            let (bits, error) = judge(&decision, self.is_second);
            of_user(self.flag, 4).write(PeerBytes::of(&bits.to_ne_bytes()));
            let error = error.map_or(abi::SUCCESS, |error| error.class);
            self.ended = Some(Done { error, ..Done::sent(self.held.comm().0 as u32) });
        }
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        self.ended.unwrap_or(Done::sent(self.held.comm().0 as u32))
    }
}
