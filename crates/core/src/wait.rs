//! Progress, and waiting that costs nothing.
//!
//! A waiting rank polls briefly, yields a bounded number of times when there are more ranks than processors,
//! then announces that it sleeps, looks once more, and sleeps until a sender rings (see `btl::Btl::arm`). The
//! state is unlocked while it sleeps.

use btl::Btl;
use platform::waiter::Waiter;
use pml::{Done, ReqId};

use crate::domain::{Guard, Token};
use crate::state::State;

impl State {
    /// Advances everything once; whether anything happened.
    #[inline]
    pub fn progress(&mut self) -> bool {
        if self.tools.timers == 0 { self.advance() } else { self.advance_timed() }
    }

    /// As [`State::progress`], while a tool measures the time that it takes.
    #[cold]
    fn advance_timed(&mut self) -> bool {
        let start = std::time::Instant::now();
        let happened = self.advance();
        self.tools.progress_time += start.elapsed().as_nanos() as u64;
        happened
    }

    #[inline]
    fn advance(&mut self) -> bool {
        let State { ob1, bml, .. } = self;
        let mut happened = ob1.progress(bml) > 0;
        if let Some(peer) = ob1.next_lost() {
            self.peer_lost(peer);
        }
        if !self.active.is_empty() {
            happened |= crate::coll::advance_all(self);
        }
        if !self.orphans.is_empty() {
            crate::request::reap_orphans(self);
        }
        if !self.partitioned.is_empty() {
            happened |= crate::partitioned::advance_all(self);
        }
        if !self.duplicates.is_empty() {
            happened |= crate::comm::idup::advance_all(self);
        }
        happened
    }
}

/// Looks at the slot of the process that is waited for between two looks at everything.
const LOOKS: u32 = 32;

impl State {
    /// Looks at one process between two looks at everything. Where ranks share a core, the sender needs it more
    /// than a second look does.
    #[inline(always)]
    pub fn looks(&self) -> u32 {
        if self.params.waiting.spin.is_zero() { 1 } else { LOOKS }
    }

    /// Whether the message layer must be advanced although nothing arrives.
    #[inline]
    fn is_blocked(&self) -> bool {
        self.ob1.waits_for_room() || self.ob1.needs_turn()
    }

    /// The result of a request of the PML, if it is complete or becomes so by some looks at its sender.
    #[inline]
    pub fn take_awaited(&mut self, id: ReqId) -> Option<Done> {
        let looks = self.looks();
        self.ob1.take_awaited(&mut self.bml, id, looks)
    }
}

/// Waits until `ready` gives a result, making progress meanwhile.
#[inline]
pub(crate) fn wait_for<R>(t: &mut Token, mut ready: impl FnMut(&mut State) -> Option<R>) -> R {
    let multiple = t.multiple();
    let mut waiter = Waiter::new(t.lock().params.waiting);
    loop {
        let callback = {
            let mut state = t.lock();
            loop {
                if let Some(result) = ready(&mut state) {
                    wake_others(&mut state);
                    let events = crate::tool::are_due(&state);
                    drop(state);
                    if events {
                        crate::tool::deliver(t);
                    }
                    return result;
                }
                if state.progress() {
                    waiter.restart();
                } else if multiple || !state.callbacks_idle() || waiter.idle() {
                    break;
                }
            }
            state.next_callback()
        };
        match callback {
            Some(callback) => crate::coll::run_callback(t, callback),
            // Other threads get the lock between polls.
            None if multiple && !waiter.idle() => {}
            None => {
                if let Some(result) = sleep(t, &mut ready) {
                    return result;
                }
                waiter.restart();
            }
        }
    }
}

/// Polls in a row that find nothing, after which a program that polls gives way on an oversubscribed node: a loop
/// around `MPI_Iprobe` or `MPI_Test` would otherwise hold the core that the awaited rank needs.
const FRUITLESS_POLLS: u32 = 3;

/// Makes progress once, runs callbacks that became due, and returns.
pub(crate) fn poll(t: &mut Token) {
    let (callback, gives_way, events) = {
        let mut state = t.lock();
        if state.progress() {
            state.fruitless_polls = 0;
            wake_others(&mut state);
        } else {
            state.fruitless_polls = state.fruitless_polls.saturating_add(1);
        }
        let gives_way = state.fruitless_polls > FRUITLESS_POLLS && state.params.waiting.shares_core();
        (state.next_callback(), gives_way, crate::tool::are_due(&state))
    };
    if gives_way {
        std::thread::yield_now();
    }
    if let Some(callback) = callback {
        crate::coll::run_callback(t, callback);
    }
    if events {
        crate::tool::deliver(t);
    }
}

/// Wakes threads that sleep on something that a message does not announce.
pub(crate) fn notify(t: &mut Token) {
    wake_others(&mut t.lock());
}

/// Threads that sleep must see what this thread's progress completed.
#[inline(always)]
fn wake_others(state: &mut Guard<'_>) {
    if state.sleepers > 0 {
        ring_ourselves(state);
    }
}

#[cold]
fn ring_ourselves(state: &mut Guard<'_>) {
    state.bml.wake_sleepers();
}

/// Sleeps until somebody rings, unless something is there after all; the result, if it came meanwhile.
fn sleep<R>(t: &mut Token, ready: &mut impl FnMut(&mut State) -> Option<R>) -> Option<R> {
    let armed = {
        let mut state = t.lock();
        // Room at a transport is announced by nobody: whoever waits for it keeps looking.
        let armed = if state.is_blocked() { None } else { state.bml.arm() };
        let Some(btl::Sleep::Word { address, expected }) = armed else {
            drop(state);
            std::thread::yield_now();
            return None;
        };
        // The look between arming and sleeping: whatever was sent before the word changed is seen here.
        let happened = state.progress();
        let result = ready(&mut state);
        if happened || result.is_some() || !state.callbacks_idle() || state.is_blocked() {
            state.bml.disarm();
            wake_others(&mut state);
            return result;
        }
        state.sleepers += 1;
        (address, expected)
    };
    platform::futex::wait(armed.0, armed.1);
    let mut state = t.lock();
    state.sleepers -= 1;
    state.bml.disarm();
    None
}
