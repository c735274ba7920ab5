//! Sleeping on a descriptor, and how many there may be.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::clock::timespec;

/// Sleeps until `fd` is readable, `limit` passes, or a signal comes. Whether it is readable.
///
/// A number that is no open descriptor counts as readable, so that its user finds out.
pub fn wait_readable(fd: RawFd, limit: Option<Duration>) -> bool {
    poll(&mut [readable(fd)], limit) == 1
}

/// Sleeps until one of `fds` is readable, `limit` passes, or a signal comes. A number that is no open descriptor counts as
/// readable.
pub fn wait_any(fds: &[RawFd], limit: Option<Duration>) {
    poll(&mut fds.iter().map(|&fd| readable(fd)).collect::<Vec<_>>(), limit);
}

fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Sleeps until something holds for an entry. How many it holds for; negative: an error, as that of a signal.
fn poll(entries: &mut [libc::pollfd], limit: Option<Duration>) -> i32 {
    let limit = limit.map(timespec);
    let limit = limit.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: the entries and the limit, if any, live during the call; no signal mask is given.
    unsafe { libc::ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, limit, core::ptr::null()) }
}

/// Another number for what a program has open under `fd`, closed in programs that are executed. It shares all flags with it.
///
/// # Errors
/// The system's, for instance that `fd` is not open.
pub fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: numbers alone.
    let own = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if own < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(own) })
}

/// How many descriptors the process may have open.
pub fn limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place for the answer lives.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if asked == 0 { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { usize::MAX }
}

/// How many descriptors the process has open.
pub fn count_open() -> usize {
    // The listing itself takes one.
    std::fs::read_dir("/proc/self/fd").map_or(0, |listing| listing.count().saturating_sub(1))
}

/// Whether a call failed because descriptors have run out.
pub fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(test)]
mod tests {
    use super::{count_open, limit, wait_readable};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    #[test]
    fn a_pipe_is_readable_when_something_is_in_it() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        assert!(!wait_readable(reader.as_raw_fd(), Some(Duration::ZERO)));
        writer.write_all(b"x").expect("room");
        assert!(wait_readable(reader.as_raw_fd(), None));
    }

    #[test]
    fn open_descriptors_are_within_the_limit() {
        let _pipe = std::io::pipe().expect("a pipe");
        assert!((2..limit()).contains(&count_open()));
    }
}
