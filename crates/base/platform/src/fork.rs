//! Children that the program forks.

/// Has `handler` run in each child that this process forks from now on, before `fork` returns there. (Not by
/// `posix_spawn`, `system` or `vfork`, whose children execute another program at once.) The child has one thread, and
/// locks that other threads held at the fork stay locked in it; so the handler takes none.
pub fn in_child(handler: extern "C" fn()) {
    // SAFETY: the function stays loaded, as this library does. Without memory for the entry it fails, and children
    // are as if it had not been called.
    unsafe { libc::pthread_atfork(None, None, Some(handler)) };
}

/// Writes `message` to standard error and ends this process with `code`, without running what the program and its
/// libraries have registered for the end of the process that forked it.
pub fn leave(message: &str, code: i32) -> ! {
    // SAFETY: the bytes are readable for their length; _exit ends the process.
    unsafe {
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        libc::_exit(code)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    static FORKED: AtomicU32 = AtomicU32::new(0);

    extern "C" fn note() {
        FORKED.store(7, Ordering::Relaxed);
    }

    #[test]
    fn the_child_knows_and_the_parent_does_not() {
        super::in_child(note);
        let mut status = 0;
        // SAFETY: the child only reads a number and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                super::leave("", FORKED.load(Ordering::Relaxed) as i32);
            }
            libc::waitpid(child, &raw mut status, 0);
        }
        assert_eq!(libc::WEXITSTATUS(status), 7);
        assert_eq!(FORKED.load(Ordering::Relaxed), 0);
    }
}
