//! The one place where a view of a taken message is made.
#![allow(unsafe_code, reason = "a view of a message that a box keeps")]

use mem::PeerBytes;

/// A view of bytes that stay in place until the arrival that shows them is released.
pub(crate) fn lasting_bytes(bytes: &[u8]) -> PeerBytes<'static> {
    // SAFETY: the caller keeps the bytes in a box of the transport and replaces them only when the arrival has
    // been released, which the contract of `btl` demands before the next is asked for.
    unsafe { PeerBytes::new(bytes.as_ptr(), bytes.len()) }
}
