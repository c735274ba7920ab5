//! The header of an active message: writing and reading.

use btl::{Class, Peer};
use mem::PeerBytes;

use crate::{Head, MAX_WORDS, Message};

/// What a frame is to the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    Request = 0,
    Answer = 1,
    /// Nothing but a count of credits.
    Report = 2,
}

/// A header as read from a peer, or before it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub sort: Sort,
    /// Among the requests of its sender, modulo 2^16; 0 for the others.
    pub number: u16,
    /// The count of credits that rides on the frame.
    pub acknowledged: u32,
    kind: u8,
    count: usize,
    /// The first is made when the frame is sent.
    words: [u64; MAX_WORDS + 1],
}

impl Header {
    /// # Panics
    /// When there are more than [`MAX_WORDS`] words.
    pub fn new(sort: Sort, head: &Head<'_>) -> Header {
        let mut words = [0; MAX_WORDS + 1];
        words[0] = u64::from(head.class.byte(head.kind));
        words[1..=head.words.len()].copy_from_slice(head.words);
        Header { sort, number: 0, acknowledged: 0, kind: head.kind, count: head.words.len(), words }
    }

    pub fn report(class: Class) -> Header {
        Header::new(Sort::Report, &Head { class, kind: 0, words: &[] })
    }

    pub fn numbered(self, number: u16) -> Header {
        Header { number, ..self }
    }

    /// The words to send, with this count of credits.
    pub fn with<R>(&self, acknowledged: u32, send: impl FnOnce(&[u64]) -> R) -> R {
        let mut words = self.words;
        words[0] |= (self.sort as u64) << 8 | u64::from(self.number) << 16 | u64::from(acknowledged) << 32;
        send(&words[..=self.count])
    }

    /// The header of a frame, each word of which is read once; `None`: no honest peer sends it.
    pub fn read(header: PeerBytes<'_>) -> Option<Header> {
        let first = header.word(0);
        let sort = match (first >> 8) as u8 {
            0 => Sort::Request,
            1 => Sort::Answer,
            2 => Sort::Report,
            _ => return None,
        };
        let count = (header.len() / 8).checked_sub(1).filter(|&count| count <= MAX_WORDS)?;
        let mut words = [0; MAX_WORDS + 1];
        words[0] = first & 0xff;
        for (index, word) in words.iter_mut().enumerate().skip(1).take(count) {
            *word = header.word(index);
        }
        let kind = first as u8 % Class::KINDS;
        Some(Header {
            sort,
            number: (first >> 16) as u16,
            acknowledged: (first >> 32) as u32,
            kind,
            count,
            words,
        })
    }

    pub fn message<'a>(&self, from: Peer, payload: PeerBytes<'a>) -> Message<'a> {
        let mut words = [0; MAX_WORDS];
        words.copy_from_slice(&self.words[1..]);
        let Header { sort, kind, count, .. } = *self;
        Message { from, is_answer: sort == Sort::Answer, kind, payload, words, count }
    }
}
