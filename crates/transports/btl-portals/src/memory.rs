//! Views of frames as the contract of transports shows them.

use mem::{PeerBytes, UserMem};

/// A view of a part of a block or of the header's place, valid until the arrival is released.
#[allow(unsafe_code)]
pub(crate) fn shown(memory: UserMem) -> PeerBytes<'static> {
    // SAFETY: all such memory comes from `portals::lasting`.
    unsafe { PeerBytes::new(memory.address() as *const u8, memory.len()) }
}
