//! The memory side of a message: where its bytes are taken from or poured into.

use btl::{Btl, Busy, Peer};
use mem::{PeerBytes, PeerSpace, Sink, Source, UserMem};
use std::ops::Range;

/// Bytes laid out by a datatype, as one stream that can be entered anywhere.
///
/// `Source::remaining` and `Sink::remaining` both count from the present position to the end.
pub trait Stream: Source + Sink + Send {
    /// Moves to `byte`, at most [`Stream::total`].
    fn seek(&mut self, byte: u64);
    /// Length of the whole stream in bytes.
    fn total(&self) -> u64;
    /// Mean length in bytes of the runs of memory that the stream stands for; 0 where they cannot be listed.
    fn mean_run(&self) -> u64 {
        0
    }
    /// The addresses from the lowest of those runs to behind the highest, and how many there are, at most.
    fn spread(&self) -> (Range<usize>, u64) {
        (0..0, 0)
    }
    /// Those runs, in order.
    fn runs(&self) -> Vec<UserMem> {
        Vec::new()
    }
}

/// The buffer of a send or a receive.
pub enum Data {
    /// One run of memory.
    Contiguous(UserMem),
    /// Anything else.
    Typed(Box<dyn Stream>),
}

impl Data {
    /// Length in bytes.
    #[inline]
    pub fn total(&self) -> u64 {
        match self {
            Data::Contiguous(memory) => memory.len() as u64,
            Data::Typed(stream) => stream.total(),
        }
    }

    /// The buffer, where it is one run of memory.
    #[inline]
    pub fn contiguous(&self) -> Option<UserMem> {
        match self {
            Data::Contiguous(memory) => Some(*memory),
            Data::Typed(_) => None,
        }
    }

    /// Announces to the transport memory that is packed for a message to `peer`, or unpacked from one of its.
    pub fn announce<B: Btl>(&self, btl: &mut B, peer: Peer) {
        if let Data::Typed(stream) = self {
            let (bounds, runs) = stream.spread();
            btl.expect_packing(peer, bounds, runs);
        }
    }

    /// Sends `len` bytes from `offset`, which must lie within the buffer.
    ///
    /// # Errors
    /// [`Busy`]; nothing was sent.
    pub fn send_part<B: Btl>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        header: &[u64],
        offset: u64,
        len: usize,
    ) -> Result<(), Busy> {
        match self {
            Data::Contiguous(memory) => btl.send(peer, header, &mut memory.part(offset as usize, len)),
            Data::Typed(stream) => {
                enter(stream.as_mut(), offset);
                btl.send(peer, header, &mut Part { stream: stream.as_mut(), left: len })
            }
        }
    }

    /// Stores `bytes` at `offset`; what does not fit is left out. Returns the bytes stored.
    pub fn pour(&mut self, offset: u64, bytes: PeerBytes<'_>) -> u64 {
        let room = self.total().saturating_sub(offset);
        let bytes = bytes.part(0, usize::try_from(room).unwrap_or(usize::MAX));
        if bytes.is_empty() {
            return 0;
        }
        match self {
            Data::Contiguous(memory) => {
                memory.part(offset as usize, bytes.len()).write(bytes);
            }
            Data::Typed(stream) => {
                enter(stream.as_mut(), offset);
                stream.drain(bytes);
            }
        }
        bytes.len() as u64
    }
}

/// Seeks, unless the stream is there already: in order, fragments cost no seek.
fn enter(stream: &mut dyn Stream, offset: u64) {
    let at = stream.total() - Source::remaining(stream) as u64;
    if at != offset {
        stream.seek(offset);
    }
}

/// The next `left` bytes of a stream.
struct Part<'a> {
    stream: &'a mut dyn Stream,
    left: usize,
}

impl Source for Part<'_> {
    fn remaining(&self) -> usize {
        self.left
    }

    fn fill(&mut self, space: PeerSpace<'_>) {
        self.left -= space.len().min(self.left);
        self.stream.fill(space);
    }

    fn contiguous(&self) -> Option<UserMem> {
        self.stream.contiguous().map(|memory| memory.part(0, self.left))
    }
}
