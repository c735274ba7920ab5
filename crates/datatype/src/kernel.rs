//! Copy kernels: the loops that move bytes between a user buffer and a packed stream.
//!
//! All are written once for both directions: `PACK` copies from memory to the stream, otherwise the other way.

use crate::convertor::pointer;
use crate::walk::Sink;

/// A sink that copies, keeping its place in the packed stream.
pub(crate) struct Packer<const PACK: bool> {
    stream: *mut u8,
}

impl<const PACK: bool> Packer<PACK> {
    /// # Safety
    ///
    /// All memory that the packer is handed must be readable (to pack) or writable (to unpack), and `stream` valid for as
    /// many bytes.
    pub(crate) unsafe fn new(stream: *mut u8) -> Self {
        Packer { stream }
    }
}

impl<const PACK: bool> Sink for Packer<PACK> {
    fn run(&mut self, addr: usize, len: u64) -> bool {
        let (mem, len) = (pointer(addr), len as usize);
        // SAFETY: the promise made to `new`.
        unsafe {
            if PACK {
                self.stream.copy_from_nonoverlapping(mem, len);
            } else {
                mem.copy_from_nonoverlapping(self.stream, len);
            }
            self.stream = self.stream.add(len);
        }
        true
    }
}
