//! Which of the standard descriptors were closed when this program was started.
//!
//! Rust's runtime opens `/dev/null` in their place before `main`, so that what is written there would be lost in silence.
//! The loader runs functions of `.init_array` earlier.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each of the descriptors 0, 1 and 2.
static CLOSED: AtomicU8 = AtomicU8::new(0);

#[used]
// SAFETY: the loader calls what stands in this section once, before `main`, as C functions; ours needs nothing but libc.
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    for fd in 0..3 {
        // SAFETY: fcntl on a number: no memory is involved.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << fd, Ordering::Relaxed);
        }
    }
}

/// Whether `fd`, one of the standard descriptors, was closed.
pub fn at_start(fd: BorrowedFd<'_>) -> bool {
    let number = fd.as_raw_fd();
    (0..3).contains(&number) && CLOSED.load(Ordering::Relaxed) & (1 << number) != 0
}
