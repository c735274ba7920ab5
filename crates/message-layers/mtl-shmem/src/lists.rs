//! The two lists that the library matches by: receives without a message, messages without a receive.

use mem::{PeerBytes, UserMem};
use mtl::{Message, Peer, Posted, Want};
use std::collections::VecDeque;

/// A receive without a message.
pub(crate) struct Receive {
    pub(crate) name: Posted,
    pub(crate) want: Want,
    pub(crate) into: UserMem,
    pub(crate) cookie: u64,
}

/// A message without a receive.
pub(crate) struct Unexpected {
    pub(crate) message: Message,
    pub(crate) body: Body,
}

/// Where its payload is.
pub(crate) enum Body {
    /// Here.
    Here(Vec<u8>),
    /// With its sender, under a number.
    There(u32),
}

#[derive(Default)]
pub(crate) struct Lists {
    posted: VecDeque<Receive>,
    unexpected: VecDeque<Unexpected>,
    next_name: u32,
}

impl Lists {
    /// Posts a receive behind all others.
    pub(crate) fn post(&mut self, want: &Want, into: UserMem, cookie: u64) -> Posted {
        self.next_name = self.next_name.wrapping_add(1);
        let name = Posted(self.next_name);
        self.posted.push_back(Receive { name, want: *want, into, cookie });
        name
    }

    /// Takes the oldest receive that wants a message.
    pub(crate) fn match_message(&mut self, from: Peer, bits: u64) -> Option<Receive> {
        let place = self.posted.iter().position(|receive| receive.want.takes(from, bits))?;
        self.posted.remove(place)
    }

    /// Takes a receive out.
    pub(crate) fn withdraw(&mut self, name: Posted) -> Option<Receive> {
        let place = self.posted.iter().position(|receive| receive.name == name)?;
        self.posted.remove(place)
    }

    /// Takes out the receives that ask for `peer` alone.
    pub(crate) fn withdraw_from(&mut self, peer: Peer) -> VecDeque<Receive> {
        let (gone, stays) =
            self.posted.drain(..).partition(|receive: &Receive| receive.want.from == Some(peer));
        self.posted = stays;
        gone
    }

    /// Keeps a message.
    pub(crate) fn keep(&mut self, message: Message, body: Body) {
        self.unexpected.push_back(Unexpected { message, body });
    }

    /// The oldest message that a receive would get.
    pub(crate) fn find(&self, want: &Want) -> Option<usize> {
        self.unexpected.iter().position(|kept| want.takes(kept.message.from, kept.message.bits))
    }

    pub(crate) fn message(&self, place: usize) -> Option<&Message> {
        self.unexpected.get(place).map(|kept| &kept.message)
    }

    pub(crate) fn take(&mut self, place: usize) -> Option<Unexpected> {
        self.unexpected.remove(place)
    }
}

/// Copies a payload that is here; the bytes stored.
pub(crate) fn pour(bytes: &[u8], into: UserMem) -> u64 {
    into.write(PeerBytes::of(bytes)) as u64
}
