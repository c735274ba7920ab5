//! CH3's two lists.

use btl::{Peer, RemoteKey};
use mem::PeerBytes;
use pml::{Envelope, Pattern};
use std::collections::VecDeque;

/// A message without a receive.
pub(crate) struct Kept {
    pub peer: Peer,
    pub envelope: Envelope,
    pub total: u64,
    /// The sender's request.
    pub sender: u32,
    pub body: Body,
}

pub(crate) enum Body {
    /// It is here; a synchronous sender waits for the match.
    Whole { bytes: Vec<u8>, sync: bool },
    /// It is with its sender.
    Offered(Option<RemoteKey>),
}

/// Messages without a receive, oldest first.
#[derive(Default)]
pub(crate) struct Unexpected {
    list: VecDeque<Kept>,
    bytes: u64,
    pub peak: u64,
}

impl Unexpected {
    pub fn push(&mut self, kept: Kept) {
        self.bytes += kept.bytes().len() as u64;
        self.peak = self.peak.max(self.bytes);
        self.list.push_back(kept);
    }

    /// The oldest that matches.
    pub fn find(&self, pattern: &Pattern) -> Option<&Kept> {
        self.list.iter().find(|kept| pattern.matches(&kept.envelope))
    }

    pub fn take(&mut self, pattern: &Pattern) -> Option<Kept> {
        self.take_if(|kept| pattern.matches(&kept.envelope))
    }

    /// Takes the oldest for which `wanted` holds.
    pub fn take_if(&mut self, wanted: impl FnMut(&Kept) -> bool) -> Option<Kept> {
        let index = self.list.iter().position(wanted)?;
        let kept = self.list.remove(index)?;
        self.bytes -= kept.bytes().len() as u64;
        Some(kept)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Bytes of payload.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Kept {
    /// The payload that is here.
    pub fn bytes(&self) -> PeerBytes<'_> {
        match &self.body {
            Body::Whole { bytes, .. } => PeerBytes::of(bytes),
            Body::Offered(_) => PeerBytes::of(&[]),
        }
    }
}
