//! Notes on messages that arrive before their receive, for tools that ask for them.

use std::collections::VecDeque;

use crate::Ob1;
use crate::frame::Envelope;

/// A message that had no receive when it arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Context of the communicator.
    pub context: u32,
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Length of the message in bytes.
    pub bytes: u64,
}

/// Notes not yet asked for; none are taken while nobody wants them.
#[derive(Default)]
pub(crate) struct Notices {
    wanted: bool,
    queue: VecDeque<Notice>,
}

/// Notes that are kept, at most: those after them are lost.
const MOST: usize = 4096;

impl Notices {
    /// Takes a note, if that is wanted.
    #[inline]
    pub fn take(&mut self, envelope: &Envelope, bytes: u64) {
        if self.wanted && self.queue.len() < MOST {
            let Envelope { context, source, tag } = *envelope;
            self.queue.push_back(Notice { context, source, tag, bytes });
        }
    }
}

impl Ob1 {
    /// Says whether notes are wanted on messages that arrive before their receive.
    pub fn note_unexpected(&mut self, wanted: bool) {
        self.notices.wanted = wanted;
    }

    /// Whether [`Ob1::next_notice`] has something to give.
    #[inline]
    pub fn has_notices(&self) -> bool {
        !self.notices.queue.is_empty()
    }

    /// The oldest note.
    pub fn next_notice(&mut self) -> Option<Notice> {
        self.notices.queue.pop_front()
    }
}
