//! Keeping on polling for a message rather than yielding at once, where ranks share processors.
//!
//! Yielding costs two microseconds and more, and the process comes round again after all others of its processor. In
//! a ring of 8 ranks on 2 processors, of which each sends to the next, three of four turns found nothing: messages
//! gather, and go from rank to rank all at once. So the one that is next on the other processor keeps polling
//! ([`shm::hint`]). Only blocking receives do: processes that wait for several neighbours at once lost 5 to 10 % by it.

use std::time::{Duration, Instant};

use btl::Peer;

use crate::state::State;

/// Polls between two readings of the clock.
const POLLS: u32 = 16;

/// Polls again and again, for at most `limit` and as long as `worth` holds; what `poll` found.
pub fn poll_for<S, R>(
    at: &mut S,
    limit: Duration,
    worth: impl Fn(&S) -> bool,
    mut poll: impl FnMut(&mut S) -> Option<R>,
) -> Option<R> {
    let began = Instant::now();
    while began.elapsed() < limit && worth(at) {
        for _ in 0..POLLS {
            std::hint::spin_loop();
            if let Some(found) = poll(at) {
                return Some(found);
            }
        }
    }
    None
}

impl State {
    /// To be called where ranks share processors, after a failed poll. Keeps polling for what `awaited` sends,
    /// if the turn of this process is next; what `poll` found.
    #[inline(never)]
    pub fn keep_polling<R>(
        &mut self,
        awaited: impl Fn(&State) -> Option<Peer>,
        poll: impl FnMut(&mut State) -> Option<R>,
    ) -> Option<R> {
        let limit = Duration::from_micros(self.params.engine.hint as u64);
        let is_next = |state: &State| match (&state.node, awaited(state)) {
            (Some(node), Some(peer)) => node.is_next_after(peer),
            _ => false,
        };
        if limit.is_zero() {
            return None;
        }
        self.hint.waits = true;
        let comes_next = is_next(self);
        if !self.hint.scheduling.may_keep_polling(|| comes_next) {
            return None;
        }
        let found = poll_for(self, limit, is_next, poll);
        self.hint.scheduling.kept_polling(found.is_some());
        found
    }

    /// To be called where ranks share processors, when a wait is over.
    pub fn went_on(&mut self) {
        if std::mem::take(&mut self.hint.waits)
            && let Some(node) = &self.node
        {
            node.went_on();
        }
    }
}
