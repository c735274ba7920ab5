//! Memory that the NIC reads and writes by itself.

use mem::UserMem;

/// `bytes` zero bytes that stay as long as the process: a NIC may write into them whatever becomes of the transport.
#[allow(unsafe_code)]
pub(crate) fn lasting(bytes: usize) -> UserMem {
    let memory: &'static mut [u8] = vec![0; bytes].leak();
    // SAFETY: leaked, so it stays valid; nobody else has the slice.
    unsafe { UserMem::of(memory) }
}

/// A view of a part of lasting memory, or of the transport's own header, that the contract of transports shows to others
/// as `'static`: valid until the arrival is released.
#[allow(unsafe_code)]
pub(crate) fn shown(memory: UserMem) -> mem::PeerBytes<'static> {
    // SAFETY: all such memory comes from `lasting`.
    unsafe { mem::PeerBytes::new(memory.address() as *const u8, memory.len()) }
}
