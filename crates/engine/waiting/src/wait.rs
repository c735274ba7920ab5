//! The loop of a wait.
//!
//! ```text
//!        ┌─► lock ─► ready? ── yes ──► hand on the role, unlock, wake threads whose wait is over ─► over
//!        │             │ no
//!        │             ├── another thread polls ──► park: spin on the own word, sleep there ──────┐
//!        │             ├── progress ─► something happened: once more                              │
//!        │             ├── a call of the program is due ─► unlock, make it                        │
//!        │             └── nothing for a while ─► arm, poll once more, unlock, sleep on the doorbell
//!        └────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//! **Losses reach whatever waits.** What is waited for may never come, since a process has ended, and not every
//! transport notices it. So a wait has them looked for now and then, whether it gets nothing or is served all the time,
//! also out of its sleep; a look that finds nothing is no turn, so that it hides no wake-up that was lost.
//!
//! **Long waits are shown.** A wait that has lasted for [`Host::shows_after`] leaves what it is for where others see it, and
//! takes that back before it does anything else. That is no turn either: it polls nothing.
//!
//! No lock is held while asleep. A transport that has room again, or a descriptor that is ready, ends the sleep as a
//! message does (`btl::Btl::arm`).

use std::time::{Duration, Instant};

use platform::waiter::{Policy, Waiter};

use crate::sync::{Arc, AtomicU32, give_way};
use crate::threads::{Parked, Threads};

/// The owner of the state that a wait is about, as one thread sees it.
pub trait Host {
    /// What the lock protects.
    type State;
    /// What a parked thread waits for.
    type Interest;
    /// What to sleep on.
    type Armed: Copy;
    /// What a wait is for, for others to see.
    type Reason;
    /// A wait that others see.
    type Shown;

    /// Runs `f` with the state locked; afterwards, with the lock given back, wakes the threads that [`Threads::news`]
    /// names.
    fn with<R>(&mut self, f: impl FnOnce(&mut Self::State) -> R) -> R;
    /// Whether no other thread is after the lock, so that it may be kept between polls.
    fn is_alone() -> bool;
    /// Whether another thread waits for the lock right now.
    fn is_wanted() -> bool;
    /// Counts how often threads other than the progress thread have had the state by the mutex.
    fn visits(&self) -> u32;
    /// The waiting threads.
    fn threads(state: &mut Self::State) -> &mut Threads<Self::Interest>;
    /// Advances everything once; whether anything happened, which it has reported to [`Threads::changed`].
    fn progress(state: &mut Self::State) -> bool;
    /// Whether a call of the program is due, which is made with the state unlocked.
    fn call_is_due(state: &Self::State) -> bool;
    /// Makes that call, if there is one.
    fn call(&mut self);
    /// Whether something wants another turn soon, so that no thread may sleep.
    fn wants_turn(state: &Self::State) -> bool;
    /// Announces a sleep; `None`: there is nothing to sleep on.
    fn arm(state: &mut Self::State) -> Option<Self::Armed>;
    /// Whether the announcement does not stand for all that is waited for any more. Asked after the poll that follows it,
    /// if nothing happened there.
    fn must_arm_again(state: &Self::State) -> bool;
    /// Takes the announcement back.
    fn disarm(state: &mut Self::State);
    /// Whether peers may end without any word of it.
    fn must_look_for_losses(state: &Self::State) -> bool;
    /// Looks for such; whether something was found, which progress takes.
    fn look_for_losses(state: &mut Self::State) -> bool;
    /// After which time waits are shown; `None`: nothing would see them.
    fn shows_after() -> Option<Duration>;
    /// Shows a wait that began at `since`, with the state unlocked; `None`: not now.
    fn show(
        &mut self,
        since: Instant,
        why: impl FnMut(&mut Self::State) -> Self::Reason,
    ) -> Option<Self::Shown>;
    /// A wait is shown no more.
    fn hide(state: &mut Self::State, shown: Self::Shown);
    /// Sleeps on what was armed, until it is rung, `deadline` passes, or for no reason.
    fn sleep(&self, armed: Self::Armed, deadline: Option<Instant>);
    /// Sleeps while `word` has `value`, until it is woken, `deadline` passes, or for no reason.
    fn sleep_parked(&self, word: &AtomicU32, value: u32, deadline: Option<Instant>);
}

/// Time between two looks for losses.
pub const LOOK: Duration = Duration::from_millis(500);

/// Polls in which something happened, after which a thread sees whether it is time for a look: it may never get nothing.
const SERVED: u32 = 1 << 12;

/// A look of the caller's own, out of the sleep as well, for what nothing announces: whether it has found something, which
/// `ready` takes.
pub type Check<'c, S> = Option<&'c mut dyn FnMut(&mut S) -> bool>;

/// When a thread that waits looks for losses.
enum Looks {
    /// It has not waited for long yet.
    NotYet,
    /// Next time.
    At(Instant),
    /// Transports report them.
    Never,
}

impl Looks {
    fn next(&self) -> Option<Instant> {
        if let Looks::At(at) = self { Some(*at) } else { None }
    }

    /// The thread is about to sleep, or was served for long.
    fn begin<H: Host>(&mut self, state: &H::State, check: &Check<'_, H::State>) {
        if let Looks::NotYet = self {
            let must = check.is_some() || H::must_look_for_losses(state);
            *self = if must { Looks::At(Instant::now() + LOOK) } else { Looks::Never };
        }
    }

    /// Looks, if it is time for that; whether something was found.
    fn look<H: Host>(&mut self, host: &mut H, check: &mut Check<'_, H::State>) -> bool {
        let Some(at) = self.next() else { return false };
        let now = Instant::now();
        if now < at {
            return false;
        }
        *self = Looks::At(now + LOOK);
        host.with(|state| {
            let is_found = check.as_mut().is_some_and(|check| check(state));
            (H::must_look_for_losses(state) && H::look_for_losses(state)) || is_found
        })
    }
}

/// How a thread shows what it waits for, once it has waited for long.
struct Display<H: Host> {
    /// When it first was about to sleep.
    since: Option<Instant>,
    /// When to show it: once it has slept for some time, whatever woke it before; `None`: never, or it is shown.
    next: Option<Instant>,
    shown: Option<H::Shown>,
}

impl<H: Host> Display<H> {
    fn new() -> Display<H> {
        Display { since: None, next: None, shown: None }
    }

    /// The thread is about to sleep.
    fn begin(&mut self) {
        if let Some(after) = H::shows_after() {
            let now = Instant::now();
            self.since.get_or_insert(now);
            self.next = Some(now + after);
        }
    }

    /// Shows the wait, if it is time for that.
    fn show(&mut self, host: &mut H, why: impl FnMut(&mut H::State) -> H::Reason) {
        let (Some(since), Some(next)) = (self.since, self.next) else { return };
        if Instant::now() < next {
            return;
        }
        self.shown = host.show(since, why);
        match self.shown {
            Some(_) => self.next = None,
            None => self.begin(),
        }
    }

    /// The thread goes on, or asks whether it may.
    fn hide(&mut self, state: &mut H::State) {
        if let Some(shown) = self.shown.take() {
            H::hide(state, shown);
        }
    }
}

/// The earliest of some moments.
fn earliest<const N: usize>(moments: [Option<Instant>; N]) -> Option<Instant> {
    moments.into_iter().flatten().min()
}

/// How a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How<I> {
    /// What it waits for comes by any thread's progress, and is announced: another thread may poll for it.
    Parked(I),
    /// Only its own polling moves what it waits for.
    Active,
}

/// Waits until `ready` gives a result, making progress meanwhile. `why`: what it waits for.
#[inline]
pub fn wait<H: Host, R>(
    host: &mut H,
    policy: Policy,
    how: How<H::Interest>,
    why: impl FnMut(&mut H::State) -> H::Reason,
    ready: impl FnMut(&mut H::State) -> Option<R>,
) -> R
where
    H::Interest: Clone,
{
    wait_checked(host, policy, how, None, why, ready)
}

/// As [`wait`], with looks of the caller's own.
#[inline]
pub fn wait_checked<H: Host, R>(
    host: &mut H,
    policy: Policy,
    how: How<H::Interest>,
    check: Check<'_, H::State>,
    why: impl FnMut(&mut H::State) -> H::Reason,
    ready: impl FnMut(&mut H::State) -> Option<R>,
) -> R
where
    H::Interest: Clone,
{
    match run(host, policy, how, None, check, why, ready) {
        Some(result) => result,
        None => unreachable!("a wait without a deadline ends with a result"),
    }
}

/// What one stretch under the lock came to.
enum Stretch<I, R> {
    Over(R),
    Park(Arc<Parked<I>>),
    Call,
    /// Polled once.
    Polled {
        happened: bool,
    },
    /// Polled often, and each time something happened that is not waited for.
    Served,
    /// Polled as long as that is worth while.
    Nothing,
}

/// As [`wait`], until `deadline` at the latest; `None`: it passed.
#[inline]
pub fn wait_until<H: Host, R>(
    host: &mut H,
    policy: Policy,
    how: How<H::Interest>,
    deadline: Option<Instant>,
    why: impl FnMut(&mut H::State) -> H::Reason,
    ready: impl FnMut(&mut H::State) -> Option<R>,
) -> Option<R>
where
    H::Interest: Clone,
{
    run(host, policy, how, deadline, None, why, ready)
}

#[inline]
fn run<H: Host, R>(
    host: &mut H,
    policy: Policy,
    how: How<H::Interest>,
    deadline: Option<Instant>,
    mut check: Check<'_, H::State>,
    mut why: impl FnMut(&mut H::State) -> H::Reason,
    mut ready: impl FnMut(&mut H::State) -> Option<R>,
) -> Option<R>
where
    H::Interest: Clone,
{
    let mut waiter = Waiter::new(policy);
    let (mut role, mut looks, mut served) = (false, Looks::NotYet, 0_u32);
    let mut display = Display::new();
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    loop {
        let step = host.with(|state| {
            loop {
                if let Some(result) = ready(state) {
                    H::threads(state).leave(&mut role);
                    return Stretch::Over(result);
                }
                if let (How::Parked(interest), false) = (&how, role) {
                    let threads = H::threads(state);
                    role = threads.take_role();
                    if !role {
                        return Stretch::Park(threads.park(interest.clone()));
                    }
                }
                let happened = H::progress(state);
                if happened {
                    waiter.restart();
                    served = served.wrapping_add(1);
                }
                if H::call_is_due(state) {
                    break;
                }
                if happened && served.is_multiple_of(SERVED) {
                    return Stretch::Served;
                }
                if !H::is_alone() {
                    // What was completed is announced when the lock is given back, and others get it.
                    return Stretch::Polled { happened };
                }
                if !happened && waiter.idle() {
                    return Stretch::Nothing;
                }
            }
            // The program's function may take long: another thread polls meanwhile.
            H::threads(state).leave(&mut role);
            Stretch::Call
        });
        match step {
            Stretch::Over(result) => return Some(result),
            Stretch::Park(parked) => {
                park(host, &parked, policy, deadline, &mut display, &mut why);
                if is_late() {
                    return host.with(|state| give_up::<H, R>(state, &mut role, &mut ready, Some(&parked)));
                }
            }
            Stretch::Call => host.call(),
            Stretch::Served => {
                host.with(|state| looks.begin::<H>(state, &check));
                looks.look(host, &mut check);
            }
            Stretch::Polled { happened } if happened || !waiter.idle() => {
                if H::is_wanted() {
                    give_way();
                }
            }
            Stretch::Polled { .. } | Stretch::Nothing => {
                looks.look(host, &mut check);
                let timers = (&mut looks, &mut display, &mut check);
                if let Some(result) = sleep(host, &mut role, deadline, timers, &mut why, &mut ready) {
                    return Some(result);
                }
                if is_late() {
                    return host.with(|state| give_up::<H, R>(state, &mut role, &mut ready, None));
                }
                waiter.restart();
            }
        }
    }
}

/// The deadline has passed: looks once more, and leaves nothing behind.
#[cold]
fn give_up<H: Host, R>(
    state: &mut H::State,
    role: &mut bool,
    ready: &mut impl FnMut(&mut H::State) -> Option<R>,
    parked: Option<&Arc<Parked<H::Interest>>>,
) -> Option<R> {
    let result = ready(state);
    let threads = H::threads(state);
    if let Some(parked) = parked {
        threads.forget(parked);
    }
    threads.leave(role);
    result
}

/// Part of the time that a poller spins after which a parked thread sleeps: it has a core of its own less often.
const SHORTER: u32 = 16;

/// Waits until another thread wakes this one.
fn park<H: Host>(
    host: &mut H,
    parked: &Parked<H::Interest>,
    policy: Policy,
    deadline: Option<Instant>,
    display: &mut Display<H>,
    why: &mut impl FnMut(&mut H::State) -> H::Reason,
) {
    let mut waiter = Waiter::new(Policy { spin: policy.spin / SHORTER, ..policy });
    while !parked.is_woken() {
        if waiter.idle() {
            display.begin();
            loop {
                let until = earliest([deadline, display.next]);
                parked.sleep(until, |word, value| host.sleep_parked(word, value, until));
                if parked.is_woken() || deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    break;
                }
                display.show(host, &mut *why);
            }
            break;
        }
    }
    if display.shown.is_some() {
        host.with(|state| display.hide(state));
    }
}

/// Sleeps until a ring of the doorbell, unless something is there after all; the result, if it came meanwhile.
fn sleep<H: Host, R>(
    host: &mut H,
    role: &mut bool,
    deadline: Option<Instant>,
    (looks, display, check): (&mut Looks, &mut Display<H>, &mut Check<'_, H::State>),
    why: &mut impl FnMut(&mut H::State) -> H::Reason,
    ready: &mut impl FnMut(&mut H::State) -> Option<R>,
) -> Option<R> {
    enum Nap<A, R> {
        Over(R),
        Again,
        Nothing,
        Sleep(A),
    }
    let nap = host.with(|state| {
        looks.begin::<H>(state, check);
        let armed = if H::wants_turn(state) { None } else { H::arm(state) };
        let Some(armed) = armed else { return Nap::Nothing };
        H::threads(state).falls_asleep();
        // The poll between arming and sleeping: whatever was sent before the word changed is seen here.
        let happened = H::progress(state);
        let result = ready(state);
        let awake = happened || H::call_is_due(state) || H::wants_turn(state) || H::must_arm_again(state);
        if !awake && result.is_none() {
            return Nap::Sleep(armed);
        }
        wake_up::<H>(state);
        match result {
            Some(result) => {
                H::threads(state).leave(role);
                Nap::Over(result)
            }
            None => Nap::Again,
        }
    });
    match nap {
        Nap::Over(result) => Some(result),
        Nap::Again => None,
        Nap::Nothing => {
            give_way();
            None
        }
        Nap::Sleep(armed) => {
            display.begin();
            // Whatever has rung meanwhile ends the next of these sleeps at once.
            loop {
                let timer = earliest([looks.next(), display.next]);
                host.sleep(armed, earliest([deadline, timer]));
                let Some(timer) = timer else { break };
                let now = Instant::now();
                if now < timer || deadline.is_some_and(|deadline| deadline <= now) || looks.look(host, check)
                {
                    break;
                }
                display.show(host, &mut *why);
            }
            host.with(|state| {
                display.hide(state);
                wake_up::<H>(state);
            });
            None
        }
    }
}

/// This thread no longer sleeps on the doorbell; others may.
pub(crate) fn wake_up<H: Host>(state: &mut H::State) {
    if H::threads(state).wakes_up() {
        H::disarm(state);
    }
}
