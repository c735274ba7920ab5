//! A wait that something else happens to in every poll looks for losses all the same.
#![cfg(not(loom))]

use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use platform::waiter::Policy;
use waiting::{Host, How, Threads, wait};

/// Every poll brings something for another call; what is waited for comes of a look for losses alone.
#[derive(Default)]
struct Busy {
    threads: Threads<()>,
    looks: u32,
}

struct Thread {
    state: Busy,
    is_alone: bool,
}

/// [`Host::is_alone`] has no `self`.
static ALONE: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);

impl Host for Thread {
    type State = Busy;
    type Interest = ();
    type Armed = ();
    type Reason = ();
    type Shown = ();

    fn with<R>(&mut self, f: impl FnOnce(&mut Busy) -> R) -> R {
        ALONE.store(self.is_alone, std::sync::atomic::Ordering::Relaxed);
        f(&mut self.state)
    }

    fn is_alone() -> bool {
        ALONE.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn is_wanted() -> bool {
        false
    }

    fn visits(&self) -> u32 {
        0
    }

    fn threads(state: &mut Busy) -> &mut Threads<()> {
        &mut state.threads
    }

    fn progress(_: &mut Busy) -> bool {
        true
    }

    fn call_is_due(_: &Busy) -> bool {
        false
    }

    fn call(&mut self) {}

    fn wants_turn(_: &Busy) -> bool {
        false
    }

    fn arm(_: &mut Busy) -> Option<()> {
        None
    }

    fn must_arm_again(_: &Busy) -> bool {
        false
    }

    fn disarm(_: &mut Busy) {}

    fn must_look_for_losses(_: &Busy) -> bool {
        true
    }

    fn look_for_losses(state: &mut Busy) -> bool {
        state.looks += 1;
        true
    }

    fn shows_after() -> Option<Duration> {
        None
    }

    fn show(&mut self, _: Instant, _: impl FnMut(&mut Busy)) -> Option<()> {
        None
    }

    fn hide(_: &mut Busy, (): ()) {}

    fn sleep(&self, (): (), _: Option<Instant>) {}

    fn sleep_parked(&self, _: &AtomicU32, _: u32, _: Option<Instant>) {}
}

#[test]
fn a_wait_that_is_served_all_the_time_looks_for_losses() {
    for (is_alone, how) in [(true, How::Active), (false, How::Active), (true, How::Parked(()))] {
        let mut thread = Thread { state: Busy::default(), is_alone };
        let hangs_at = Instant::now() + Duration::from_secs(60);
        let policy = Policy { spin: Duration::ZERO, yields: 0 };
        let looked = wait(
            &mut thread,
            policy,
            how,
            |_: &mut Busy| (),
            |state: &mut Busy| match state.looks {
                2.. => Some(true),
                _ => (Instant::now() > hangs_at).then_some(false),
            },
        );
        assert!(looked, "alone {is_alone}, {how:?}");
    }
}
