//! How a message is cut: what goes in one frame, how long fragments are, what is copied run by run.

use btl::{Btl, Peer};
use mem::UserMem;
use pml::{Data, Stream};

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

/// Mean length in bytes from which on runs can be copied from where they are to where they belong; shorter ones are
/// packed.
const LEAST_RUN: u64 = 2 << 10;
/// Mean length from which on they always are: that needs the sender's processor less. Measured on two cores in a
/// ping-pong: in runs of 4 KiB, 512 KiB go 0.26 times as fast as packed and unpacked on the way, 1 MiB 0.35 times, 4 MiB
/// 0.65 times; 64 messages of 256 KiB to 4 MiB in one direction go equally fast both ways.
const LONG_RUN: u64 = 32 << 10;
/// Length of a message from which on they are even if they are shorter: what large caches do not hold.
const MANY_RUNS: u64 = 8 << 20;

/// What this layer decides by a buffer's length and layout.
pub(crate) trait Cutting {
    /// Whether the message is sent together with its payload to `peer`, as far as its length goes. What has to be
    /// packed anyway gains nothing from a rendezvous as long as it fits in one frame, unless it is long enough for
    /// the receiver to unpack one part while the next is packed.
    fn is_eager<B: Btl>(&self, btl: &B, to: Peer, peer: &PeerState) -> bool;

    /// Longest payload of one fragment of the message. Packed data goes in short ones, so that the receiver begins to
    /// unpack early; so does an answer, for which that holds, too.
    fn fragment(&self, max_send: usize, answer: bool) -> u64;

    /// Whether the buffer has several runs for which it pays to be copied one by one.
    fn has_runs(&self) -> bool;

    /// The runs of such a buffer.
    fn runs(&self) -> Option<Vec<UserMem>>;
}

impl Cutting for Data {
    fn is_eager<B: Btl>(&self, btl: &B, to: Peer, peer: &PeerState) -> bool {
        match self {
            Data::Contiguous(memory) => peer.takes_eager(memory.len() as u64),
            Data::Typed(stream) => {
                let whole = Cut::of(stream.as_ref()).whole.min(btl.limits(to).max_send as u64);
                stream.total() <= whole && !peer.congested
            }
        }
    }

    fn fragment(&self, max_send: usize, answer: bool) -> u64 {
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

    fn has_runs(&self) -> bool {
        let Data::Typed(stream) = self else { return false };
        let run = stream.mean_run();
        run >= LONG_RUN || run >= LEAST_RUN && stream.total() >= MANY_RUNS
    }

    fn runs(&self) -> Option<Vec<UserMem>> {
        match self {
            Data::Typed(stream) if self.has_runs() => Some(stream.runs()),
            _ => None,
        }
    }
}
