//! A process handle that shows its death and is not fooled by a reused pid.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A handle on a process.
#[derive(Debug)]
pub struct Pidfd(OwnedFd);

impl Pidfd {
    /// Opens a handle on `pid` (close-on-exec, as the kernel always does).
    ///
    /// # Errors
    /// The system's: no such process, or a kernel without the call.
    pub fn open(pid: i32) -> io::Result<Pidfd> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor; nobody else owns it.
        Ok(Pidfd(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Whether the process has ended (it may still be waiting to be reaped).
    pub fn has_ended(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry; a timeout of 0 does not block.
        unsafe { libc::poll(&mut poll, 1, 0) == 1 }
    }
}

/// For polling: readable when the process has ended.
impl AsFd for Pidfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::Pidfd;

    #[test]
    fn the_end_of_a_process_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let handle = Pidfd::open(child.id() as i32).unwrap();
        assert!(!handle.has_ended());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(handle.has_ended());
    }
}
