//! What a connection has not taken yet: frames that were copied, and memory of users that is read when its turn comes.

use crate::frame::{Control, HEAD, message_head};
use mem::{PeerSpace, Source, UserMem};
use platform::tcp::Piece;
use std::collections::VecDeque;

/// Whose memory waits to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lender {
    /// The memory is exposed under this name, until it is concealed.
    Exposed(u32),
    /// A put, which is over when the peer reports that.
    Put,
}

#[derive(Debug)]
enum Part {
    Copied(Vec<u8>),
    Lent(UserMem, Lender),
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Part::Copied(bytes) => bytes.len(),
            Part::Lent(memory, _) => memory.len(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Output {
    parts: VecDeque<Part>,
    /// Bytes of the first part that are on their way.
    sent: usize,
    /// Bytes of copied parts.
    copied: usize,
    /// Memory of a part that was sent, to be used again.
    spare: Vec<u8>,
    /// Bytes that were added, ever, and those of them that are on their way.
    added: u64,
    gone: u64,
    /// Where, in what was added, the answers end that are not on their way yet.
    answers: VecDeque<u64>,
}

/// Writes a message as it lies in the stream to the end of `bytes`.
pub(crate) fn write_message<S: Source>(bytes: &mut Vec<u8>, header: &[u64], payload: &mut S) {
    let len = payload.remaining();
    bytes.extend(message_head(len, header.len()));
    bytes.extend(header.iter().flat_map(|word| word.to_ne_bytes()));
    let start = bytes.len();
    bytes.resize(start + len, 0);
    payload.fill(PeerSpace::of(&mut bytes[start..]));
}

/// Parts that one system call takes.
pub(crate) const MOST_PIECES: usize = 16;
/// Memory that is kept while nothing waits.
const KEPT: usize = 256 << 10;

impl Output {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes that wait in memory of this process's own.
    pub(crate) fn copied(&self) -> usize {
        self.copied
    }

    /// Answers to what the peer has asked for that are not on their way.
    pub(crate) fn answers(&self) -> usize {
        self.answers.len()
    }

    /// What was added last answers something that the peer has asked for.
    pub(crate) fn is_answer(&mut self) {
        self.answers.push_back(self.added);
    }

    /// Adds a message: `header` of at most [`btl::MAX_HEADER_WORDS`] words, and all of `payload`.
    pub(crate) fn add<S: Source>(&mut self, header: &[u64], payload: &mut S) {
        let len = payload.remaining();
        write_message(self.end(), header, payload);
        self.count(HEAD + 8 * header.len() + len);
    }

    /// Adds what is left of messages, as [`write_message`] has written them.
    pub(crate) fn add_written(&mut self, bytes: &[u8]) {
        self.end().extend_from_slice(bytes);
        self.count(bytes.len());
    }

    /// Adds what is left of a message of which `sent` bytes of `start` and then of `rest` are on their way.
    pub(crate) fn add_rest(&mut self, start: &[u8], rest: UserMem, sent: usize) {
        let mut whole = start.to_vec();
        let at = whole.len();
        whole.resize(at + rest.len(), 0);
        rest.as_bytes().copy_to(&mut whole[at..]);
        let left = &whole[sent.min(whole.len())..];
        if !left.is_empty() {
            self.add_written(left);
        }
    }

    pub(crate) fn add_control(&mut self, control: Control) {
        let (bytes, len) = control.to_bytes();
        self.end().extend_from_slice(&bytes[..len]);
        self.count(len);
    }

    /// Bytes were copied to the end.
    fn count(&mut self, bytes: usize) {
        self.copied += bytes;
        self.added += bytes as u64;
    }

    /// Adds the payload of the control frame before it.
    pub(crate) fn lend(&mut self, memory: UserMem, lender: Lender) {
        if !memory.is_empty() {
            self.added += memory.len() as u64;
            self.parts.push_back(Part::Lent(memory, lender));
        }
    }

    /// The copied bytes at the end.
    fn end(&mut self) -> &mut Vec<u8> {
        if !matches!(self.parts.back(), Some(Part::Copied(_))) {
            self.parts.push_back(Part::Copied(std::mem::take(&mut self.spare)));
        }
        match self.parts.back_mut() {
            Some(Part::Copied(bytes)) => bytes,
            _ => unreachable!("just added"),
        }
    }

    /// The memory exposed as `name` is no longer lent: what has not been sent of it is copied.
    pub(crate) fn keep(&mut self, name: u32) {
        for (index, part) in self.parts.iter_mut().enumerate() {
            if let Part::Lent(memory, Lender::Exposed(lent)) = *part
                && lent == name
            {
                let sent = if index == 0 { std::mem::take(&mut self.sent) } else { 0 };
                let mut bytes = vec![0; memory.len() - sent];
                memory.part(sent, usize::MAX).as_bytes().copy_to(&mut bytes);
                self.copied += bytes.len();
                *part = Part::Copied(bytes);
            }
        }
    }

    /// All bytes that wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> Vec<u8> {
        let parts = self.parts.iter().map(|part| match part {
            Part::Copied(bytes) => bytes.clone(),
            Part::Lent(memory, _) => memory.as_bytes().to_vec(),
        });
        parts.collect::<Vec<_>>().concat().split_off(self.sent)
    }

    /// What is to be sent next; how many pieces that is.
    pub(crate) fn pieces(&self, pieces: &mut [Piece; MOST_PIECES]) -> usize {
        let mut sent = self.sent;
        for (piece, part) in pieces.iter_mut().zip(&self.parts) {
            *piece = match part {
                Part::Copied(bytes) => Piece::new(bytes.as_ptr() as usize + sent, bytes.len() - sent),
                Part::Lent(memory, _) => Piece::new(memory.address() + sent, memory.len() - sent),
            };
            sent = 0;
        }
        self.parts.len().min(MOST_PIECES)
    }

    /// The next `count` bytes are on their way.
    pub(crate) fn sent(&mut self, count: usize) {
        self.gone += count as u64;
        while self.answers.front().is_some_and(|&end| end <= self.gone) {
            self.answers.pop_front();
        }
        self.sent += count;
        while let Some(first) = self.parts.front()
            && self.sent >= first.len()
        {
            self.sent -= first.len();
            if let Some(Part::Copied(mut bytes)) = self.parts.pop_front() {
                self.copied -= bytes.len();
                bytes.clear();
                bytes.shrink_to(KEPT);
                self.spare = bytes;
            }
        }
        // A part that others are added to must not grow for ever.
        if let Some(Part::Copied(bytes)) = self.parts.front_mut()
            && self.sent > bytes.len() / 2
        {
            bytes.drain(..self.sent);
            self.copied -= std::mem::take(&mut self.sent);
        }
    }
}
