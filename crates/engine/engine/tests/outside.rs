//! The engine's threads around a state that is a counter: a worker runs what blocks and wakes the waiting thread, and
//! the helper makes progress while no other thread does.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use btl::Sleep;
use engine::{Domain, How, Interest, Lane, Mode, News, Owner, Progress, Threads, Token, enter_any};
use node::wakeup::Bell;
use platform::waiter::Policy;

#[derive(Default)]
struct Counter {
    threads: Threads<Interest>,
    done: u32,
    /// Of what others have published.
    seen: u32,
}

static DOMAIN: Domain<Counter> = Domain::new();
static PUBLISHED: AtomicU32 = AtomicU32::new(0);
static SEEN: AtomicU32 = AtomicU32::new(0);

fn bell() -> Bell {
    static BELL: OnceLock<Bell> = OnceLock::new();
    *BELL.get_or_init(|| {
        let bell = Bell::of(Box::leak(Box::default()));
        bell.doorbell().ask_for_fences();
        bell
    })
}

impl Owner for Counter {
    fn domain() -> &'static Domain<Counter> {
        &DOMAIN
    }

    fn create() -> Counter {
        Counter::default()
    }

    fn news(&mut self) -> Option<News> {
        self.threads.news(|_| true).map(|wakes| News { wakes, bell: bell() })
    }
}

impl Progress for Counter {
    fn threads(&mut self) -> &mut Threads<Interest> {
        &mut self.threads
    }

    fn policy(&self) -> Policy {
        Policy { spin: Duration::ZERO, yields: 0 }
    }

    fn progress(&mut self) -> bool {
        let published = PUBLISHED.load(Ordering::Acquire);
        let happened = std::mem::replace(&mut self.seen, published) != published;
        if happened {
            SEEN.store(published, Ordering::Release);
            self.threads.changed();
        }
        happened
    }

    fn call_is_due(&self) -> bool {
        false
    }

    fn call(_: &mut Token<Counter>) {}

    fn wants_turn(&self) -> bool {
        false
    }

    fn arm(&mut self) -> Option<Sleep> {
        let doorbell = bell().doorbell();
        let expected = doorbell.arm(platform::membarrier::barrier)?;
        Some(Sleep::Word { address: doorbell.address(), expected })
    }

    fn must_arm_again(&self) -> bool {
        false
    }

    fn disarm(&mut self) {
        bell().doorbell().disarm();
    }

    fn must_look_for_losses(&self) -> bool {
        false
    }

    fn look_for_losses(&mut self) -> bool {
        false
    }

    fn is_settled(&self) -> bool {
        false
    }

    fn show(&self, _: &observe::Section) {}

    fn request(&self, _: pml::ReqId) -> engine::Reason {
        engine::Reason::outside()
    }
    fn begun(&self) -> Vec<observe::Part> {
        Vec::new()
    }
}

fn publish(number: u32) {
    PUBLISHED.store(number, Ordering::Release);
    bell().ring();
}

/// What blocks ends while the program sleeps in a wait, by whichever of two ways it waits.
fn works_apart(t: &mut Token<Counter>) {
    let hows = [How::Active, How::Parked(Interest::Change)];
    for (round, how) in (1..).zip(hows.into_iter().cycle().take(100)) {
        for item in 0..8 {
            let work = move || std::thread::sleep(Duration::from_micros(item * 20));
            engine::run_apart(t, work, |state: &mut Counter, ()| state.done += 1).unwrap();
        }
        engine::wait(
            t,
            how,
            |_: &mut Counter| engine::Reason::outside(),
            |state: &mut Counter| (state.done == round * 8).then_some(()),
        );
    }
}

/// Work that comes back lets other items run in between, and all of its turns are over when the threads end.
fn works_in_turns(t: &mut Token<Counter>) {
    t.lock().done = 0;
    let mut left = 50;
    let work = move |_: &platform::Blocking<'_>| {
        left -= 1;
        left > 0
    };
    engine::run_apart_in_turns(Lane::Pool, work, |state: &mut Counter| state.done += 1).unwrap();
    for _ in 0..8 {
        engine::run_apart(t, || (), |state: &mut Counter, ()| state.done += 1).unwrap();
    }
    engine::end_outside(t);
    assert_eq!(t.lock().done, 58);
}

/// Items that stand still stop their own lanes alone, however many there are; a lane keeps its order.
fn lanes_do_not_stop_each_other(t: &mut Token<Counter>) {
    t.lock().done = 0;
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    for item in 0..40u64 {
        let (gate, order) = (gate.clone(), order.clone());
        let work = move |_: &platform::Blocking<'_>| {
            gate.lock().unwrap().recv().unwrap();
            order.lock().unwrap().push(item);
        };
        let lane = Lane::Own { key: item % 10, most: 1 };
        engine::run_blocking(lane, work, |state: &mut Counter, ()| state.done += 1).unwrap();
    }
    for item in 0..8 {
        let lane = if item % 2 == 0 { Lane::Pool } else { Lane::Own { key: 100, most: 2 } };
        engine::run_blocking(lane, |_| (), |state: &mut Counter, ()| state.done += 1).unwrap();
        engine::wait(
            t,
            How::Active,
            |_: &mut Counter| engine::Reason::outside(),
            |state: &mut Counter| (state.done == item + 1).then_some(()),
        );
    }
    (0..40).for_each(|_| go.send(()).unwrap());
    engine::wait(
        t,
        How::Parked(Interest::Change),
        |_: &mut Counter| engine::Reason::outside(),
        |state: &mut Counter| (state.done == 48).then_some(()),
    );
    for lane in 0..10 {
        let order = order.lock().unwrap();
        let of_lane: Vec<u64> = order.iter().copied().filter(|item| item % 10 == lane).collect();
        assert!(of_lane.is_sorted() && of_lane.len() == 4, "{of_lane:?}");
    }
    engine::end_outside(t);
}

/// The helper sees what is published while the program computes, and leaves alone what is published after its release.
fn is_helped(t: &mut Token<Counter>) {
    for round in 1..=100 {
        engine::need_progress(t).unwrap();
        engine::need_progress(t).unwrap();
        engine::release_progress(t);
        publish(round);
        while SEEN.load(Ordering::Acquire) != round {
            platform::waiter::give_way();
        }
        if round % 2 == 0 {
            engine::release_progress(t);
        } else {
            engine::end_outside(t);
            assert!(DOMAIN.is_plain(), "the lock is as before");
        }
    }
    engine::end_outside(t);
    publish(1000);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(SEEN.load(Ordering::Acquire), 100);
}

/// One test, since there is one state.
#[test]
fn threads_of_the_library_work_while_the_program_is_elsewhere() {
    // Creates the state.
    enter_any::<Counter>();
    DOMAIN.set_mode(Mode::Running, true);
    let mut t = enter_any::<Counter>();
    works_apart(&mut t);
    works_in_turns(&mut t);
    lanes_do_not_stop_each_other(&mut t);
    is_helped(&mut t);
}
