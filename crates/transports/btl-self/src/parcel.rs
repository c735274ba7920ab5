//! A message on its way to its own sender.

use btl::MAX_HEADER_WORDS;
use mem::{PeerBytes, PeerSpace, Source};

/// Header and payload, owned; the memory is used again for later messages.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    header: [u64; MAX_HEADER_WORDS],
    words: usize,
    payload: Vec<u8>,
}

impl Parcel {
    /// Takes `header`, of at most [`MAX_HEADER_WORDS`] words, and all of `payload`.
    pub fn fill<S: Source>(&mut self, header: &[u64], payload: &mut S) {
        self.words = header.len();
        self.header[..header.len()].copy_from_slice(header);
        self.payload.resize(payload.remaining(), 0);
        payload.fill(PeerSpace::of(&mut self.payload));
    }

    /// Views of header and payload.
    ///
    /// # Safety
    /// The views must not be used after this parcel, behind its box, is filled again or dropped.
    pub unsafe fn views(&self) -> (PeerBytes<'static>, PeerBytes<'static>) {
        // SAFETY: both ranges are initialised, and stay in place as long as the caller promises.
        unsafe {
            (
                PeerBytes::new(self.header.as_ptr().cast(), self.words * 8),
                PeerBytes::new(self.payload.as_ptr(), self.payload.len()),
            )
        }
    }
}
