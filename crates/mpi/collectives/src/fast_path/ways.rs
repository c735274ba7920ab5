//! What becomes of a call by how it is completed.

use abi::Result;
use coll::Coll;

use super::super::mode::Mode;
use super::{NodePlan, POLLS, Site, begin, complete, later, rounds};
use objects::domain::Token;
use objects::immediate::SENT;
use objects::state::State;

/// As [`super::run`], of a call that may be nonblocking or persistent.
#[inline(always)]
pub(super) fn run_as(
    t: &mut Token,
    mode: &mut Mode<'_>,
    coll: Coll,
    comm: abi::Comm,
    root: i32,
    plan: impl FnOnce(&mut State, &Site) -> Option<(u64, NodePlan<'static>)>,
) -> Option<Result<()>> {
    let most = match mode {
        Mode::Blocking | Mode::Own => POLLS,
        Mode::Nonblocking(_) => later::POLLS,
        Mode::Persistent(_) => {
            rounds::prepare(t, coll, comm, root, plan);
            return None;
        }
    };
    let mut left = false;
    let result = begin(t, (coll, comm, root), most, plan, |t, started| match mode {
        Mode::Nonblocking(request) => {
            left = true;
            later::leave(t, comm, started, request)
        }
        _ => complete(t, (comm, ""), started),
    });
    if let (Mode::Nonblocking(request), false, Some(_)) = (mode, left, &result) {
        **request = SENT;
    }
    result
}
