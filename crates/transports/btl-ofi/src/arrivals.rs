//! Completions, and frames that have arrived.

use btl::{Arrival, Peer};
use mem::PeerBytes;
use ofi::{BATCH, Completion};
use rdma::wire;

use crate::cookie::{INJECT, KIND, RECEIVE, SEND, TRANSFER};
use crate::plan::PREFIX;
use crate::receives::Arrived;
use crate::state::Ofi;

/// Batches of completions taken in one turn.
const BATCHES_PER_TURN: usize = 32;

/// Set in an arrival's token where it lies in an Eager GET buffer.
const FETCHED: u64 = 1 << 32;

impl Ofi {
    /// Makes the receive buffers and posts them, and tries a send buffer; whether there is memory for them.
    pub(crate) fn make_receives(&mut self) -> bool {
        for _ in 0..self.plan.receives {
            if !self.receives.make(&mut self.memory.pools(&mut self.endpoint)) {
                break;
            }
        }
        self.receives.post(&mut self.endpoint);
        let sends = self.take_send_buffer().map(|buffer| self.sends.give(buffer));
        self.receives.is_made() && sends.is_some()
    }

    fn repost(&mut self, buffer: u32) {
        self.receives.repost(buffer, &mut self.endpoint);
    }

    /// Takes completions of the provider, a bounded number of them.
    pub(crate) fn take_completions(&mut self) {
        for _ in 0..BATCHES_PER_TURN {
            let mut read = [None; BATCH];
            let mut count = 0;
            self.endpoint.poll(|completion| {
                if let Some(place) = read.get_mut(count) {
                    *place = Some(completion);
                }
                count += 1;
            });
            read.iter().flatten().for_each(|completion| self.take(completion));
            if count < BATCH {
                return;
            }
        }
    }

    fn take(&mut self, completion: &Completion) {
        let rest = completion.cookie & !KIND;
        match completion.cookie & KIND {
            RECEIVE => self.on_frame(rest as u32, completion),
            SEND => {
                self.messages_out -= 1;
                let connection = self.in_send[rest as usize].0;
                self.frame_left(rest as u32);
                self.check_message(connection, completion);
            }
            INJECT => {
                self.messages_out -= 1;
                if let Some(connection) = completion.peer.and_then(|address| self.peers.at(address)) {
                    self.check_message(connection, completion);
                }
            }
            TRANSFER => self.on_transfer(rest as u32, completion.error),
            _ => {}
        }
    }

    /// A message that did not leave ends its peer: the next ones would miss it.
    fn check_message(&mut self, connection: u32, completion: &Completion) {
        if completion.error != 0 {
            let words = self.endpoint.words(completion.error);
            self.lose(connection, words);
        }
    }

    fn on_frame(&mut self, buffer: u32, completion: &Completion) {
        let len = completion.len as usize;
        let frame = self.receives.view(buffer, len);
        let from = (completion.error == 0).then(|| self.sender(frame, completion)).flatten();
        let Some(peer) = from else {
            self.stats.dropped += u64::from(completion.error == 0);
            return self.repost(buffer);
        };
        let kind = (frame.word(0) >> 56) as u8;
        let connection = self.connection_to(peer);
        if kind == wire::SEND {
            let counted = connection.map(|connection| self.peers.get_mut(connection).credits.arrived());
            if counted.is_none_or(|counted| counted.is_ok()) {
                return self.receives.arrived.push_back(Arrived { peer, buffer, len });
            }
            self.stats.dropped += 1;
            return self.repost(buffer);
        }
        if let Some(connection) = connection {
            let bytes = frame.part(PREFIX + 4, len);
            match kind {
                wire::GET_INIT => self.eager.request(connection, bytes),
                wire::RDMA_COMPLETE => {
                    if let Some(name) = wire::parse_number(bytes) {
                        self.eager.done(connection, name);
                    }
                }
                wire::REPORT => self.on_report(connection, wire::parse_number(bytes)),
                _ => self.stats.dropped += 1,
            }
        }
        self.repost(buffer);
    }

    /// The peer has acknowledged so many messages.
    fn on_report(&mut self, connection: u32, count: Option<u32>) {
        let entry = self.peers.get_mut(connection);
        if count.is_some_and(|count| entry.credits.returned(count).is_ok()) {
            self.has_room_again |= std::mem::take(&mut entry.refused);
        } else {
            self.stats.dropped += 1;
        }
    }

    /// Who sent a frame of this job; `None`: it is not of this job.
    fn sender(&mut self, frame: PeerBytes<'static>, completion: &Completion) -> Option<Peer> {
        if frame.len() < PREFIX + 4 || frame.word(0) & (u64::MAX >> 8) != self.mark {
            return None;
        }
        let peer = Peer(wire::parse_number(frame.part(PREFIX, 4))?);
        if !self.peers.has(peer) {
            return None;
        }
        let known = completion.peer.and_then(|address| self.peers.at(address));
        known.is_none_or(|connection| self.peers.get(connection).peer == peer).then_some(peer)
    }

    /// The next message; what does not hold together is dropped.
    pub(crate) fn next_arrived(&mut self) -> Option<Arrival> {
        if let Some((fetched, header, payload)) = self.eager.next_fetched() {
            let token = FETCHED | u64::from(fetched.buffer);
            return Some(Arrival { peer: fetched.peer, header, payload, token });
        }
        loop {
            let Arrived { peer, buffer, len } = self.receives.arrived.pop_front()?;
            let frame = self.receives.view(buffer, len);
            if let Some((header, payload)) = wire::parse_send(frame.part(PREFIX + 4, len)) {
                return Some(Arrival { peer, header, payload, token: buffer.into() });
            }
            self.stats.dropped += 1;
            self.acknowledged(peer);
            self.repost(buffer);
        }
    }

    /// Gives an arrival's room back.
    pub(crate) fn release_arrival(&mut self, peer: Peer, token: u64) {
        if token & FETCHED != 0 {
            self.eager.release(token as u32);
        } else {
            self.acknowledged(peer);
            self.repost(token as u32);
        }
    }

    /// A message of this peer needs no memory of the network any more.
    fn acknowledged(&mut self, peer: Peer) {
        let Some(connection) = self.connection_to(peer) else { return };
        let credits = &mut self.peers.get_mut(connection).credits;
        credits.acknowledged();
        if credits.owes() {
            self.report(connection);
        }
    }
}
