//! The barrier of few processes that share an area, in one straight line: no schedule, no call object.
//!
//! ```text
//!   every process   publish the own line ─► see the lines of all others ─► retire
//! ```
//!
//! It is what the algorithm `lines_all` does, and serves where the table chooses that.

use abi::Result;
use btl_vader::NodeArea;
use shm::area::Owner;

use super::check::{Level, Noted, Statement, rounds_between_looks};
use crate::domain::Token;
use crate::state::State;
use crate::wait::wait_for;

/// How often to look before anything else is polled, where ranks have cores of their own.
const LOOKS: u32 = 64;

/// A barrier on its way.
struct Exchange {
    area: Box<NodeArea>,
    epoch: u64,
    published: bool,
    /// The member whose line is awaited.
    next: usize,
    noted: Option<Noted>,
}

impl Exchange {
    fn begin(state: &mut State, comm: abi::Comm) -> Option<Exchange> {
        let found = state.comms.get_mut(comm).ok()?;
        if !found.coll.straight_barrier {
            return None;
        }
        let mut area = found.coll.area.take()?;
        let (number, _) = found.coll.next_tag(Statement::BARRIER.digest());
        area.set_mark(Statement::BARRIER.digest());
        let epoch = area.take_epochs(1);
        let noted = match state.params.tuned.check {
            Level::Off => None,
            _ => state.note(state.comm(comm).ok()?, number, Statement::BARRIER),
        };
        Some(Exchange { area, epoch, published: false, next: 0, noted })
    }

    /// Goes as far as it can; whether that is to the end.
    #[inline]
    fn look(&mut self) -> bool {
        let Exchange { area, epoch, .. } = self;
        if !self.published {
            if !area.has_room(*epoch) {
                return false;
            }
            let own = area.own();
            area.lines().publish(own, *epoch, &[]);
            area.ring_all();
            self.published = true;
        }
        while self.next < area.members() {
            // The own line is seen like any other.
            if !area.lines().observe(Owner::Member(self.next), *epoch, &mut []) {
                return false;
            }
            self.next += 1;
        }
        area.retire(*epoch);
        true
    }
}

/// A blocking barrier, where it can go this way.
pub(super) fn barrier(t: &mut Token, comm: abi::Comm) -> Option<Result<()>> {
    let (mut exchange, looks) = {
        let mut state = t.lock();
        let mut exchange = Exchange::begin(&mut state, comm)?;
        let looks = if state.params.waiting.spin.is_zero() { 1 } else { LOOKS };
        for _ in 0..looks {
            if exchange.look() {
                state.return_area(comm, exchange.area);
                return Some(Ok(()));
            }
            std::hint::spin_loop();
        }
        (exchange, looks)
    };
    let every = rounds_between_looks(&t.lock());
    let mut rounds = 0u32;
    let result = wait_for(t, |state| {
        for _ in 0..looks {
            if exchange.look() {
                return Some(Ok(()));
            }
        }
        rounds += 1;
        let noted = exchange.noted.as_ref().filter(|_| rounds.is_multiple_of(every))?;
        state.disagreement(comm, noted).map(Err)
    });
    t.lock().return_area(comm, exchange.area);
    Some(result)
}

impl State {
    fn return_area(&mut self, comm: abi::Comm, area: Box<NodeArea>) {
        if let Ok(comm) = self.comms.get_mut(comm) {
            comm.coll.area = Some(area);
        }
    }
}
