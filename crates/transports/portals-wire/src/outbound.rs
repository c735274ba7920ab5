//! What waits for the transport, for one peer.

use super::frame::{self, WORDS};
use btl::{Btl, Busy, Peer};
use mem::{PeerBytes, UserMem};
use portals_soft::{Data, End};
use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct Outbound {
    queue: VecDeque<Message>,
    /// Number of the next frame.
    number: u32,
    lost: bool,
}

struct Message {
    words: [u64; WORDS],
    /// Whether the header has left.
    begun: bool,
    data: Rest,
    ticket: u32,
    max_send: usize,
}

/// Data that has not left.
enum Rest {
    /// Whole runs are in reverse order, so that the next one is the last.
    Runs(Vec<UserMem>),
    Bytes(Vec<u8>),
}

impl Outbound {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    pub(super) fn add(&mut self, words: [u64; WORDS], data: Data<'_>, ticket: u32, max_send: usize) {
        let data = match data {
            Data::Runs(runs) => Rest::Runs(runs.iter().rev().copied().collect()),
            Data::Bytes(bytes) => Rest::Bytes(bytes.to_vec()),
        };
        self.queue.push_back(Message { words, begun: false, data, ticket, max_send });
    }

    /// Sends the only message; whether all of it has left. Its end is not reported then.
    pub(super) fn flush_now<B: Btl>(&mut self, btl: &mut B, peer: Peer) -> bool {
        let done = self.send_first(btl, peer);
        if done {
            self.queue.pop_front();
        }
        done
    }

    /// Sends what the transport takes, and reports what has left.
    pub(super) fn flush<B: Btl>(&mut self, btl: &mut B, peer: Peer, ends: &mut VecDeque<End>) {
        while self.send_first(btl, peer) {
            if let Some(message) = self.queue.pop_front() {
                ends.push_back(End { ticket: message.ticket, fine: true });
            }
        }
    }

    /// The peer is gone, and with it all that waits for it.
    pub(super) fn lose(&mut self, ends: &mut VecDeque<End>) {
        self.lost = true;
        ends.extend(self.queue.drain(..).map(|message| End { ticket: message.ticket, fine: false }));
    }

    /// Sends what it can of the first message; whether there is one and all of it has left.
    fn send_first<B: Btl>(&mut self, btl: &mut B, peer: Peer) -> bool {
        let Some(message) = self.queue.front_mut() else { return false };
        while !(message.begun && message.data.is_empty()) {
            if message.send_frame(btl, peer, self.number).is_err() {
                return false;
            }
            self.number = self.number.wrapping_add(1);
        }
        true
    }
}

impl Message {
    fn send_frame<B: Btl>(&mut self, btl: &mut B, peer: Peer, number: u32) -> Result<(), Busy> {
        let piece = [frame::piece(number)];
        self.words[0] = frame::numbered(self.words[0], number);
        let header: &[u64] = if self.begun { &piece } else { &self.words };
        match &mut self.data {
            Rest::Runs(runs) => {
                let run = runs.last().copied().unwrap_or(UserMem::EMPTY);
                let mut part = run.part(0, self.max_send);
                let taken = part.len();
                btl.send(peer, header, &mut part)?;
                match runs.last_mut() {
                    Some(run) if taken < run.len() => *run = run.part(taken, run.len()),
                    _ => drop(runs.pop()),
                }
            }
            // Few bytes, which one frame holds.
            Rest::Bytes(bytes) => {
                btl.send(peer, header, &mut PeerBytes::of(bytes))?;
                bytes.clear();
            }
        }
        self.begun = true;
        Ok(())
    }
}

impl Rest {
    fn is_empty(&self) -> bool {
        match self {
            Rest::Runs(runs) => runs.is_empty(),
            Rest::Bytes(bytes) => bytes.is_empty(),
        }
    }
}
