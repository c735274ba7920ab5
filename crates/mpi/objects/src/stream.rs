//! A datatype's convertor as a stream of the message layer.
#![allow(unsafe_code)]

use abi::{Address, Result};
use datatype::{Convertor, Datatype, Run};
use mem::{PeerBytes, PeerSpace, Sink, Source, UserMem};
use pml::Stream;
use std::ops::Range;

/// Bytes that are unpacked while those behind them come over from the sender's core, where memory is this many times as
/// long as what is packed. Measured on doubles with a step of 16: messages of 16 KiB take 0.88 of the time, of 256 KiB
/// 0.95; with a step of 2, where unpacking itself is fast, 1.3.
const PIECE: usize = 2 << 10;
const SPARSE: u64 = 4;

/// The bytes of a non-contiguous buffer, packed or unpacked on the fly.
pub struct TypedStream {
    convertor: Convertor,
}

impl TypedStream {
    /// `count` items at the address of a buffer argument.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when the data does not fit 63 bits.
    pub fn new(datatype: &Datatype, count: u64, buf: Address) -> Result<TypedStream> {
        // SAFETY: the caller of MPI vouches for the buffer until the operation is over, as for
        // `memory::of_user`; the stream is dropped with the operation.
        let convertor = unsafe { Convertor::new(datatype, count, buf.0 as *mut u8)? };
        Ok(TypedStream { convertor })
    }
}

impl Source for TypedStream {
    fn remaining(&self) -> usize {
        self.convertor.remaining() as usize
    }

    fn fill(&mut self, space: PeerSpace<'_>) {
        // SAFETY: the space is writable for its length by its constructor's promise.
        unsafe { self.convertor.pack(space.as_mut_ptr(), space.len()) };
    }

    fn contiguous(&self) -> Option<UserMem> {
        None
    }
}

impl Sink for TypedStream {
    fn remaining(&self) -> usize {
        self.convertor.remaining() as usize
    }

    fn drain(&mut self, bytes: PeerBytes<'_>) {
        if self.convertor.span() / SPARSE < self.convertor.total() {
            // SAFETY: the bytes are readable for their length by their constructor's promise.
            unsafe { self.convertor.unpack(bytes.as_ptr(), bytes.len()) };
            return;
        }
        bytes.part(0, PIECE).prefetch();
        for start in (0..bytes.len()).step_by(PIECE) {
            bytes.part(start + PIECE, PIECE).prefetch();
            let piece = bytes.part(start, PIECE);
            // SAFETY: as above, of a part of the bytes.
            unsafe { self.convertor.unpack(piece.as_ptr(), piece.len()) };
        }
    }
}

impl Stream for TypedStream {
    fn seek(&mut self, byte: u64) {
        self.convertor.seek(byte);
    }

    fn total(&self) -> u64 {
        self.convertor.total()
    }

    fn mean_run(&self) -> u64 {
        if self.convertor.run_count() > MOST_RUNS { 0 } else { self.convertor.mean_run() }
    }

    fn spread(&self) -> (Range<usize>, u64) {
        (self.convertor.bounds(), self.convertor.run_count())
    }

    fn runs(&self) -> Vec<UserMem> {
        let mut all = self.convertor.clone();
        all.seek(0);
        let mut runs = Vec::with_capacity(self.convertor.run_count() as usize);
        let mut some = [Run::EMPTY; 64];
        loop {
            let count = all.next_runs(&mut some, usize::MAX);
            if count == 0 {
                return runs;
            }
            // SAFETY: the runs lie in the buffer, which the caller of MPI vouches for until the operation is over.
            let view = |run: &Run| unsafe { UserMem::new(run.addr.expose_provenance(), run.len) };
            runs.extend(some[..count].iter().map(view));
        }
    }
}

/// Most runs that are listed; a buffer with more of them is packed.
const MOST_RUNS: u64 = 1 << 14;
