//! The lock of the library's state.
//!
//! Below `MPI_THREAD_MULTIPLE` one thread at a time calls MPI, and its way in is a plain store and a load. But some
//! functions may be called by any thread at any time (MPI-5.0 section 11.4.1), and the library's own helper thread makes
//! progress. Such a thread first revokes the plain way:
//!
//! ```text
//!   the thread that calls MPI             another thread
//!   held = 1                              exclusive.lock()
//!   (compiler fence only)                 mode = Running | REVOKED
//!   mode == Running?                      membarrier: every thread of the process executes a full fence
//!     yes: inside                         wait until held == 0
//!     no:  held = 0, exclusive.lock()     inside
//!   …                                     …
//!   held = 0                              mode = Running, exclusive.unlock()
//! ```
//! Either the other thread sees `held`, or the first one sees `REVOKED`. While pins are out ([`Lock::pin`]) the plain way
//! stays closed, and all threads use the mutex.

use crate::sync::{AtomicU32, Mutex, MutexGuard, Ordering, fence, give_way};

/// Where the library stands between load and exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Mode {
    /// Neither `MPI_Init` nor a session yet.
    Before = 0,
    /// Initialised at a level below `MPI_THREAD_MULTIPLE`.
    Running = 1,
    /// Initialised at `MPI_THREAD_MULTIPLE`.
    Multiple = 2,
    /// Finalized for good.
    After = 3,
    /// A child that the program has forked while the library was initialised. Nothing of the library is its own.
    Forked = 8,
}

/// The plain way in is closed.
const REVOKED: u32 = 4;

/// The lock; see the module's documentation.
#[derive(Debug)]
pub struct Lock {
    /// A [`Mode`] and [`REVOKED`]. Changed only by a thread that holds `exclusive`, after a revocation.
    mode: AtomicU32,
    /// The thread that came by the plain way is inside. Written only by threads that try that way.
    held: AtomicU32,
    /// Reasons to keep the plain way closed.
    pins: AtomicU32,
    /// Threads that wait for `exclusive`.
    wanted: AtomicU32,
    exclusive: Mutex<()>,
}

/// A second thread came by the plain way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Twice;

/// How the state is held.
#[derive(Debug)]
pub enum Held<'l> {
    /// By the plain way; to be ended by [`Lock::leave_plain`].
    Plain,
    /// By the mutex.
    Exclusive(Exclusive<'l>),
}

/// The state is held by the mutex, until this is dropped.
#[derive(Debug)]
pub struct Exclusive<'l> {
    lock: &'l Lock,
    /// The plain way is to be opened again.
    revoked: bool,
    _mutex: MutexGuard<'l, ()>,
}

impl Lock {
    /// The lock of a library that is not initialised.
    #[cfg(not(loom))]
    pub const fn new() -> Lock {
        Lock {
            mode: AtomicU32::new(Mode::Before as u32),
            held: AtomicU32::new(0),
            pins: AtomicU32::new(0),
            wanted: AtomicU32::new(0),
            exclusive: Mutex::new(()),
        }
    }

    /// As the constant of ordinary builds.
    #[cfg(loom)]
    pub fn new() -> Lock {
        Lock {
            mode: AtomicU32::new(Mode::Before as u32),
            held: AtomicU32::new(0),
            pins: AtomicU32::new(0),
            wanted: AtomicU32::new(0),
            exclusive: Mutex::new(()),
        }
    }

    /// Where the library stands.
    #[inline(always)]
    pub fn mode(&self) -> Mode {
        match self.mode.load(Ordering::Relaxed) & !REVOKED {
            0 => Mode::Before,
            1 => Mode::Running,
            2 => Mode::Multiple,
            8 => Mode::Forked,
            _ => Mode::After,
        }
    }

    /// Whether the library is initialised and not finalized.
    #[inline(always)]
    pub fn is_running(&self) -> bool {
        let mode = self.mode.load(Ordering::Relaxed) & !REVOKED;
        mode.wrapping_sub(1) < 2
    }

    /// Whether the plain way is open: only one thread calls MPI, and no other wants in.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.mode.load(Ordering::Relaxed) == Mode::Running as u32
    }

    /// Takes the state by the plain way; `false`: that is closed, or a thread is inside.
    #[inline(always)]
    pub fn try_plain(&self) -> bool {
        if self.held.load(Ordering::Relaxed) != 0 {
            return false;
        }
        self.held.store(1, Ordering::Relaxed);
        light_fence();
        // Acquire: what the last thread wrote before it opened the plain way is visible.
        if self.mode.load(Ordering::Acquire) != Mode::Running as u32 {
            self.leave_plain();
            return false;
        }
        true
    }

    /// Ends what [`Lock::try_plain`] began.
    #[inline(always)]
    pub fn leave_plain(&self) {
        // Release: pairs with the Acquire of the thread that revokes.
        self.held.store(0, Ordering::Release);
    }

    /// Takes the state. `one_thread`: the caller is the only thread that may call MPI at this level, and so may come by
    /// the plain way; all others come by the mutex.
    ///
    /// # Errors
    /// [`Twice`]: another thread has come by the plain way already, although the thread level allows one only.
    #[inline]
    pub fn lock(&self, one_thread: bool) -> Result<Held<'_>, Twice> {
        if one_thread && self.is_plain() {
            if self.try_plain() {
                return Ok(Held::Plain);
            }
            if self.held.load(Ordering::Relaxed) != 0 && self.is_plain() {
                return Err(Twice);
            }
        }
        Ok(Held::Exclusive(self.exclusive()))
    }

    /// Takes the state by the mutex, and closes the plain way meanwhile.
    pub fn exclusive(&self) -> Exclusive<'_> {
        let mutex = match self.exclusive.try_lock() {
            Ok(mutex) => mutex,
            Err(_) => {
                if self.mode() == Mode::Forked {
                    in_forked_child();
                }
                self.wanted.fetch_add(1, Ordering::Relaxed);
                let mutex = self.exclusive.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                self.wanted.fetch_sub(1, Ordering::Relaxed);
                mutex
            }
        };
        let revoked = self.close_plain();
        while revoked && self.is_held() {
            give_way();
        }
        Exclusive { lock: self, revoked, _mutex: mutex }
    }

    /// As [`Lock::exclusive`], if no thread has the state.
    pub fn try_exclusive(&self) -> Option<Exclusive<'_>> {
        let mutex = self.exclusive.try_lock().ok()?;
        let exclusive = Exclusive { lock: self, revoked: self.close_plain(), _mutex: mutex };
        if self.is_held() { None } else { Some(exclusive) }
    }

    /// Closes the plain way to threads that come; whether it was open.
    fn close_plain(&self) -> bool {
        // Relaxed: the word changes under the mutex only.
        let open = self.mode.load(Ordering::Relaxed) == Mode::Running as u32;
        if open {
            self.mode.store(Mode::Running as u32 | REVOKED, Ordering::Relaxed);
            heavy_fence();
        }
        open
    }

    /// Whether a thread is on the plain way.
    fn is_held(&self) -> bool {
        // Acquire: what the thread on the plain way wrote is visible.
        self.held.load(Ordering::Acquire) != 0
    }

    /// Closes both ways for good in a child that the program has forked, if the library is initialised. The mutex, which
    /// stays locked from now on, makes threads that come look at the mode; so it costs the others nothing.
    pub fn forked(&self) {
        if self.is_running() {
            std::mem::forget(self.exclusive.try_lock());
            self.mode.store(Mode::Forked as u32, Ordering::Relaxed);
        }
    }

    /// Keeps the plain way closed from the next [`Exclusive`] on, until [`Lock::unpin`]: for a thread that comes again and
    /// again, or sleeps on what another thread completes.
    pub fn pin(&self) {
        self.pins.fetch_add(1, Ordering::Relaxed);
        drop(self.exclusive());
    }

    /// Takes one [`Lock::pin`] back.
    pub fn unpin(&self) {
        let inside = self.exclusive();
        if self.pins.fetch_sub(1, Ordering::Relaxed) == 1
            && self.mode.load(Ordering::Relaxed) == Mode::Running as u32 | REVOKED
        {
            self.mode.store(Mode::Running as u32, Ordering::Release);
        }
        drop(inside);
    }

    /// Whether other threads wait for the mutex, so that one that takes it again and again yields in between.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }
}

#[cfg(not(loom))]
impl Default for Lock {
    fn default() -> Lock {
        Lock::new()
    }
}

impl Exclusive<'_> {
    /// The library enters another mode. A level that has risen to [`Mode::Multiple`] stays.
    pub fn set_mode(&mut self, mode: Mode) {
        let keep = self.lock.mode() == Mode::Multiple && mode == Mode::Running;
        if !keep {
            // Where the plain way is to be open from now on, it is opened when this is dropped.
            let closed = if mode == Mode::Running { REVOKED } else { 0 };
            self.lock.mode.store(mode as u32 | closed, Ordering::Relaxed);
            self.revoked = mode == Mode::Running;
        }
    }
}

impl Drop for Exclusive<'_> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: pins are taken before, and given back under, the mutex.
        if self.revoked && self.lock.pins.load(Ordering::Relaxed) == 0 {
            // Release: pairs with the Acquire of `try_plain`.
            self.lock.mode.store(Mode::Running as u32, Ordering::Release);
        }
    }
}

/// Ends a forked child that has called MPI. Most of the library's memory is not mapped here, its connections belong to the
/// parent, and its locks may be held by threads that are not here.
#[cold]
pub fn in_forked_child() -> ! {
    platform::fork::leave(
        "alhena: MPI was called in a forked child of a rank, which has been ended\n\
         alhena: seen: MPI was initialised before the fork, and the connections of the rank are its parent's\n\
         alhena: call MPI in the parent alone, fork before MPI_Init, or execute another program in the child\n",
        1,
    )
}

/// The fence of the thread on the plain way: none but the compiler's, since [`heavy_fence`] makes that thread execute one.
#[inline(always)]
fn light_fence() {
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// Makes every thread of the process execute a full fence.
fn heavy_fence() {
    #[cfg(not(loom))]
    if !platform::membarrier::private() {
        // A lock whose system has no membarrier is pinned from the start (`engine::domain`), and comes here once.
        fence(Ordering::SeqCst);
    }
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}
