//! Reading from one peer: frames in order, data on its way to its place.

use btl::{Arrival, Peer};
use mem::{PeerBytes, UserMem};
use portals_soft::{End, Header};
use std::collections::{BTreeMap, VecDeque};

/// Early frames that are kept; a transport has few paths, each with few frames under way. A peer that sends more than
/// these without the one that is missing is given up.
const MOST_EARLY: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Inbound {
    /// Number of the next frame.
    number: u32,
    early: BTreeMap<u32, (Vec<u8>, Vec<u8>)>,
    /// Bytes of the last header's data that have not arrived.
    left: u64,
    /// Where they go; what is beyond is thrown away.
    into: Vec<UserMem>,
    /// The transfer that waits for them.
    ticket: Option<u32>,
    lost: bool,
}

/// The frame at hand: in the transport's memory, or kept since it was early.
pub(super) struct Current {
    pub(super) peer: Peer,
    pub(super) live: Option<Arrival>,
    kept: (Vec<u8>, Vec<u8>),
}

impl Current {
    pub(super) fn new(peer: Peer, arrival: Arrival) -> Current {
        Current { peer, live: Some(arrival), kept: Default::default() }
    }

    pub(super) fn header(&self) -> PeerBytes<'_> {
        self.live.as_ref().map_or(PeerBytes::of(&self.kept.0), |arrival| arrival.header)
    }

    pub(super) fn payload(&self) -> PeerBytes<'_> {
        self.live.as_ref().map_or(PeerBytes::of(&self.kept.1), |arrival| arrival.payload)
    }
}

impl Inbound {
    /// Whether the frame with this number is the next one; counts it then.
    pub(super) fn expects(&mut self, number: u32) -> bool {
        let next = number == self.number;
        self.number = self.number.wrapping_add(u32::from(next));
        next
    }

    /// Keeps an early frame; `false`: there are too many.
    pub(super) fn keep(&mut self, current: &Current) -> bool {
        let number = super::frame::number(current.header());
        let copy = (current.header().to_vec(), current.payload().to_vec());
        self.early.len() < MOST_EARLY && self.early.insert(number, copy).is_none()
    }

    pub(super) fn has_early(&self) -> bool {
        self.early.contains_key(&self.number)
    }

    /// The next frame, if it was early.
    pub(super) fn next_early(&mut self, peer: Peer) -> Option<Current> {
        let kept = self.early.remove(&self.number)?;
        self.number = self.number.wrapping_add(1);
        Some(Current { peer, live: None, kept })
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// A header has arrived with the first `here` bytes of its data; `false`: there cannot be one now, or not with so
    /// many.
    pub(super) fn begin(&mut self, header: &Header, here: usize) -> bool {
        let Some(left) = header.data_len().checked_sub(here as u64) else { return false };
        // A get-put's data is few bytes, which come with it.
        if self.left > 0 || (left > 0 && matches!(header, Header::GetPut { .. })) {
            return false;
        }
        self.left = left;
        self.into.clear();
        self.ticket = None;
        true
    }

    /// Puts the last header's data into its place, as far as it is here; whether that is all that has a place.
    pub(super) fn deliver(&mut self, into: &[UserMem], here: PeerBytes<'_>, ticket: u32) -> bool {
        let mut here = here;
        for run in into {
            let written = run.write(here);
            here = here.part(written, here.len() - written);
            if written < run.len() {
                self.into.push(run.part(written, run.len()));
            }
        }
        self.into.reverse();
        let waits = self.left > 0 && !self.into.is_empty();
        self.ticket = waits.then_some(ticket);
        !waits
    }

    /// Goes on with the data; `false`: there is no more of it.
    pub(super) fn take_piece(&mut self, mut piece: PeerBytes<'_>, ends: &mut VecDeque<End>) -> bool {
        let len = piece.len() as u64;
        if len == 0 || len > self.left {
            return false;
        }
        self.left -= len;
        while let (false, Some(run)) = (piece.is_empty(), self.into.last_mut()) {
            let written = run.write(piece);
            piece = piece.part(written, piece.len() - written);
            *run = run.part(written, run.len());
            if run.is_empty() {
                self.into.pop();
            }
        }
        if self.into.is_empty() || self.left == 0 {
            ends.extend(self.ticket.take().map(|ticket| End { ticket, fine: true }));
        }
        true
    }

    /// The peer is gone, and with it the rest of its data.
    pub(super) fn lose(&mut self, ends: &mut VecDeque<End>) {
        self.lost = true;
        self.early.clear();
        ends.extend(self.ticket.take().map(|ticket| End { ticket, fine: false }));
    }
}
