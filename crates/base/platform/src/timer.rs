//! A descriptor that becomes readable at a time.

use core::ptr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Instant;

use crate::clock::timespec;

/// Readable from the time that was set last, until another one is set.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A timer that is not set.
    ///
    /// # Errors
    /// The system's, for instance that the process has no descriptor left.
    pub fn new() -> io::Result<Timer> {
        // SAFETY: the call takes numbers alone and touches no memory of ours.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        Ok(Timer(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sets the time, at once if it has passed; `None`: never.
    pub fn set(&self, at: Option<Instant>) {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = at.map_or(zero, |at| {
            // All zeros would switch it off.
            let left = at.saturating_duration_since(Instant::now()).max(std::time::Duration::from_nanos(1));
            timespec(left)
        });
        let setting = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: the setting is readable, the old one is not asked for. It cannot fail for these values.
        unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &setting, ptr::null_mut()) };
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::Timer;
    use crate::descriptor::wait_readable;
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::{Duration, Instant};

    #[test]
    fn it_is_readable_from_its_time_until_it_is_set_again() {
        let timer = Timer::new().unwrap();
        let readable = |limit| wait_readable(timer.as_fd().as_raw_fd(), limit);
        assert!(!readable(Some(Duration::ZERO)));
        timer.set(Some(Instant::now()));
        assert!(readable(None) && readable(None));
        timer.set(Some(Instant::now() + Duration::from_secs(1000)));
        assert!(!readable(Some(Duration::ZERO)));
        timer.set(Some(Instant::now() + Duration::from_millis(1)));
        assert!(readable(None));
        timer.set(None);
        assert!(!readable(Some(Duration::ZERO)));
    }
}
