//! Notices of messages that arrive before their receive, for tools that ask for them.

use std::collections::VecDeque;

use crate::Envelope;

/// A message that had no receive when it arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// What it is matched by.
    pub envelope: Envelope,
    /// Length of the message in bytes.
    pub bytes: u64,
}

/// Notices that no tool has taken yet; none are added while no tool wants them.
#[derive(Debug, Default)]
pub struct Notices {
    wanted: bool,
    queue: VecDeque<Notice>,
}

/// Notices that are kept, at most; those after them are lost.
const MOST: usize = 4096;

impl Notices {
    /// Sets whether notices are wanted.
    pub fn want(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// Adds a notice, if it is wanted.
    #[inline]
    pub fn add(&mut self, envelope: &Envelope, bytes: u64) {
        if self.wanted && self.queue.len() < MOST {
            self.queue.push_back(Notice { envelope: *envelope, bytes });
        }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes the oldest notice.
    pub fn take(&mut self) -> Option<Notice> {
        self.queue.pop_front()
    }
}
