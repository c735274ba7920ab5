//! Sleeping on a word of shared memory.
//!
//! The futexes are shared ones (no `FUTEX_PRIVATE_FLAG`): waiter and waker are different processes.

use core::ptr;
use core::time::Duration;

use crate::clock::timespec;

/// Sleeps until the word at `address` is woken, unless it no longer holds `expected`.
///
/// Returns on a wake-up, when the value differs, on a signal, and spuriously; the caller looks again at what it
/// waits for. The kernel only reads the word, and an address that is not mapped makes the call return at once.
pub fn wait(address: usize, expected: u32) {
    wait_until(address, expected, ptr::null());
}

/// As [`wait`], for at most `limit`.
pub fn wait_for(address: usize, expected: u32, limit: Duration) {
    wait_until(address, expected, &timespec(limit));
}

fn wait_until(address: usize, expected: u32, limit: *const libc::timespec) {
    // SAFETY: FUTEX_WAIT reads the word through the kernel's checked accessors and writes nothing; the timeout
    // is null (none) or readable during the call, the two last arguments are unused.
    unsafe {
        libc::syscall(libc::SYS_futex, address, libc::FUTEX_WAIT, expected, limit, ptr::null::<u32>(), 0);
    }
}

/// Wakes up to `count` sleepers of the word at `address`. The caller has changed the word before.
pub fn wake(address: usize, count: i32) {
    // SAFETY: FUTEX_WAKE uses the address as a key only.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            address,
            libc::FUTEX_WAKE,
            count,
            ptr::null::<libc::timespec>(),
            ptr::null::<u32>(),
            0,
        );
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_changed_word_or_a_bad_address_does_not_block() {
        let word = AtomicU32::new(1);
        super::wait(word.as_ptr() as usize, 0);
        super::wait(8, 0);
    }

    #[test]
    fn a_sleep_with_a_limit_ends_by_itself() {
        let word = AtomicU32::new(0);
        super::wait_for(word.as_ptr() as usize, 0, core::time::Duration::from_millis(1));
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    super::wait(word.as_ptr() as usize, 0);
                }
            });
            word.store(1, Ordering::Release);
            super::wake(word.as_ptr() as usize, 1);
        });
    }
}
