//! Memory that a NIC reads and writes by itself.

use mem::UserMem;

/// `bytes` zero bytes that stay as long as the process: a NIC may write into them whatever becomes of their user.
#[allow(unsafe_code)]
pub fn lasting(bytes: usize) -> UserMem {
    let memory: &'static mut [u8] = vec![0; bytes].leak();
    // SAFETY: leaked, so it stays valid; there is no other reference to the slice.
    unsafe { UserMem::of(memory) }
}
