//! What the tests of NICs of a host share.

/// Whether the kernel lets this process make an io_uring, which the pinned mode needs.
pub fn can_pin() -> bool {
    let mut params = [0u8; 120];
    // SAFETY: as many bytes as an `io_uring_params` has; the descriptor, if there is one, is closed at once.
    unsafe {
        let fd = libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr());
        if fd >= 0 {
            libc::close(fd as i32);
        }
        fd >= 0
    }
}
