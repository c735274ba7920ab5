//! Waiting on the library's state: [`waiting`]'s loop with the engine's lock, progress and doorbell.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use btl::Sleep;
use observe::{Blocked, Need, Part, Wait};
use platform::waiter::Policy;
use pml::ReqId;
use waiting::{Host, How, Mode, Threads};

use crate::domain::{Owner, Token};
use crate::outside::see_to_connections;

/// What a parked thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// The end of a request of the message layer.
    Request(ReqId),
    /// Something that may come of any change.
    Change,
}

/// What waiting needs of the state.
pub trait Progress: Owner {
    /// The waiting threads.
    fn threads(&mut self) -> &mut Threads<Interest>;
    /// How waits spend their time.
    fn policy(&self) -> Policy;
    /// Advances everything once; whether anything happened, which it has reported to [`Threads::changed`].
    fn progress(&mut self) -> bool;
    /// Whether a call of the program is due, which is made with the state unlocked.
    fn call_is_due(&self) -> bool;
    /// Makes that call, if there is one.
    fn call(token: &mut Token<Self>);
    /// Whether something wants another turn soon, so that no thread may sleep.
    fn wants_turn(&self) -> bool;
    /// Announces a sleep; see `btl::Btl::arm`.
    fn arm(&mut self) -> Option<Sleep>;
    /// Whether that announcement does not suffice any more; see `btl::Btl::must_arm_again`.
    fn must_arm_again(&self) -> bool;
    /// Takes the announcement back.
    fn disarm(&mut self);
    /// Whether peers may end without any word of it; see `btl::Btl::must_look_for_losses`.
    fn must_look_for_losses(&self) -> bool;
    /// Looks for such; whether something was found, which progress takes.
    fn look_for_losses(&mut self) -> bool;
    /// Whether nothing that this process has sent is still under way to others: what it waits for then depends on what
    /// others do, and on nothing that it does itself.
    fn is_settled(&self) -> bool;
    /// Writes what this process has counted and what is not done to where others see it.
    fn show(&self, section: &observe::Section);
    /// What a wait for a request of the message layer is for.
    fn request(&self, id: ReqId) -> Reason;
    /// The collective calls that have begun and are not over, but for those that a blocking wait goes on with: they go on in whatever
    /// the threads of this process wait.
    fn begun(&self) -> Vec<Part>;
}

/// What a wait is for, for the launcher to see (`observe`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// The call, as programs name it, where no other name is found for it.
    pub call: &'static str,
    /// How many of the parts are needed.
    pub need: Need,
    /// What it is for.
    pub parts: Vec<Part>,
}

impl Reason {
    /// See [`Part::outside`].
    pub fn outside() -> Reason {
        Reason { call: "", need: Need::All, parts: vec![Part::outside()] }
    }
}

impl<S: Progress> Host for Token<S> {
    type State = S;
    type Interest = Interest;
    type Armed = Sleep;
    type Reason = Reason;
    /// The slot; see [`observe::Section::begin_wait`].
    type Shown = Option<usize>;

    #[inline(always)]
    fn with<R>(&mut self, f: impl FnOnce(&mut S) -> R) -> R {
        f(&mut self.lock())
    }

    #[inline(always)]
    fn is_alone() -> bool {
        S::domain().is_alone()
    }

    fn is_wanted() -> bool {
        S::domain().lock().is_wanted()
    }

    fn visits(&self) -> u32 {
        S::domain().visits()
    }

    #[inline(always)]
    fn threads(state: &mut S) -> &mut Threads<Interest> {
        state.threads()
    }

    #[inline(always)]
    fn progress(state: &mut S) -> bool {
        state.progress()
    }

    #[inline(always)]
    fn call_is_due(state: &S) -> bool {
        state.call_is_due()
    }

    fn call(&mut self) {
        S::call(self);
    }

    fn wants_turn(state: &S) -> bool {
        state.wants_turn()
    }

    fn arm(state: &mut S) -> Option<Sleep> {
        state.arm()
    }

    fn must_arm_again(state: &S) -> bool {
        state.must_arm_again()
    }

    fn disarm(state: &mut S) {
        state.disarm();
    }

    fn must_look_for_losses(state: &S) -> bool {
        state.must_look_for_losses()
    }

    fn look_for_losses(state: &mut S) -> bool {
        state.look_for_losses()
    }

    fn shows_after() -> Option<Duration> {
        observe::own().map(|_| observe::QUIET)
    }

    #[cold]
    fn show(&mut self, since: Instant, mut why: impl FnMut(&mut S) -> Reason) -> Option<Option<usize>> {
        let section = observe::own()?;
        // The loader's lock may be taken for this, which another thread may have that waits for the state.
        let (frames, origins) = way(section);
        let mut state = self.lock();
        state.show(section);
        if !state.is_settled() {
            return None;
        }
        section.show_begun(&state.begun());
        let Reason { call, need, parts } = why(&mut state);
        let waited = since.elapsed().as_nanos() as u64;
        let wait = Wait {
            thread: platform::thread::kernel_id(),
            since: platform::clock::nanoseconds().saturating_sub(waited),
            call: call.to_owned(),
            frames,
            origins,
            need,
            parts,
        };
        Some(section.begin_wait(&wait))
    }

    fn hide(_state: &mut S, slot: Option<usize>) {
        if let Some(section) = observe::own() {
            section.end_wait(slot);
        }
    }

    fn sleep(&self, armed: Sleep, deadline: Option<Instant>) {
        match armed {
            Sleep::Word { address, expected } => sleep_on(address, expected, deadline),
            Sleep::Descriptor(fd) => {
                let limit = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                platform::descriptor::wait_readable(fd, limit);
            }
        }
    }

    fn sleep_parked(&self, word: &std::sync::atomic::AtomicU32, value: u32, deadline: Option<Instant>) {
        sleep_on(word.as_ptr() as usize, value, deadline);
    }
}

/// The way to where the calling thread is ([`frames`]), and where what its call is about began, as far as a tool has set that.
fn way(section: &observe::Section) -> (Vec<u64>, Vec<u64>) {
    /// Several threads may come here, and the table of modules has one writer.
    static ONE: Mutex<()> = Mutex::new(());
    let (frames, origins) = (frames(), observe::call_origins());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    frames.iter().chain(&origins).for_each(|&address| section.note_address(address));
    (frames, origins)
}

/// Where the calling thread is: the innermost frame of the library that the program has called, then those of the program. In
/// a program that holds the library itself, all.
fn frames() -> Vec<u64> {
    /// Frames of the library that may lie before those of the program.
    const OWN: usize = 48;
    let mut frames = platform::stack::return_addresses(OWN + observe::FRAMES);
    let is_own =
        platform::image::module_at(self::frames as *const () as u64).filter(|module| module.is_library);
    if let Some(own) = is_own {
        let inside = frames.iter().take_while(|&frame| own.range.contains(frame)).count();
        frames.drain(..inside.saturating_sub(1));
    }
    frames.truncate(observe::FRAMES);
    frames
}

/// Leaves where the calling thread is, whose call of MPI ends the job: the launcher names the place.
#[cold]
pub fn note_failed_call() {
    if let Some(section) = observe::own() {
        let (frames, origins) = way(section);
        section.note_failure(&frames, &origins);
    }
}

/// Sleeps on a futex word until it is woken or `deadline` passes.
fn sleep_on(word: usize, value: u32, deadline: Option<Instant>) {
    match deadline {
        None => platform::futex::wait(word, value),
        Some(deadline) => {
            platform::futex::wait_for(word, value, deadline.saturating_duration_since(Instant::now()));
        }
    }
}

/// Waits until `ready` gives a result, making progress meanwhile.
#[inline]
pub fn wait<S: Progress, R>(
    t: &mut Token<S>,
    how: How<Interest>,
    why: impl FnMut(&mut S) -> Reason,
    ready: impl FnMut(&mut S) -> Option<R>,
) -> R {
    blocked(t, |t, policy| waiting::wait(t, policy, how, why, ready))
}

/// As [`wait`]; now and then, also out of its sleep, `check` looks for what nothing announces: whether it has found something,
/// which `ready` takes.
pub fn wait_checked<S: Progress, R>(
    t: &mut Token<S>,
    how: How<Interest>,
    check: &mut dyn FnMut(&mut S) -> bool,
    why: impl FnMut(&mut S) -> Reason,
    ready: impl FnMut(&mut S) -> Option<R>,
) -> R {
    blocked(t, |t, policy| waiting::wait_checked(t, policy, how, Some(check), why, ready))
}

/// As [`wait`], until `deadline` at the latest; `None`: it passed.
pub fn wait_until<S: Progress, R>(
    t: &mut Token<S>,
    how: How<Interest>,
    deadline: Instant,
    why: impl FnMut(&mut S) -> Reason,
    ready: impl FnMut(&mut S) -> Option<R>,
) -> Option<R> {
    blocked(t, |t, policy| waiting::wait_until(t, policy, how, Some(deadline), why, ready))
}

/// Makes a wait, with what each one has before and after it.
#[inline(always)]
fn blocked<S: Progress, R>(t: &mut Token<S>, wait: impl FnOnce(&mut Token<S>, Policy) -> R) -> R {
    let _pin = Pin::<S>::of(t);
    let _blocked = Blocked::begin();
    let policy = t.lock().policy();
    let result = wait(t, policy);
    see_to_connections(t);
    result
}

/// Keeps all threads on the mutex while one waits that may call MPI beside the one of the program, so that each wakes the
/// other.
struct Pin<S: Owner>(std::marker::PhantomData<S>);

impl<S: Owner> Pin<S> {
    #[inline(always)]
    fn of(token: &Token<S>) -> Option<Pin<S>> {
        if token.is_only() || S::domain().mode() != Mode::Running {
            return None;
        }
        S::domain().lock().pin();
        Some(Pin(std::marker::PhantomData))
    }
}

impl<S: Owner> Drop for Pin<S> {
    fn drop(&mut self) {
        S::domain().lock().unpin();
    }
}
