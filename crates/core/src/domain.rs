//! Who may touch the library's state, and when.
//!
//! Entering MPI yields a [`Token`]; [`Token::lock`] borrows it for as long as the [`Guard`] lives. Code that
//! calls the user (reduction functions, attribute callbacks, generalized requests) takes `&mut Token`, so a
//! call-out with the state locked does not compile. Below `MPI_THREAD_MULTIPLE` the guard costs one flag, which
//! finds programs that enter MPI from two threads all the same; at `MPI_THREAD_MULTIPLE` it is a lock.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, Once};

use abi::{Error, Result};

use crate::state::State;

/// Where the library stands between load and exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Phase {
    /// Neither `MPI_Init` nor a session yet.
    Before = 0,
    /// Initialised at a level below `MPI_THREAD_MULTIPLE`.
    Running = 1,
    /// Initialised at `MPI_THREAD_MULTIPLE`.
    RunningMultiple = 2,
    /// Finalized for good.
    After = 3,
}

/// The phase, and [`HELD`] while the state is locked below `MPI_THREAD_MULTIPLE`: one word, so that the straight
/// lines ask for both by one comparison.
static PHASE: AtomicU32 = AtomicU32::new(Phase::Before as u32);
const HELD: u32 = 4;
static LOCK: Mutex<()> = Mutex::new(());
static CREATE: Once = Once::new();
static STATE: Cell = Cell(UnsafeCell::new(MaybeUninit::uninit()));

struct Cell(UnsafeCell<MaybeUninit<State>>);

// SAFETY: the content is created once under `CREATE` and reached only through a `Guard`, of which one exists at
// a time: `LOCK` or the `HELD` flag sees to it.
unsafe impl Sync for Cell {}

/// Proof that the calling thread is inside MPI and holds nothing locked.
#[derive(Debug)]
pub struct Token {
    phase: u32,
    not_send: PhantomData<*mut ()>,
}

/// Enters MPI where it must be initialised and not finalized.
///
/// # Errors
/// `MPI_ERR_OTHER` before initialisation and after finalization.
#[inline(always)]
pub fn enter() -> Result<Token> {
    let phase = current();
    if phase.wrapping_sub(1) < 2 { Ok(Token { phase, not_send: PhantomData }) } else { Err(outside(phase)) }
}

#[cold]
fn outside(phase: u32) -> Error {
    Error::new(
        abi::ERR_OTHER,
        if phase == Phase::Before as u32 {
            "MPI was called before MPI_Init or MPI_Session_init"
        } else {
            "MPI was called after MPI_Finalize"
        },
    )
}

/// Enters MPI at any time (MPI-5.0 section 11.4.1 lists the functions that may).
pub fn enter_any() -> Token {
    CREATE.call_once(|| {
        // SAFETY: `Once` runs this exactly once, before any guard can exist (guards need a token, and the only
        // other source of tokens, `enter`, needs a phase that is set after creation).
        unsafe { (*STATE.0.get()).write(State::new()) };
    });
    Token { phase: current(), not_send: PhantomData }
}

/// The phase as a number.
#[inline(always)]
fn current() -> u32 {
    PHASE.load(Relaxed) & !HELD
}

/// Enters MPI and locks the state where one store does both: initialised, below `MPI_THREAD_MULTIPLE`, and
/// nobody else inside. For the straight lines, which leave everything unusual to the long way.
#[inline(always)]
pub(crate) fn enter_plain() -> Option<PlainGuard> {
    if PHASE.load(Relaxed) != Phase::Running as u32 {
        return None;
    }
    PHASE.store(Phase::Running as u32 | HELD, Relaxed);
    // SAFETY: the state was created before the phase was set; `HELD` makes this the only reference.
    Some(PlainGuard { state: unsafe { (*STATE.0.get()).assume_init_mut() } })
}

pub(crate) fn phase() -> Phase {
    match current() {
        0 => Phase::Before,
        1 => Phase::Running,
        2 => Phase::RunningMultiple,
        _ => Phase::After,
    }
}

pub(crate) fn set_phase(token: &mut Token, phase: Phase) {
    PHASE.store(phase as u32, Relaxed);
    token.phase = phase as u32;
}

impl Token {
    /// Whether other threads may be inside MPI at the same time.
    #[inline(always)]
    pub(crate) fn multiple(&self) -> bool {
        self.phase == Phase::RunningMultiple as u32
    }

    /// Locks the state for as long as the guard lives.
    #[inline(always)]
    pub(crate) fn lock(&mut self) -> Guard<'_> {
        let lock = if self.phase == Phase::Running as u32 {
            if PHASE.load(Relaxed) & HELD != 0 {
                entered_twice();
            }
            PHASE.store(Phase::Running as u32 | HELD, Relaxed);
            None
        } else {
            Some(LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
        };
        // SAFETY: a token exists, so the state was created; `LOCK` or `HELD` makes this the only reference.
        let state = unsafe { (*STATE.0.get()).assume_init_mut() };
        Guard { state, lock }
    }
}

/// What a straight line did: everything or nothing.
///
/// A number and not a `bool`, since it is what the entry point is told: so a line can end with a jump to whatever is
/// rare, and needs no frame for it.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Attempt(i32);

impl Attempt {
    /// All there was to do.
    pub const DONE: Attempt = Attempt(0);
    /// Nothing, and the long way is to be taken.
    pub const NOTHING: Attempt = Attempt(1);
    /// Nothing, and the reason is gone: another attempt will do.
    pub const AGAIN: Attempt = Attempt(2);

    /// Nothing: the long way is to be taken; for whoever is not inside MPI yet, as [`PlainGuard::give_up`] in form.
    #[cold]
    #[inline(never)]
    pub(crate) fn impossible() -> Attempt {
        std::hint::black_box(Attempt::NOTHING)
    }

    /// The number that the entry point gets: 0 for [`Attempt::DONE`].
    #[inline(always)]
    pub const fn code(self) -> i32 {
        self.0
    }
}

/// The locked state, below `MPI_THREAD_MULTIPLE`.
pub(crate) struct PlainGuard {
    state: &'static mut State,
}

impl PlainGuard {
    /// Ends a straight line that did nothing.
    #[inline(always)]
    pub fn give_up(self) -> Attempt {
        std::mem::forget(self);
        leave()
    }
}

/// Leaves MPI with nothing done. The result is hidden from the compiler, which would else return a constant of its own
/// after a call instead of jumping here.
#[cold]
#[inline(never)]
fn leave() -> Attempt {
    PHASE.store(Phase::Running as u32, Relaxed);
    std::hint::black_box(Attempt::NOTHING)
}

impl Drop for PlainGuard {
    #[inline(always)]
    fn drop(&mut self) {
        PHASE.store(Phase::Running as u32, Relaxed);
    }
}

impl Deref for PlainGuard {
    type Target = State;
    #[inline(always)]
    fn deref(&self) -> &State {
        self.state
    }
}

impl DerefMut for PlainGuard {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        self.state
    }
}

/// The locked state.
pub(crate) struct Guard<'t> {
    state: &'t mut State,
    lock: Option<MutexGuard<'static, ()>>,
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.lock.is_none() {
            PHASE.store(Phase::Running as u32, Relaxed);
        }
    }
}

impl Deref for Guard<'_> {
    type Target = State;
    #[inline(always)]
    fn deref(&self) -> &State {
        self.state
    }
}

impl DerefMut for Guard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
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
