//! Cross-memory attach: one process copies from or to another one's memory in a single copy.

use std::io;

/// What went wrong with a copy; nothing is known about bytes that were already moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The kernel does not allow it for this pair (Yama, seccomp, other user or namespace), or lacks the call.
    Refused,
    /// The process is gone.
    Gone,
    /// An address range is not mapped as needed.
    Fault,
}

/// Copies `len` bytes at `remote` of process `pid` to `local`.
///
/// # Safety
/// `local` must be writable for `len` bytes. Another thread or process may write it at the same time; then
/// its content is unspecified.
///
/// # Errors
/// [`Failure`].
pub unsafe fn read(pid: i32, remote: u64, local: *mut u8, len: usize) -> Result<(), Failure> {
    transfer(remote, local, len, |local, remote| {
        // SAFETY: one vector on each side; `local` is writable by the caller's promise, `remote` is checked by
        // the kernel in the other process.
        unsafe { libc::process_vm_readv(pid, local, 1, remote, 1, 0) }
    })
}

/// Copies `len` bytes at `local` to `remote` of process `pid`.
///
/// # Safety
/// `local` must be readable for `len` bytes.
///
/// # Errors
/// [`Failure`].
pub unsafe fn write(pid: i32, remote: u64, local: *const u8, len: usize) -> Result<(), Failure> {
    transfer(remote, local.cast_mut(), len, |local, remote| {
        // SAFETY: as for `read`; the kernel only reads the local side.
        unsafe { libc::process_vm_writev(pid, local, 1, remote, 1, 0) }
    })
}

/// Repeats `call` until all of `len` is moved: the kernel may stop after part of it (2 GiB, or a signal).
fn transfer(
    remote: u64,
    local: *mut u8,
    len: usize,
    call: impl Fn(*const libc::iovec, *const libc::iovec) -> isize,
) -> Result<(), Failure> {
    let mut moved = 0;
    while moved < len {
        let rest = len - moved;
        let here = libc::iovec { iov_base: local.wrapping_add(moved).cast(), iov_len: rest };
        let there = libc::iovec { iov_base: (remote as usize).wrapping_add(moved) as *mut _, iov_len: rest };
        match call(&here, &there) {
            done if done > 0 => moved += done as usize,
            0 => return Err(Failure::Fault),
            _ => match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR | libc::EAGAIN) => {}
                Some(libc::ESRCH) => return Err(Failure::Gone),
                Some(libc::EFAULT | libc::EINVAL) => return Err(Failure::Fault),
                _ => return Err(Failure::Refused),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Failure, read, write};

    #[test]
    fn a_process_reaches_its_own_memory_and_no_unmapped_one() {
        let pid = std::process::id() as i32;
        let (from, mut to) = ([7u8; 100], [0u8; 100]);
        // SAFETY: `to` holds 100 bytes.
        let copied = unsafe { read(pid, from.as_ptr() as u64, to.as_mut_ptr(), 100) };
        if copied == Err(Failure::Refused) {
            return;
        }
        assert_eq!((copied, to), (Ok(()), from));
        // SAFETY: `to` holds 100 bytes; the remote address is nobody's.
        assert_eq!(unsafe { read(pid, 8, to.as_mut_ptr(), 100) }, Err(Failure::Fault));
        // SAFETY: `from` holds 100 bytes.
        assert_eq!(unsafe { write(pid, 8, from.as_ptr(), 100) }, Err(Failure::Fault));
    }

    #[test]
    fn nothing_is_no_work() {
        // SAFETY: no byte is touched.
        assert_eq!(unsafe { read(1, 0, core::ptr::null_mut(), 0) }, Ok(()));
    }
}
