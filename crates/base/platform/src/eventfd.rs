//! A descriptor that threads of one process ring.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Readable from [`EventFd::signal`] until [`EventFd::drain`], for all threads that look meanwhile.
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// One that is not readable.
    ///
    /// # Errors
    /// The system's, for instance that the process has no descriptor left.
    pub fn new() -> io::Result<EventFd> {
        // SAFETY: the call takes numbers alone and touches no memory of ours.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        Ok(EventFd(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Makes it readable, and wakes all threads that sleep on it.
    pub fn signal(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight readable bytes. It fails only where the counter is full, and then it is readable.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes it unreadable again.
    pub fn drain(&self) {
        let mut count = [0u8; 8];
        // SAFETY: eight writable bytes. It fails only where there is nothing to take.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::EventFd;
    use crate::descriptor::wait_readable;
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::Duration;

    #[test]
    fn it_is_readable_from_the_signal_until_it_is_drained() {
        let rung = EventFd::new().unwrap();
        let readable = || wait_readable(rung.as_fd().as_raw_fd(), Some(Duration::ZERO));
        assert!(!readable());
        rung.signal();
        rung.signal();
        assert!(readable() && readable());
        rung.drain();
        assert!(!readable());
        rung.drain();
    }
}
