//! Signals as events: blocked everywhere, read from a descriptor. No handler ever runs in the launcher.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The signals that users send to mpiexec and mpiexec passes on.
pub const FORWARDED: [i32; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
];

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Set(libc::sigset_t);

impl Set {
    /// No signal.
    pub fn empty() -> Set {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initializes the whole set and cannot fail.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            Set(set.assume_init())
        }
    }

    /// All signals.
    pub fn full() -> Set {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset initializes the whole set and cannot fail.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Set(set.assume_init())
        }
    }

    /// Adds `signal`.
    pub fn add(&mut self, signal: i32) {
        // SAFETY: the set is initialized; a bad number gives an error and changes nothing.
        unsafe { libc::sigaddset(&raw mut self.0, signal) };
    }

    /// Makes this the calling thread's mask of blocked signals and returns the mask before.
    /// Only system calls: it may be used in a child that shares its parent's memory.
    pub fn block(&self) -> Set {
        let mut before = Set::empty();
        // SAFETY: both sets are initialized and live during the call.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, &raw mut before.0) };
        before
    }
}

/// The forwarded signals that are not ignored. (`nohup` and shells without job control ignore some of them
/// on purpose.)
pub fn wanted() -> Set {
    let mut set = Set::empty();
    for signal in FORWARDED {
        if !is_ignored(signal) {
            set.add(signal);
        }
    }
    set
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null new action the call only fills `action`, which is writable.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Signals of a set as they arrive. They must be blocked.
pub struct Events(OwnedFd);

/// One signal.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its number.
    pub signal: i32,
    /// The process that caused it.
    pub pid: i32,
}

impl Events {
    /// Reads the signals of `set` from now on. The descriptor is close-on-exec and nonblocking.
    pub fn new(set: &Set) -> io::Result<Events> {
        // SAFETY: the set is initialized; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const set.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor with no other owner.
        Ok(Events(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that has arrived.
    pub fn next(&self) -> Option<Event> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = mem::size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is writable for `size` bytes, and any bytes are a valid value of that plain type.
        let info = unsafe {
            let got = libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size);
            if got != size as isize {
                return None;
            }
            info.assume_init()
        };
        Some(Event { signal: info.ssi_signo as i32, pid: info.ssi_pid as i32 })
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
