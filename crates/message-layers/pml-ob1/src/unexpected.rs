//! Messages that arrived before their receive.
//!
//! Each is queued under its exact envelope. A receive with wildcards looks under the same wildcards, in an index
//! that is made when the first of its shape asks and kept up from then on. So programs without wildcards pay
//! nothing for them, and every search is one look into a hash table.

use btl::Peer;
use mem::{PeerBytes, UserMem};
use pml::Envelope;

use crate::fifos::Fifos;
use crate::frame::Body;
use crate::payload::{Buffers, Payload};
use crate::pool::Pool;
use crate::posted::{SHAPES, generalise, shape};

/// A message without a receive.
pub(crate) struct Message {
    pub peer: Peer,
    pub envelope: Envelope,
    pub body: Body,
    pub payload: Payload,
    arrival: u64,
}

impl Message {
    /// Length of the message in bytes.
    pub fn total(&self) -> u64 {
        match self.body {
            Body::Rendezvous(offer) => offer.total,
            _ => self.payload.bytes().len() as u64,
        }
    }
}

pub(crate) struct Unexpected {
    messages: Pool<Message>,
    /// By exact envelope.
    exact: Fifos<31>,
    /// By envelopes with wildcards, by shape; [0] is not used.
    wild: [Option<Fifos<31>>; SHAPES],
    buffers: Buffers,
    arrivals: u64,
    bytes: u64,
}

impl Unexpected {
    pub fn new() -> Unexpected {
        Unexpected {
            messages: Pool::new(),
            exact: Fifos::new(),
            wild: [const { None }; SHAPES],
            buffers: Buffers::default(),
            arrivals: 0,
            bytes: 0,
        }
    }

    /// Messages that a receive could find. Those claimed by a matched probe are not among them.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.exact.len()
    }

    /// Memory in bytes that kept payload takes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies payload into memory that is ours and counts it.
    pub fn keep(&mut self, body: &Body, payload: PeerBytes<'_>) -> Payload {
        if !counts(body, payload.len()) {
            return Payload::EMPTY;
        }
        let kept = self.buffers.keep(payload);
        self.bytes += kept.footprint();
        kept
    }

    /// Ends what [`Unexpected::keep`] began.
    pub fn give_back(&mut self, body: &Body, payload: Payload) {
        if counts(body, payload.bytes().len()) {
            self.bytes -= payload.footprint();
            self.buffers.give_back(payload);
        }
    }

    /// Queues a message behind all others.
    pub fn push(&mut self, peer: Peer, envelope: Envelope, body: Body, payload: Payload) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let node = self.messages.insert(Message { peer, envelope, body, payload, arrival });
        self.exact.push(&envelope, node, arrival);
        for (shape, index) in self.wild.iter_mut().enumerate() {
            if let Some(index) = index {
                index.push(&generalise(&envelope, shape), node, arrival);
            }
        }
    }

    /// The oldest message that a receive with this envelope matches.
    pub fn find(&mut self, envelope: &Envelope) -> Option<u32> {
        if self.len() == 0 {
            return None;
        }
        let shape = shape(envelope);
        if shape == 0 {
            return self.exact.first(envelope).map(|(_, node)| node);
        }
        if self.wild[shape].is_none() {
            self.make_index(shape);
        }
        self.wild[shape].as_ref()?.first(envelope).map(|(_, node)| node)
    }

    /// Takes the oldest message of exactly this envelope out and stores its payload, if its sender wants no answer to
    /// it and it fits. Returns its length.
    pub fn take_eager(&mut self, envelope: &Envelope, into: UserMem) -> Option<usize> {
        let (_, node) = self.exact.first(envelope)?;
        let message = self.messages.get_mut(node)?;
        let len = message.payload.bytes().len();
        if message.body != Body::Eager || len > into.len() {
            return None;
        }
        into.write(message.payload.bytes());
        let payload = core::mem::replace(&mut message.payload, Payload::EMPTY);
        self.give_back(&Body::Eager, payload);
        self.claim(node);
        self.messages.discard(node);
        Some(len)
    }

    /// The message of `peer` that names `sender` as its request; for a sender that wants it back.
    pub fn find_of_sender(&self, envelope: &Envelope, peer: Peer, sender: u32) -> Option<u32> {
        self.exact.queue(envelope).find(|&node| {
            self.messages.get(node).is_some_and(|message| {
                message.peer == peer
                    && match message.body {
                        Body::Sync { sender: named } => named == sender,
                        Body::Rendezvous(offer) => offer.sender == sender,
                        _ => false,
                    }
            })
        })
    }

    /// The messages that a receive could find, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|(node, _)| self.exact.contains(*node)).map(|(_, message)| message)
    }

    pub fn get(&self, node: u32) -> Option<&Message> {
        self.messages.get(node)
    }

    /// Makes the message invisible to receives; it stays until [`Unexpected::take`].
    pub fn claim(&mut self, node: u32) {
        self.exact.remove(node);
        for index in self.wild.iter_mut().flatten() {
            index.remove(node);
        }
    }

    /// Takes the message out. Its payload goes back by [`Unexpected::give_back`].
    pub fn take(&mut self, node: u32) -> Option<Message> {
        self.claim(node);
        self.messages.remove(node)
    }

    /// Takes messages out that came whole and of which no sender waits for an answer.
    pub fn forget(&mut self, is_meant: impl Fn(&Message) -> bool) {
        let meant = |message: &Message| message.body == Body::Eager && is_meant(message);
        let visible = self.messages.iter().filter(|(node, _)| self.exact.contains(*node));
        let nodes: Vec<u32> = visible.filter(|(_, message)| meant(message)).map(|(node, _)| node).collect();
        for message in nodes.into_iter().filter_map(|node| self.take(node)).collect::<Vec<_>>() {
            self.give_back(&message.body, message.payload);
        }
    }

    #[cold]
    fn make_index(&mut self, shape: usize) {
        let mut order: Vec<(u64, u32)> = self
            .messages
            .iter()
            .filter(|(node, _)| self.exact.contains(*node))
            .map(|(node, message)| (message.arrival, node))
            .collect();
        order.sort_unstable();
        let mut index = Fifos::new();
        for (arrival, node) in order {
            if let Some(message) = self.messages.get(node) {
                index.push(&generalise(&message.envelope, shape), node, arrival);
            }
        }
        self.wild[shape] = Some(index);
    }
}

/// Whether a message with a payload of `len` bytes has a share in what is kept.
fn counts(body: &Body, len: usize) -> bool {
    match body {
        Body::Eager | Body::Sync { .. } => true,
        Body::Rendezvous(_) => len != 0,
        Body::Cancel { .. } => false,
    }
}
