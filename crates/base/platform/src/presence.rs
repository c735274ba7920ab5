//! Whether a process still lives, seen by a lock that the kernel takes back when the process ends.
//!
//! Processes that share a file lock a byte of it each. The lock belongs to an opening of the file that only its process
//! has, so it goes when the process ends, however it does. Unlike a process id it means the same in all pid and user
//! namespaces, needs no permission, and is never given to another process.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// This process's byte of a file, locked as long as this lives.
#[derive(Debug)]
pub struct Presence(OwnedFd);

/// The descriptor of the last [`Presence`]; forked children close it, or the lock would outlive this process in them.
static LAST: AtomicI32 = AtomicI32::new(-1);
static FORKS: Once = Once::new();

extern "C" fn leave_to_parent() {
    let fd = LAST.swap(-1, Ordering::Relaxed);
    if fd >= 0 {
        // SAFETY: the child's copy of a descriptor that only its parent's `Presence` uses.
        unsafe { libc::close(fd) };
    }
}

impl Presence {
    /// Locks byte `at` of `file`.
    ///
    /// # Errors
    /// The system's: another process has the byte, the file has no locks, or `/proc` does not show own descriptors.
    pub fn announce(file: BorrowedFd<'_>, at: u64) -> io::Result<Presence> {
        // An opening of its own: the one at hand may be shared with the processes that are to see the lock.
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let own = OwnedFd::from(OpenOptions::new().read(true).write(true).open(own)?);
        control(&own, libc::F_OFD_SETLK, at)?;
        FORKS.call_once(|| crate::fork::in_child(leave_to_parent));
        LAST.store(own.as_raw_fd(), Ordering::Relaxed);
        Ok(Presence(own))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = LAST.compare_exchange(self.0.as_raw_fd(), -1, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Whether a process has locked byte `at` of `file`, which is not this one's by the same opening.
///
/// # Errors
/// The system's: the file has no locks.
pub fn is_announced(file: BorrowedFd<'_>, at: u64) -> io::Result<bool> {
    control(&file, libc::F_OFD_GETLK, at).map(|kind| kind != libc::F_UNLCK)
}

/// Asks for, or about, a lock of one byte to write; the kind of lock that the kernel answers.
fn control(file: &impl AsRawFd, command: i32, at: u64) -> io::Result<i32> {
    let at = i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
    // SAFETY: all of the structure's fields are plain numbers, for which zero is a value.
    let mut lock: libc::flock64 = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    (lock.l_start, lock.l_len) = (at, 1);
    // SAFETY: the structure is ours and of the type that both commands take.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } {
        0 => Ok(i32::from(lock.l_type)),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_file::MemoryFile;
    use std::os::fd::AsFd;

    /// Forks a child that runs `does` and ends.
    fn child(does: impl FnOnce()) -> i32 {
        // SAFETY: the child makes system calls alone, and ends without the parent's clean-up.
        match unsafe { libc::fork() } {
            0 => {
                does();
                crate::fork::leave("", 0)
            }
            pid => pid,
        }
    }

    fn end(pid: i32) {
        let mut status = 0;
        // SAFETY: our child, whose status has a place.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        }
    }

    fn pause() {
        // SAFETY: waits for the signal that ends this process.
        unsafe { libc::pause() };
    }

    #[test]
    fn a_lock_goes_with_its_process_and_not_with_the_children() {
        let made = MemoryFile::create(4096).unwrap();
        let file = made.fd.as_fd();
        let present = |at| is_announced(file, at).unwrap();
        let wait = |at, is: bool| {
            while present(at) != is {
                crate::waiter::give_way();
            }
        };
        assert!(!present(1) && !present(2));
        let other = child(|| {
            let kept = Presence::announce(file, 2);
            pause();
            drop(kept);
        });
        wait(2, true);
        assert!(Presence::announce(file, 2).is_err(), "the byte is another process's");
        end(other);
        assert!(!present(2));

        let own = Presence::announce(file, 1).unwrap();
        let forked = child(pause);
        assert!(present(1));
        drop(own);
        // The child closes its copy before it goes on.
        wait(1, false);
        end(forked);
    }
}
