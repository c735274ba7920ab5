//! What is remembered of one peer, for one class.

use std::collections::{BTreeMap, VecDeque};

use btl::{BadFrame, Btl, Busy, Class, Credits, Peer};
use mem::{PeerBytes, PeerSpace, Source};

use crate::WINDOW;
use crate::frame::{Header, Sort};

/// A pair of processes, for one class, as one of them sees it.
#[derive(Debug)]
pub(crate) struct Pair {
    credits: Credits,
    /// Number of the next request that is sent, and of the one that is handed over next.
    next: u16,
    expected: u16,
    /// Requests that came before their turn.
    early: BTreeMap<u16, Kept>,
    /// Answers that wait for room.
    kept: VecDeque<Kept>,
    /// Requests whose handler has returned and that count until the answers are sent.
    unanswered: u32,
    /// The pair is among those with something that waits for room.
    pub listed: bool,
}

/// A frame that is ours.
#[derive(Debug)]
pub(crate) struct Kept {
    pub header: Header,
    pub payload: Box<[u8]>,
}

impl Kept {
    /// A frame with all that is left of `payload`.
    pub fn copy<S: Source>(header: Header, payload: &mut S) -> Kept {
        let mut bytes = vec![0; payload.remaining()].into_boxed_slice();
        payload.fill(PeerSpace::of(&mut bytes));
        Kept { header, payload: bytes }
    }
}

impl Default for Pair {
    fn default() -> Pair {
        Pair {
            credits: Credits::new(WINDOW),
            next: 0,
            expected: 0,
            early: BTreeMap::new(),
            kept: VecDeque::new(),
            unanswered: 0,
            listed: false,
        }
    }
}

impl Pair {
    /// Sends a frame, and with it the count of credits.
    pub fn send<B: Btl, S: Source>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        header: &Header,
        payload: &mut S,
    ) -> Result<(), Busy> {
        let acknowledged = self.credits.report();
        header.with(acknowledged, |words| btl.send(peer, words, payload))?;
        self.credits.reported(acknowledged);
        Ok(())
    }

    pub fn may_request(&self) -> bool {
        self.credits.may_send()
    }

    pub fn next_number(&self) -> u16 {
        self.next
    }

    /// The transport took a request.
    pub fn requested(&mut self) {
        self.credits.sent();
        self.next = self.next.wrapping_add(1);
    }

    pub fn outstanding(&self) -> u32 {
        self.credits.outstanding()
    }

    /// Takes the count of credits that a frame brings.
    pub fn returned(&mut self, header: &Header) -> Result<(), BadFrame> {
        self.credits.returned(header.acknowledged)
    }

    /// Takes a request; whether its turn is now. One that came too early is copied.
    pub fn arrived(&mut self, header: &Header, payload: PeerBytes<'_>) -> Result<bool, BadFrame> {
        let ahead = header.number.wrapping_sub(self.expected);
        if u32::from(ahead) >= WINDOW || self.early.contains_key(&header.number) {
            return Err(BadFrame);
        }
        self.credits.arrived()?;
        if ahead == 0 {
            self.expected = self.expected.wrapping_add(1);
            return Ok(true);
        }
        let kept = Kept { header: *header, payload: payload.to_vec().into() };
        self.early.insert(header.number, kept);
        Ok(false)
    }

    /// The request whose turn it is, if it came early.
    pub fn early(&mut self) -> Option<Kept> {
        let kept = self.early.remove(&self.expected)?;
        self.expected = self.expected.wrapping_add(1);
        Some(kept)
    }

    /// The handler of a request has returned.
    pub fn acknowledged(&mut self) {
        if self.has_kept() {
            self.unanswered += 1;
        } else {
            self.credits.acknowledged();
        }
    }

    pub fn keep(&mut self, answer: Kept) {
        self.kept.push_back(answer);
    }

    pub fn has_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether credits must be given back to the peer.
    pub fn owes(&self) -> bool {
        self.credits.owes()
    }

    /// Whether something waits for room.
    pub fn waits(&self) -> bool {
        self.has_kept() || self.owes()
    }

    /// Sends the oldest kept answer, or the report that is due; whether the transport took it.
    pub fn send_waiting<B: Btl>(&mut self, btl: &mut B, class: Class, peer: Peer) -> bool {
        let Some(Kept { header, payload }) = self.kept.pop_front() else {
            return self.owes()
                && self.send(btl, peer, &Header::report(class), &mut PeerBytes::of(&[])).is_ok();
        };
        debug_assert!(header.sort == Sort::Answer);
        if self.send(btl, peer, &header, &mut PeerBytes::of(&payload)).is_err() {
            self.kept.push_front(Kept { header, payload });
            return false;
        }
        if !self.has_kept() {
            for _ in 0..std::mem::take(&mut self.unanswered) {
                self.credits.acknowledged();
            }
        }
        true
    }
}
