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

/// The number at `remote` of process `pid`.
///
/// # Errors
/// [`Failure`].
pub fn read_number(pid: i32, remote: u64) -> Result<u64, Failure> {
    let mut number = 0u64;
    // SAFETY: `number` is writable, and this function alone has it.
    unsafe { read(pid, remote, (&raw mut number).cast(), size_of::<u64>()) }.map(|()| number)
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

/// A range of addresses, in this process or another one.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Piece(libc::iovec);

impl Piece {
    /// `len` bytes at `address`.
    pub fn new(address: u64, len: u64) -> Piece {
        Piece(libc::iovec { iov_base: address as usize as *mut _, iov_len: len as usize })
    }

    /// The first byte.
    pub fn address(&self) -> u64 {
        self.0.iov_base as u64
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.0.iov_len as u64
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Without its first `bytes`.
    fn after(self, bytes: u64) -> Piece {
        Piece::new(self.address().wrapping_add(bytes), self.len() - bytes)
    }
}

/// Copies the pieces at `remote` of process `pid`, one after the other, to those at `local`. Both must be equally long
/// in all.
///
/// # Safety
/// As [`read`], for each local piece.
///
/// # Errors
/// [`Failure`].
pub unsafe fn read_pieces(pid: i32, remote: &[Piece], local: &[Piece]) -> Result<(), Failure> {
    transfer_pieces(remote, local, |local, remote| {
        let (here, there) = (local.as_ptr().cast(), remote.as_ptr().cast());
        // SAFETY: as many vectors as there are pieces, which have an iovec's layout; the local ones are writable by the
        // caller's promise, the others are checked by the kernel in the other process.
        unsafe { libc::process_vm_readv(pid, here, local.len() as _, there, remote.len() as _, 0) }
    })
}

/// Copies the pieces at `local` to those at `remote` of process `pid`; otherwise as [`read_pieces`].
///
/// # Safety
/// As [`write()`], for each local piece.
///
/// # Errors
/// [`Failure`].
pub unsafe fn write_pieces(pid: i32, remote: &[Piece], local: &[Piece]) -> Result<(), Failure> {
    transfer_pieces(remote, local, |local, remote| {
        let (here, there) = (local.as_ptr().cast(), remote.as_ptr().cast());
        // SAFETY: as in `read_pieces`; the kernel only reads the local side.
        unsafe { libc::process_vm_writev(pid, here, local.len() as _, there, remote.len() as _, 0) }
    })
}

/// Most pieces of one system call, on each side (UIO_MAXIOV).
const MOST_PIECES: usize = 1024;

/// Repeats `call` until all pieces are moved. A call that ends early has moved whole numbers of bytes from the front.
fn transfer_pieces(
    remote: &[Piece],
    local: &[Piece],
    call: impl Fn(&[Piece], &[Piece]) -> isize,
) -> Result<(), Failure> {
    let (mut local, mut remote) = (local.to_vec(), remote.to_vec());
    let (mut here, mut there) = (&mut local[..], &mut remote[..]);
    while !here.is_empty() && !there.is_empty() {
        match call(&here[..here.len().min(MOST_PIECES)], &there[..there.len().min(MOST_PIECES)]) {
            done if done > 0 => {
                here = skip(here, done as u64);
                there = skip(there, done as u64);
            }
            done => failure_of(done)?,
        }
    }
    Ok(())
}

/// What is left of the pieces after their first `bytes`.
fn skip(mut pieces: &mut [Piece], mut bytes: u64) -> &mut [Piece] {
    while let Some(first) = pieces.first_mut() {
        if bytes < first.len() {
            *first = first.after(bytes);
            break;
        }
        bytes -= first.len();
        pieces = &mut pieces[1..];
    }
    pieces
}

/// The meaning of a call that moved nothing: `Ok` when it is worth repeating.
fn failure_of(result: isize) -> Result<(), Failure> {
    if result == 0 {
        return Err(Failure::Fault);
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EINTR | libc::EAGAIN) => Ok(()),
        Some(libc::ESRCH) => Err(Failure::Gone),
        Some(libc::EFAULT | libc::EINVAL) => Err(Failure::Fault),
        _ => Err(Failure::Refused),
    }
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
            done => failure_of(done)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Failure, Piece, read, read_pieces, write};

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
        // SAFETY: `to` holds 100 bytes; nothing is mapped at the remote address.
        assert_eq!(unsafe { read(pid, 8, to.as_mut_ptr(), 100) }, Err(Failure::Fault));
        // SAFETY: `from` holds 100 bytes.
        assert_eq!(unsafe { write(pid, 8, from.as_ptr(), 100) }, Err(Failure::Fault));
    }

    #[test]
    fn pieces_are_cut_differently_on_both_sides() {
        let pid = std::process::id() as i32;
        let from: Vec<u8> = (0..200).collect();
        let mut to = vec![0u8; 3000];
        let place = |base: u64, at: u64, len| Piece::new(base + at, len);
        let remote = [place(from.as_ptr() as u64, 0, 120), place(from.as_ptr() as u64, 120, 80)];
        let local: Vec<Piece> = (0..200).map(|i| place(to.as_mut_ptr() as u64, 15 * i, 1)).collect();
        // SAFETY: every local piece lies within `to`.
        if unsafe { read_pieces(pid, &remote, &local) } == Err(Failure::Refused) {
            return;
        }
        assert!((0..200).all(|i| to[15 * i] == from[i]), "one byte of each piece");
        assert_eq!(to.iter().map(|&byte| u64::from(byte)).sum::<u64>(), (0..200).sum());
    }

    #[test]
    fn nothing_is_no_work() {
        // SAFETY: no byte is touched.
        assert_eq!(unsafe { read(1, 0, core::ptr::null_mut(), 0) }, Ok(()));
    }
}
