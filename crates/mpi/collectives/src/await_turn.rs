//! A blocking call's turn in the area of a communicator ([`super::turns`]).

use std::any::Any;

use engine::{Operation, Reason};
use observe::{Need, Part};

use super::fast_path::Later;
use super::kept;
use super::run::Running;
use objects::domain::Token;
use objects::state::State;
use objects::wait::wait_for_seen;

/// Waits until the nonblocking calls that use the area of a communicator are over, as far as this process is concerned.
pub fn await_turn(t: &mut Token, comm: abi::Comm) {
    let is_lent = |state: &State| {
        let kept = state.comms.find(comm).and_then(|comm| kept::at(&state.tables, comm.slot));
        kept.is_some_and(|kept| kept.turns.has_area && kept.area.is_none())
    };
    if is_lent(&t.lock()) {
        let why = |state: &mut State| Reason { call: "", need: Need::All, parts: in_area_of(state, comm) };
        wait_for_seen(t, why, |state| (!is_lent(state)).then_some(()));
    }
}

/// The calls under way that the area of a communicator is lent to; more than one are of several threads.
fn in_area_of(state: &State, comm: abi::Comm) -> Vec<Part> {
    let is_there = |operation: &&dyn Operation<State>| {
        let operation: &dyn Any = *operation;
        let running = operation.downcast_ref::<Running>();
        running.is_some_and(|it| it.comm() == comm && it.uses_area())
            || operation.downcast_ref::<Later>().is_some_and(|it| it.comm() == comm)
    };
    let parts: Vec<Part> = state.requests.iter().filter(is_there).filter_map(|it| it.lacks(state)).collect();
    // Another thread may have it.
    if parts.is_empty() { vec![Part::outside()] } else { parts }
}
