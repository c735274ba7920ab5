//! Which thread calls, and threads of the library.

/// A number that no other thread of the process has while this one lives; never 0.
pub fn current() -> usize {
    // SAFETY: pthread_self has no precondition and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

/// The kernel's number of the calling thread, in the process's own pid namespace. glibc has a function for it since 2.30 only.
pub fn kernel_id() -> i32 {
    // SAFETY: no arguments, and it cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
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

/// Bytes that the calling thread's stack may still grow by; `None`: no limit, none that is known, or the thread runs on a
/// stack that the program made itself.
///
/// What the system and the program laid on it before counts as used: arguments, environment, the frames of the callers
/// (so this function's own lies below them).
#[inline(never)]
pub fn stack_left() -> Option<usize> {
    let mark = 0_u8;
    let here = core::ptr::from_ref(core::hint::black_box(&mark)) as usize;
    let (lowest, top) = stack_range()?;
    (lowest..top).contains(&here).then(|| here - lowest)
}

/// The lowest address that the calling thread's stack may reach, and its end.
fn stack_range() -> Option<(usize, usize)> {
    // SAFETY: no arguments.
    if kernel_id() == unsafe { libc::getpid() } {
        return main_stack_range();
    }
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the call fills the attributes of a thread that lives, this one.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut lowest, mut bytes) = (core::ptr::null_mut(), 0);
    // SAFETY: the attributes were filled above; they are given back once.
    let asked = unsafe {
        let asked = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        asked
    };
    (asked == 0).then_some((lowest as usize, lowest as usize + bytes))
}

/// The name of the program's file lies on a main thread's stack topmost, below one word (`fs/exec.c` of Linux), and the limit
/// counts from the end of that word.
fn main_stack_range() -> Option<(usize, usize)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place for the answer lives.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    // SAFETY: any type of entry may be asked for; 0 stands for none.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
    if asked != 0 || limit.rlim_cur == libc::RLIM_INFINITY || name == 0 {
        return None;
    }
    // SAFETY: the entry, if it is there, is the address of a string that lives as long as the process.
    let length = unsafe { core::ffi::CStr::from_ptr(name as *const core::ffi::c_char) }.count_bytes();
    let top = name + length + 1 + size_of::<usize>();
    Some((top.saturating_sub(usize::try_from(limit.rlim_cur).ok()?), top))
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

    #[test]
    fn what_is_left_of_a_stack_shrinks_with_its_frames() {
        #[inline(never)]
        fn deep() -> usize {
            let frame = [1_u8; 64 << 10];
            core::hint::black_box(&frame);
            super::stack_left().unwrap()
        }
        let measure = || {
            let left = super::stack_left().unwrap();
            assert!(deep() + (64 << 10) <= left);
            left
        };
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(measure).unwrap();
        let left = thread.join().unwrap();
        // The system's library may give a thread the larger stack of one that has ended.
        assert!(left > 900 << 10, "{left} bytes are left of 1 MiB");
    }
}
