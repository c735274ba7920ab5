//! Which thread may touch the library's state, and when.
//!
//! Entering MPI yields a [`Token`]; [`Token::lock`] borrows it for as long as the [`Guard`] lives. Code that
//! calls the user (reduction functions, attribute callbacks, generalized requests) takes `&mut Token`, so a
//! call-out with the state locked does not compile. [`waiting::Lock`] locks the state: by two plain words
//! where one thread calls MPI, by a mutex where several may.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use abi::{Error, Result};
use node::wakeup::Bell;
use platform::Blocking;
use waiting::{Exclusive, Held, Lock, Mode, Twice, Wakes};

use crate::outside::Workers;
use crate::wait::Interest;

/// The state behind the guard, as the engine sees it.
pub trait Owner: Sized + 'static {
    /// The one domain of this state.
    fn domain() -> &'static Domain<Self>;
    /// The state of a library that is loaded and not initialised.
    fn create() -> Self;
    /// The threads to wake for what was completed since the last call, and the doorbell that the others sleep on.
    /// Called before the state is given back where several threads may wait.
    fn news(&mut self) -> Option<News>;
}

/// Threads to be woken once the state is given back.
#[derive(Debug)]
pub struct News {
    /// The parked threads to wake.
    pub wakes: Wakes<Interest>,
    /// What threads of this process sleep on that are not parked.
    pub bell: Bell,
}

impl News {
    fn announce(self) {
        if self.wakes.doorbell {
            self.bell.wake_own();
        }
        self.wakes.run(|word| platform::futex::wake(word.as_ptr() as usize, 1));
    }
}

/// No helper thread for connections.
const NO_HELP: u32 = 0;
/// There is one.
const HELP: u32 = 1;
/// A thread starts or ends it just now.
const CHANGING: u32 = 2;

/// A state with its lock; a static of the crate that owns the state.
pub struct Domain<S> {
    lock: Lock,
    create: Once,
    /// The only thread that may call MPI, as [`platform::thread::current`] names it; 0: there may be several.
    only: AtomicUsize,
    /// How often threads other than the progress thread have had the state by the mutex. Written under the mutex.
    visits: AtomicU32,
    workers: Workers,
    /// Whether the helper thread is there for connections that are being made: [`NO_HELP`], [`HELP`], or [`CHANGING`].
    help: AtomicU32,
    state: UnsafeCell<MaybeUninit<S>>,
}

// SAFETY: the content is created once under `create` and reached only through a guard, of which one exists at a time:
// `lock` sees to it. The state moves between threads with the guard, as behind a mutex; what it holds of raw addresses is
// the program's, whose contract (MPI-5.0 section 11.6) lets any thread use it.
unsafe impl<S> Sync for Domain<S> {}

impl<S> Domain<S> {
    /// The domain of a state that is not created yet.
    pub const fn new() -> Domain<S> {
        Domain {
            lock: Lock::new(),
            create: Once::new(),
            only: AtomicUsize::new(0),
            visits: AtomicU32::new(0),
            workers: Workers::new(),
            help: AtomicU32::new(NO_HELP),
            state: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Where the library stands.
    pub fn mode(&self) -> Mode {
        self.lock.mode()
    }

    /// Whether one thread calls MPI and no other asks for the state.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.lock.is_plain()
    }

    /// How often threads other than the progress thread have had the state by the mutex.
    pub(crate) fn visits(&self) -> u32 {
        self.visits.load(Relaxed)
    }

    #[inline(always)]
    pub(crate) fn helps_to_connect(&self) -> bool {
        self.help.load(Relaxed) == HELP
    }

    /// Has one thread change whether there is help, by `change`, which returns whether there is afterwards. Threads
    /// that come meanwhile, or where it is not as in `from` any more, leave it as it is.
    pub(crate) fn change_help(&self, from: bool, change: impl FnOnce() -> bool) {
        let before = if from { HELP } else { NO_HELP };
        // Relaxed: what is changed has locks of its own.
        if self.help.compare_exchange(before, CHANGING, Relaxed, Relaxed).is_ok() {
            let helps = change();
            self.help.store(if helps { HELP } else { NO_HELP }, Relaxed);
        }
    }

    /// The library is finalized, and its helper ends.
    pub(crate) fn end_help(&self) {
        self.help.store(NO_HELP, Relaxed);
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// The lock alone.
    #[inline(always)]
    pub(crate) fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Whether no other thread asks for the state: where the plain way is open, none does, by whatever way this one has it.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.lock().is_plain()
    }

    /// The library is initialised, with one thread that calls MPI at a time (`Mode::Running`) or several, or it is
    /// finalized. `only`: no thread but the calling one may ever call MPI.
    pub fn set_mode(&self, mode: Mode, only: bool) {
        if mode == Mode::Running && !platform::membarrier::register_private() {
            // Without it the plain way cannot be revoked, so it stays closed.
            self.lock.pin();
        }
        self.only.store(if only { platform::thread::current() } else { 0 }, Relaxed);
        self.lock.exclusive().set_mode(mode);
    }

    /// The state.
    ///
    /// # Safety
    /// The caller has the lock and gives it back after the last use of the reference. The state was created: that happens
    /// before the library runs, or by `enter_any` before it gives the token.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the lock beside the cell makes the reference the only one")]
    unsafe fn state(&'static self) -> &'static mut S {
        // SAFETY: the caller's promise.
        unsafe { (*self.state.get()).assume_init_mut() }
    }
}

impl<S> Default for Domain<S> {
    fn default() -> Domain<S> {
        Domain::new()
    }
}

impl<S> std::fmt::Debug for Domain<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Domain").field("lock", &self.lock).finish_non_exhaustive()
    }
}

/// Proof that the calling thread is inside MPI and holds nothing locked.
#[derive(Debug)]
pub struct Token<S> {
    caller: Caller,
    marker: PhantomData<*mut S>,
}

/// The thread that has a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Caller {
    /// The thread level lets no other thread make the call that the token was given for.
    Only,
    /// One of several threads.
    Any,
    /// The thread that makes progress while the program is away.
    ProgressThread,
}

/// Enters MPI where it must be initialised and not finalized.
///
/// # Errors
/// `MPI_ERR_OTHER` before initialisation and after finalization.
#[inline(always)]
pub fn enter<S: Owner>() -> Result<Token<S>> {
    if S::domain().lock.is_running() {
        Ok(Token { caller: Caller::Only, marker: PhantomData })
    } else {
        Err(outside(S::domain().mode()))
    }
}

#[cold]
fn outside(mode: Mode) -> Error {
    if mode == Mode::Forked {
        waiting::in_forked_child();
    }
    Error::new(
        abi::ERR_OTHER,
        if mode == Mode::Before {
            "MPI was called before MPI_Init or MPI_Session_init"
        } else {
            "MPI was called after MPI_Finalize"
        },
    )
}

/// Closes MPI in children that the program forks while it is initialised: a call there ends the child with a message.
/// To be called once per process.
pub fn close_in_children<S: Owner>() {
    extern "C" fn forked<S: Owner>() {
        S::domain().lock.forked();
    }
    platform::fork::in_child(forked::<S>);
}

/// Enters MPI at any time, by any thread (MPI-5.0 section 11.4.1 lists the functions that may).
pub fn enter_any<S: Owner>() -> Token<S> {
    let domain = S::domain();
    domain.create.call_once(|| {
        // SAFETY: `Once` runs this exactly once, before any guard can exist (guards need a token, and the only
        // other source of tokens, `enter`, needs a mode that is set after creation).
        unsafe { (*domain.state.get()).write(S::create()) };
    });
    let only = domain.only.load(Relaxed) == platform::thread::current();
    Token { caller: if only { Caller::Only } else { Caller::Any }, marker: PhantomData }
}

/// Enters MPI and locks the state by the plain way: initialised, below `MPI_THREAD_MULTIPLE`, and no other thread
/// inside. For the fast paths, which leave everything unusual to the ordinary way.
#[inline(always)]
pub fn enter_plain<S: Owner>() -> Option<PlainGuard<S>> {
    let domain = S::domain();
    if !domain.lock.try_plain() {
        return None;
    }
    // SAFETY: the plain way was taken, which the guard gives back when it is dropped; the library runs.
    Some(PlainGuard { state: unsafe { domain.state() } })
}

impl<S: Owner> Token<S> {
    /// The token of a thread of the library, which was started by one that had a token.
    pub(crate) fn of(caller: Caller) -> Token<S> {
        Token { caller, marker: PhantomData }
    }

    /// Proof that this thread has the state not locked, as long as it lives: for calls of the system that may block.
    #[expect(clippy::disallowed_methods, reason = "the token is borrowed, so no guard exists")]
    pub fn may_block(&mut self) -> Blocking<'_> {
        Blocking::vouch()
    }

    /// Whether the thread level lets no other thread make this call.
    #[inline(always)]
    pub(crate) fn is_only(&self) -> bool {
        self.caller == Caller::Only
    }

    /// Whether other threads may be inside MPI at the same time.
    #[inline(always)]
    pub fn multiple(&self) -> bool {
        !(self.is_only() && S::domain().lock.is_plain())
    }

    /// Locks the state for as long as the guard lives.
    #[inline(always)]
    pub fn lock(&mut self) -> Guard<'_, S> {
        let domain = S::domain();
        let exclusive = match domain.lock.lock(self.is_only()) {
            Ok(Held::Plain) => None,
            Ok(Held::Exclusive(exclusive)) => {
                if self.caller != Caller::ProgressThread {
                    domain.visits.store(domain.visits().wrapping_add(1), Relaxed);
                }
                Some(exclusive)
            }
            Err(Twice) => entered_twice(),
        };
        // SAFETY: the lock was taken, which the guard gives back when it is dropped; a token exists.
        Guard { state: unsafe { domain.state() }, exclusive, marker: PhantomData }
    }

    /// As [`Token::lock`], if the state is free: for a signal handler, which may have interrupted its owner.
    pub fn try_lock(&mut self) -> Option<Guard<'_, S>> {
        let domain = S::domain();
        let exclusive = if domain.lock.try_plain() { None } else { Some(domain.lock.try_exclusive()?) };
        // SAFETY: as in `lock`.
        Some(Guard { state: unsafe { domain.state() }, exclusive, marker: PhantomData })
    }
}

/// What a fast path did: everything or nothing.
///
/// A number and not a `bool`, since the entry point gets it: so a fast path can end with a jump to whatever is
/// rare, and needs no frame for it.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Attempt(i32);

impl Attempt {
    /// All there was to do.
    pub const DONE: Attempt = Attempt(0);
    /// Nothing, and the ordinary way is to be taken.
    pub const FULL_PATH: Attempt = Attempt(1);
    /// Nothing, and the reason is gone: another attempt will do.
    pub const RETRY: Attempt = Attempt(2);

    /// Nothing: the ordinary way is to be taken; for a caller that is not inside MPI yet, as [`PlainGuard::give_up`] in
    /// form.
    #[cold]
    #[inline(never)]
    pub fn full_path() -> Attempt {
        std::hint::black_box(Attempt::FULL_PATH)
    }

    /// The number that the entry point gets: 0 for [`Attempt::DONE`].
    #[inline(always)]
    pub const fn code(self) -> i32 {
        self.0
    }
}

/// The state, locked by the plain way.
pub struct PlainGuard<S: Owner> {
    state: &'static mut S,
}

impl<S: Owner> PlainGuard<S> {
    /// Ends a fast path that did nothing.
    #[inline(always)]
    pub fn give_up(self) -> Attempt {
        std::mem::forget(self);
        leave::<S>()
    }
}

/// Leaves MPI with nothing done. The result is hidden from the compiler, which would else return a constant of its own
/// after a call instead of jumping here.
#[cold]
#[inline(never)]
fn leave<S: Owner>() -> Attempt {
    S::domain().lock.leave_plain();
    std::hint::black_box(Attempt::FULL_PATH)
}

impl<S: Owner> Drop for PlainGuard<S> {
    #[inline(always)]
    fn drop(&mut self) {
        S::domain().lock.leave_plain();
    }
}

impl<S: Owner> Deref for PlainGuard<S> {
    type Target = S;
    #[inline(always)]
    fn deref(&self) -> &S {
        self.state
    }
}

impl<S: Owner> DerefMut for PlainGuard<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S {
        self.state
    }
}

/// The locked state.
pub struct Guard<'t, S: Owner> {
    state: &'static mut S,
    exclusive: Option<Exclusive<'static>>,
    marker: PhantomData<&'t mut Token<S>>,
}

impl<S: Owner> Drop for Guard<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        match self.exclusive.take() {
            None => S::domain().lock.leave_plain(),
            Some(exclusive) => give_back(self.state, exclusive),
        }
    }
}

/// Gives the state back where several threads may wait, and wakes those that wait for what was done: every completion,
/// by whatever call, passes here.
#[inline(never)]
fn give_back<S: Owner>(state: &mut S, exclusive: Exclusive<'static>) {
    let news = state.news();
    drop(exclusive);
    if let Some(news) = news {
        news.announce();
    }
}

impl<S: Owner> Deref for Guard<'_, S> {
    type Target = S;
    #[inline(always)]
    fn deref(&self) -> &S {
        self.state
    }
}

impl<S: Owner> DerefMut for Guard<'_, S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S {
        self.state
    }
}

#[cold]
fn entered_twice() -> ! {
    eprintln!(
        "alhena: two threads are inside MPI at once, at a thread level below MPI_THREAD_MULTIPLE\n\
         alhena: seen: a call began while another one was in progress\n\
         alhena: initialise with MPI_Init_thread(…, MPI_THREAD_MULTIPLE, …) and check the level it provides"
    );
    std::process::abort()
}
