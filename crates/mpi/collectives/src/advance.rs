//! Bringing a call that has begun to its end, as a blocking call does.

use std::cell::Cell;

use super::run::{Missing, Running};
use super::turns::return_to;
use objects::domain::Token;
use objects::state::State;
use objects::wait::wait_actively_seen;

/// How often a call polls its shared area before it polls the transports, where ranks have cores of their
/// own: what it waits for comes within a few cache-line transfers.
const POLLS: u32 = 16;

/// Advances a call that has begun to its end, as a blocking one.
pub(super) fn advance_to_end(t: &mut Token, running: &mut Running) {
    let polls = if running.uses_area() && !t.lock().params.waiting.spin.is_zero() { POLLS } else { 1 };
    let (by, name) = ((running.comm(), running.waits_in()), running.name());
    loop {
        let missing = Cell::new(None);
        let why = |state: &mut State| Missing::reason(missing.get(), state, by, name);
        let due = wait_actively_seen(t, why, |state| {
            for poll in 0..polls {
                let due = running.advance(&mut state.p2p);
                engine::poll_if_due(state);
                if running.is_complete() {
                    take_area_of(state, running);
                    return Some(None);
                }
                if due.is_some() {
                    return Some(due);
                }
                if poll > 0 {
                    std::hint::spin_loop();
                }
            }
            missing.set(running.missing());
            let disagrees = running.compare_if_due(state).is_err();
            disagrees.then(|| {
                take_area_of(state, running);
                None
            })
        });
        match due {
            Some(callback) => {
                callback.call(t);
                running.reduced();
            }
            None => return,
        }
    }
}

/// Hands the area on that a finished call has borrowed: under the same lock under which it ended, so that the
/// thread that is woken by its end and waits for the area finds it.
pub(super) fn take_area_of(state: &mut State, running: &mut Running) {
    if let Some(area) = running.give_area() {
        return_to(state, running.comm(), area);
    }
}
