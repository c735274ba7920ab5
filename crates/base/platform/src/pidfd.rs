//! A process handle that shows its death and is not fooled by a reused pid, and the descriptors of such a process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::process_stat::Stat;

/// A handle on a process: a pidfd, or where the kernel has none (before Linux 5.3, or under a seccomp profile) the
/// number, which may name another process once this one was reaped.
#[derive(Debug)]
pub struct Pidfd {
    pid: i32,
    fd: Option<OwnedFd>,
}

impl Pidfd {
    /// Opens a handle on `pid` (close-on-exec, as the kernel always does).
    ///
    /// # Errors
    /// The system's: no such process, or no descriptor is left.
    pub fn open(pid: i32) -> io::Result<Pidfd> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd >= 0 {
            // SAFETY: the kernel has just given us this descriptor; it has no other owner.
            return Ok(Pidfd { pid, fd: Some(unsafe { OwnedFd::from_raw_fd(fd as i32) }) });
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM) => Pidfd::by_number(pid),
            _ => Err(error),
        }
    }

    fn by_number(pid: i32) -> io::Result<Pidfd> {
        // SAFETY: plain numbers; signal 0 is none.
        let exists = unsafe { libc::kill(pid, 0) } == 0;
        match io::Error::last_os_error() {
            error if !exists && error.raw_os_error() == Some(libc::ESRCH) => Err(error),
            _ => Ok(Pidfd { pid, fd: None }),
        }
    }

    /// Whether the process has ended (it may still be waiting to be reaped).
    pub fn has_ended(&self) -> bool {
        let Some(fd) = &self.fd else {
            let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
            return Stat::parse(&text).is_none_or(|stat| stat.has_ended());
        };
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry; a timeout of 0 does not block.
        unsafe { libc::poll(&mut poll, 1, 0) == 1 }
    }

    /// For polling: readable when the process has ended. `None`: the kernel has no such descriptors.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// A descriptor of our own for what the process has open under this number (close-on-exec, as the kernel always does).
    /// The kernel allows it where it allows to read the process's memory.
    ///
    /// # Errors
    /// The system's: not allowed, nothing open there, the process is gone, or a kernel without the call.
    pub fn take(&self, number: i32) -> io::Result<OwnedFd> {
        let Some(own) = &self.fd else { return Err(io::Error::from_raw_os_error(libc::ENOSYS)) };
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, own.as_raw_fd(), number, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor; it has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
    }
}

/// Opens the regular file that process `pid` has open under this number, to read and write. The kernel allows more of this
/// than of [`Pidfd::take`]: Yama does not forbid it.
///
/// # Errors
/// The system's, and `InvalidInput` for what is no regular file: opening a pipe or a device may do something.
pub fn reopen_file(pid: i32, number: i32) -> io::Result<OwnedFd> {
    let place = format!("/proc/{pid}/fd/{number}");
    let named = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(place)?;
    if !named.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let same = format!("/proc/self/fd/{}", named.as_raw_fd());
    OpenOptions::new().read(true).write(true).open(same).map(File::into)
}

#[cfg(test)]
mod tests {
    use super::Pidfd;

    #[test]
    fn the_end_of_a_process_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let pid = child.id() as i32;
        let handles = [Pidfd::open(pid).unwrap(), Pidfd::by_number(pid).unwrap()];
        assert!(handles.iter().all(|handle| !handle.has_ended()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(handles.iter().all(Pidfd::has_ended));
        assert!(Pidfd::by_number(pid).is_err());
    }
}
