//! Receives that wait for their message.
//!
//! A receive is queued under its own envelope, wildcards included. A message is looked for under the four
//! envelopes that could have been asked for; of the oldest of each, the one posted first wins (MPI-5.0
//! section 3.5). Shapes that no receive has are skipped, so that a program without wildcards pays one lookup.

use pml::{Envelope, INDEX_BITS};

use crate::fifos::Fifos;

pub(crate) struct Posted {
    queues: Fifos<INDEX_BITS>,
    /// Receives waiting, by shape of their envelope.
    count: [u32; SHAPES],
    /// Those with a wildcard.
    wild: u32,
    posted: u64,
}

/// An envelope's shape: bit 0 any source, bit 1 any tag.
pub(crate) const SHAPES: usize = 4;

/// The shape of a receive's envelope.
pub(crate) fn shape(envelope: &Envelope) -> usize {
    (envelope.source < 0) as usize | ((envelope.tag < 0) as usize) << 1
}

/// The envelope of that shape that a receive of this message would have.
pub(crate) fn generalise(message: &Envelope, shape: usize) -> Envelope {
    Envelope {
        source: if shape & 1 != 0 { abi::ANY_SOURCE } else { message.source },
        tag: if shape & 2 != 0 { abi::ANY_TAG } else { message.tag },
        ..*message
    }
}

impl Posted {
    pub const fn new() -> Posted {
        Posted { queues: Fifos::new(), count: [0; SHAPES], wild: 0, posted: 0 }
    }

    pub const fn len(&self) -> usize {
        self.queues.len()
    }

    /// Queues the receive `request` behind all others.
    #[inline]
    pub fn push(&mut self, envelope: &Envelope, request: u32) {
        self.posted += 1;
        let shape = shape(envelope);
        self.count[shape] += 1;
        self.wild += (shape != 0) as u32;
        self.queues.push(envelope, request, self.posted);
    }

    /// The receive that this message belongs to: of all that match, the one posted first.
    pub fn find(&self, message: &Envelope) -> Option<(Envelope, u32)> {
        if self.wild == 0 {
            return self.queues.first(message).map(|(_, request)| (*message, request));
        }
        let mut best: Option<(u64, Envelope, u32)> = None;
        for shape in 0..SHAPES {
            if self.count[shape] == 0 {
                continue;
            }
            let envelope = generalise(message, shape);
            if let Some((stamp, request)) = self.queues.first(&envelope)
                && best.is_none_or(|(oldest, ..)| stamp < oldest)
            {
                best = Some((stamp, envelope, request));
            }
        }
        best.map(|(_, envelope, request)| (envelope, request))
    }

    /// As [`Posted::find`], and takes the receive out.
    #[inline]
    pub fn take(&mut self, message: &Envelope) -> Option<u32> {
        if self.wild == 0 {
            let request = self.queues.pop(message)?;
            self.count[0] -= 1;
            return Some(request);
        }
        let (pattern, request) = self.find(message)?;
        self.remove(&pattern, request);
        Some(request)
    }

    /// Takes a queued receive out.
    pub fn remove(&mut self, envelope: &Envelope, request: u32) {
        let shape = shape(envelope);
        self.count[shape] -= 1;
        self.wild -= (shape != 0) as u32;
        self.queues.remove(request);
    }
}
