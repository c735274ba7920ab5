//! A frame that has arrived, and where its body lies.

use btl::{Arrival, Peer, Way};
use dr::{Body, MAX_CARRIED};
use mem::PeerBytes;

/// Bytes of a body for the header that is carried.
pub(crate) const CARRIED: usize = MAX_CARRIED * 8;

/// A frame that has been taken, for the layer above.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) peer: Peer,
    /// The header that was carried, and its words.
    pub(crate) header: [u8; CARRIED],
    pub(crate) words: usize,
    pub(crate) place: Place,
}

/// Where a body lies.
#[derive(Debug)]
pub(crate) enum Place {
    /// Here.
    Here(Vec<u8>),
    /// Where this way has it, which brings nothing more before it is given back.
    There(Way, Arrival),
}

impl Frame {
    /// The payload: of memory that stays until the frame is let go.
    pub(crate) fn payload(&self) -> PeerBytes<'_> {
        let body = match &self.place {
            Place::Here(body) => PeerBytes::of(body),
            Place::There(_, arrival) => arrival.payload,
        };
        body.part(self.words * 8, body.len())
    }
}

/// A body that lies where its way has it.
pub(crate) struct There<'a> {
    /// The copy of its beginning.
    pub(crate) start: &'a [u8],
    pub(crate) all: PeerBytes<'a>,
}

impl Body for There<'_> {
    fn length(&self) -> usize {
        self.all.len()
    }

    fn start(&self) -> &[u8] {
        self.start
    }

    fn sum_from(&self, at: usize, sum: u32) -> u32 {
        sums::of_bytes(sum, self.all.part(at, self.all.len()))
    }
}
