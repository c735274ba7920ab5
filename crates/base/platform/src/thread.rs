//! Which thread calls, and threads of the library.

/// A number that no other thread of the process has while this one lives; never 0.
pub fn current() -> usize {
    // SAFETY: pthread_self has no precondition and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

/// The kernel's number of the calling thread, in the process's own pid namespace.
pub fn kernel_id() -> i32 {
    // SAFETY: no arguments, and it cannot fail.
    unsafe { libc::gettid() }
}

/// Runs `start` with all signals blocked, so that a thread started by it never runs the program's handlers.
pub fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are plain data that the calls fill; the mask is put back as it was.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
        started
    }
}

/// Starts a thread of the library's own, which takes no signals and ends with the process or before.
///
/// # Errors
/// The system's error.
pub fn start(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name(name.into()).stack_size(STACK);
    without_signals(|| builder.spawn(body)).map(drop)
}

/// Stack of a thread that [`start`] starts, in bytes; touched only as far as it is used.
const STACK: usize = 1 << 20;

/// Bytes of the calling thread's stack; `None`: no limit, or none that is known.
pub fn stack_bytes() -> Option<u64> {
    // SAFETY: no arguments.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    if is_main {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the place for the answer lives.
        let asked = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
        return (asked == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur);
    }
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the call fills the attributes of a thread that lives, this one.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let mut bytes = 0;
    // SAFETY: the attributes were filled above; they are given back once.
    let asked = unsafe {
        let asked = libc::pthread_attr_getstacksize(attributes.as_ptr(), &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        asked
    };
    (asked == 0).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn threads_have_numbers_of_their_own() {
        let mine = super::current();
        assert_ne!(mine, 0);
        assert_eq!(mine, super::current());
        assert_ne!(mine, std::thread::spawn(super::current).join().unwrap());
    }
}
