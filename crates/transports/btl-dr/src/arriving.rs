//! Frames that arrive: verified where they lie, and handed up from there where that can be.
//!
//! The header is copied, and so is the one that is carried: what was verified does not change any more. A payload stays where its
//! way has it, and goes from there to where the layer above wants it. Only if it is under a checksum and lies in memory that the
//! sender may still write, that of their host, is it copied first, too.

use btl::{Arrival, Way, Ways};
use dr::{MAX_HEADER_WORDS, Taken, has_sum};
use mem::PeerBytes;

use crate::frame::{CARRIED, Frame, Place, There};
use crate::transport::{Conversation, now};
use crate::{Dr, Rdma};

/// Frames of data that wait for being asked for; with more, acknowledgements behind them wait, too.
const MOST_READY: usize = 64;
/// Frames that are taken for one event.
const MOST_TAKEN: usize = 32;

impl<B: Ways> Dr<B> {
    /// Takes a frame. What it brings for the layer above, if it does.
    pub(crate) fn take(&mut self, way: Way, arrival: Arrival) -> Option<Frame> {
        let (peer, count) = (arrival.peer, arrival.header.len() / 8);
        let mut words = [0; MAX_HEADER_WORDS];
        words.iter_mut().enumerate().take(count).for_each(|(at, word)| *word = arrival.header.word(at));
        let words = &words[..count.min(MAX_HEADER_WORDS)];
        let mut header = [0; CARRIED];
        let started = arrival.payload.copy_to(&mut header);
        if peer.0 as usize >= self.peers() {
            self.below.release_by(way, arrival);
            return None;
        }
        let place = if has_sum(words) && self.below.is_of_host(way) {
            let mut body = core::mem::take(&mut self.spare);
            body.resize(arrival.payload.len(), 0);
            arrival.payload.copy_to(&mut body);
            self.below.release_by(way, arrival);
            Place::Here(body)
        } else {
            Place::There(way, arrival)
        };
        let now = self.look_at_clock(now());
        let Conversation { pair, ways, is_lost, .. } = self.conversation(peer);
        let path = ways.iter().position(|&one| one == way).map_or(u8::MAX, |path| path as u8);
        let was_quiet = pair.is_quiet();
        let taken = match &place {
            _ if *is_lost => Taken::Nothing,
            Place::Here(body) => pair.take(now, path, words, &body[..]),
            Place::There(_, arrival) => {
                let body = There { start: &header[..started], all: arrival.payload };
                pair.take_in_place(now, path, words, &body)
            }
        };
        let (is_quiet, is_due) = (was_quiet && pair.is_quiet(), pair.is_due(now));
        match is_quiet {
            true => self.keep_awake(peer),
            false => self.wake(peer),
        }
        if is_due {
            self.pump(peer, now, false);
        }
        let Taken::New { words } = taken else {
            self.let_go(place);
            return None;
        };
        let frame = Frame { peer, header, words, place };
        if self.rdma != Rdma::Never
            && self.take_question(peer, PeerBytes::of(&frame.header[..words * 8]), frame.payload())
        {
            self.let_go(frame.place);
            return None;
        }
        Some(frame)
    }

    /// Takes what has arrived, up to the first frame of data, which waits for being asked for; with `all`, those behind it, too.
    /// Whether nothing is left.
    pub(crate) fn take_frames(&mut self, all: bool) -> bool {
        for _ in 0..MOST_TAKEN {
            if self.is_lent() || self.ready.len() >= MOST_READY || !self.may_ask_below(all) {
                return false;
            }
            let Some((way, arrival)) = self.below.next_arrival_by() else { return true };
            let new = self.take(way, arrival);
            self.ready.extend(new);
        }
        false
    }

    /// Whether the ways below bring something: not while a frame waits where it lies, which `moves` changes.
    fn may_ask_below(&mut self, moves: bool) -> bool {
        let Some(Frame { place, .. }) = self.ready.back_mut() else { return true };
        let Place::There(_, arrival) = place else { return true };
        if !moves {
            return false;
        }
        let body = arrival.payload.to_vec();
        if let Place::There(way, arrival) = core::mem::replace(place, Place::Here(body)) {
            self.below.release_by(way, arrival);
        }
        true
    }

    /// The next frame for the layer above. None is lent.
    pub(crate) fn next_frame(&mut self) -> Option<Frame> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        loop {
            let (way, arrival) = self.below.next_arrival_by()?;
            let new = self.take(way, arrival);
            if new.is_some() {
                return new;
            }
        }
    }

    #[allow(unsafe_code, reason = "views of bytes that stay where they are until they are given back")]
    pub(crate) fn lend(&mut self, frame: Frame) -> Arrival {
        let Frame { peer, header, words, .. } = frame;
        *self.lent_header = header;
        let payload = self.lent.insert(frame).payload();
        // SAFETY: what is lent is neither moved nor changed before the arrival is given back (`next_arrival`, `release`): the header
        // lies in a box of its own, a payload in its vector, or with a way that has not got it back.
        let (header, payload) = unsafe {
            (
                PeerBytes::new(self.lent_header.as_ptr(), words * 8),
                PeerBytes::new(payload.as_ptr(), payload.len()),
            )
        };
        Arrival { peer, header, payload, token: 0 }
    }

    pub(crate) fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Takes back what was lent.
    pub(crate) fn take_back(&mut self) {
        if let Some(frame) = self.lent.take() {
            self.let_go(frame.place);
        }
    }

    fn let_go(&mut self, place: Place) {
        match place {
            Place::Here(body) => self.spare = body,
            Place::There(way, arrival) => self.below.release_by(way, arrival),
        }
    }
}
