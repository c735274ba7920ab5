//! The memory side of a message: where its bytes are taken from or poured into.

use btl::{Btl, Busy, Peer};
use mem::{PeerBytes, PeerSpace, Sink, Source, UserMem};
use std::ops::Range;

use crate::peers::PeerState;

/// How packed data is cut into fragments.
struct Cut {
    /// Fragments of a message, as far as the lengths below allow: so many that one side packs while the other unpacks.
    parts: u64,
    /// Shortest and longest fragment in bytes.
    least: u64,
    most: u64,
    /// Longest message in one frame, in bytes.
    whole: u64,
}

/// What is packed in short pieces, and what goes almost as fast as a plain copy: there a frame's own cost counts.
const SHORT_RUNS: Cut = Cut { parts: 8, least: 4 << 10, most: 16 << 10, whole: 8 << 10 };
const COPIES: Cut = Cut { parts: 4, least: 8 << 10, most: 16 << 10, whole: 16 << 10 };
/// Length of a message from which on it goes in fragments as long as can be: more of the transport's memory is in turn
/// then, and a sender fills what has left its caches. Measured on doubles with a step of 2, 1 MiB: 17 GB/s instead of 10
/// with fragments of 16 KiB.
const LARGE: u64 = 256 << 10;
const LARGE_FRAGMENT: u64 = 32 << 10;
/// Mean length of the latter's runs in bytes.
const COPIED_RUN: u64 = 512;

impl Cut {
    fn of(stream: &dyn Stream) -> Cut {
        if stream.mean_run() < COPIED_RUN { SHORT_RUNS } else { COPIES }
    }
}

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

/// Mean length in bytes from which on runs can be copied from where they are to where they belong; shorter ones are packed.
const LEAST_RUN: u64 = 2 << 10;
/// Mean length from which on they always are: that needs the sender's processor less. Measured on two cores in a
/// ping-pong: in runs of 4 KiB, 512 KiB go 0.26 times as fast as packed and unpacked on the way, 1 MiB 0.35 times, 4 MiB
/// 0.65 times; 64 messages of 256 KiB to 4 MiB in one direction go equally fast both ways.
const LONG_RUN: u64 = 32 << 10;
/// Length of a message from which on they are even if they are shorter: what large caches do not hold.
const MANY_RUNS: u64 = 8 << 20;

/// The buffer of a send or a receive.
pub enum Data {
    /// One run of memory.
    Contiguous(UserMem),
    /// Anything else.
    Typed(Box<dyn Stream>),
}

impl Data {
    /// Length in bytes.
    pub fn total(&self) -> u64 {
        match self {
            Data::Contiguous(memory) => memory.len() as u64,
            Data::Typed(stream) => stream.total(),
        }
    }

    /// The buffer, where it is one run of memory.
    pub(crate) fn contiguous(&self) -> Option<UserMem> {
        match self {
            Data::Contiguous(memory) => Some(*memory),
            Data::Typed(_) => None,
        }
    }

    /// Whether the message is sent together with its payload to `peer`, as far as its length goes. What has to be
    /// packed anyway gains nothing from a rendezvous as long as it fits in one frame, unless it is long enough for
    /// the receiver to unpack one part while the next is packed.
    pub(crate) fn is_eager<B: Btl>(&self, btl: &B, to: Peer, peer: &PeerState) -> bool {
        match self {
            Data::Contiguous(memory) => peer.takes_eager(memory.len() as u64),
            Data::Typed(stream) => {
                let whole = Cut::of(stream.as_ref()).whole.min(btl.limits(to).max_send as u64);
                stream.total() <= whole && !peer.congested
            }
        }
    }

    /// Longest payload of one fragment of the message. Packed data goes in short ones, so that the receiver begins to
    /// unpack early; so does an answer, for which that holds, too.
    pub(crate) fn fragment(&self, max_send: usize, answer: bool) -> u64 {
        let cut = match self {
            Data::Contiguous(_) if !answer => return max_send.max(1) as u64,
            Data::Contiguous(_) => COPIES,
            Data::Typed(stream) => Cut::of(stream.as_ref()),
        };
        let fragment = match self.total() {
            total @ ..=LARGE => (total / cut.parts).clamp(cut.least, cut.most),
            _ => LARGE_FRAGMENT,
        };
        fragment.min(max_send.max(1) as u64)
    }

    /// Whether the buffer has several runs for which it pays to be copied one by one.
    pub(crate) fn has_runs(&self) -> bool {
        let Data::Typed(stream) = self else { return false };
        let run = stream.mean_run();
        run >= LONG_RUN || run >= LEAST_RUN && stream.total() >= MANY_RUNS
    }

    /// The runs of such a buffer.
    pub(crate) fn runs(&self) -> Option<Vec<UserMem>> {
        match self {
            Data::Typed(stream) if self.has_runs() => Some(stream.runs()),
            _ => None,
        }
    }

    /// Tells the transport about memory that is packed for a message to `peer`, or unpacked from one of its.
    pub(crate) fn announce<B: Btl>(&self, btl: &mut B, peer: Peer) {
        if let Data::Typed(stream) = self {
            let (bounds, runs) = stream.spread();
            btl.expect_packing(peer, bounds, runs);
        }
    }

    /// Sends `len` bytes from `offset`, which must lie within the buffer.
    pub(crate) fn send_part<B: Btl>(
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
    pub(crate) fn pour(&mut self, offset: u64, bytes: PeerBytes<'_>) -> u64 {
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
