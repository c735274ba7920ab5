//! What the transport's messages say.
//!
//! ```text
//!   SEND           words 24..32 | payload bytes 0..24     header words   payload
//!   GET_INIT       words 24..32 | payload bytes 0..24     context u32   address u64   key 2 x u64   header words
//!   RDMA_COMPLETE  context u32
//!   REPORT         count u32
//! ```
//! Where the network does not show a message's sender, each begins with the sender's peer number.
//!
//! Numbers are in the byte order of the machine.

use btl::MAX_HEADER_WORDS;
use mem::PeerBytes;

/// An inline message.
pub const SEND: u8 = 0;
/// An Eager GET request.
pub const GET_INIT: u8 = 2;
/// The end of an Eager GET.
pub const RDMA_COMPLETE: u8 = 3;
/// How many inline messages were treated, where no network bounds those under way ([`btl::Credits`]).
pub const REPORT: u8 = 4;

const HEADER_MOST: usize = MAX_HEADER_WORDS * 8;
/// Largest header part of an inline message in bytes.
pub const SEND_MOST: usize = 4 + HEADER_MOST;
/// Largest Eager GET request in bytes, with the sender's number.
pub const GET_INIT_MOST: usize = 4 + GET_INIT_FIXED + HEADER_MOST;
const GET_INIT_FIXED: usize = 4 + 4 + 8 + 16;

/// The bytes of a message before its payload, made on the stack.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    bytes: [u8; GET_INIT_MOST],
    len: usize,
}

impl Head {
    fn new() -> Head {
        Head { bytes: [0; GET_INIT_MOST], len: 0 }
    }

    /// The head of an inline message; `from` where the network does not show the sender.
    #[inline(always)]
    pub fn send(from: Option<u32>, words: &[u64], payload: usize) -> Head {
        let mut head = Head::new();
        head.from(from);
        head.push(&(sizes(words, payload)).to_ne_bytes());
        head.words(words);
        head
    }

    /// An Eager GET request.
    pub(crate) fn get_init(from: Option<u32>, request: &GetInit) -> Head {
        let mut head = Head::new();
        head.from(from);
        head.push(&sizes(request.header(), request.len).to_ne_bytes());
        head.push(&request.context.to_ne_bytes());
        head.push(&request.addr.to_ne_bytes());
        head.push(&request.key[0].to_ne_bytes());
        head.push(&request.key[1].to_ne_bytes());
        head.words(request.header());
        head
    }

    /// The end of the Eager GET that its sender calls `context`.
    pub fn complete(from: Option<u32>, context: u32) -> Head {
        let mut head = Head::new();
        head.from(from);
        head.push(&context.to_ne_bytes());
        head
    }

    /// So many inline messages were treated here.
    pub fn report(from: Option<u32>, count: u32) -> Head {
        Head::complete(from, count)
    }

    fn from(&mut self, from: Option<u32>) {
        if let Some(from) = from {
            self.push(&from.to_ne_bytes());
        }
    }

    #[inline(always)]
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline(always)]
    fn words(&mut self, words: &[u64]) {
        let room = self.bytes[self.len..].as_chunks_mut().0;
        for (place, word) in room.iter_mut().zip(words) {
            *place = word.to_ne_bytes();
        }
        self.len += words.len() * 8;
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

fn sizes(words: &[u64], payload: usize) -> u32 {
    (words.len() as u32) << 24 | payload as u32
}

/// An Eager GET request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetInit {
    /// Words of the header.
    pub words: u8,
    /// The message's header.
    pub header: [u64; MAX_HEADER_WORDS],
    /// Payload bytes. A network whose GET is aligned fetches up to the next multiple of that.
    pub len: usize,
    /// The sender's name for it.
    pub context: u32,
    /// Where the payload is, as the network addresses it.
    pub addr: u64,
    /// What the network names the sender's registration by.
    pub key: [u64; 2],
}

impl GetInit {
    fn header(&self) -> &[u64] {
        &self.header[..usize::from(self.words)]
    }

    /// Reads a request; `None` when it does not hold together.
    pub fn parse(bytes: PeerBytes<'_>) -> Option<GetInit> {
        let (words, len) = parse_sizes(bytes)?;
        let long = |at: usize| bytes.part(at, 8).word(0);
        let mut context = [0; 4];
        bytes.part(4, 4).copy_to(&mut context);
        if bytes.len() != GET_INIT_FIXED + usize::from(words) * 8 {
            return None;
        }
        let mut header = [0; MAX_HEADER_WORDS];
        for (index, word) in header[..usize::from(words)].iter_mut().enumerate() {
            *word = long(GET_INIT_FIXED + index * 8);
        }
        Some(GetInit {
            words,
            header,
            len,
            context: u32::from_ne_bytes(context),
            addr: long(8),
            key: [long(16), long(24)],
        })
    }
}

/// Header words and payload bytes, from the first word.
#[inline]
fn parse_sizes(bytes: PeerBytes<'_>) -> Option<(u8, usize)> {
    let sizes = parse_number(bytes)?;
    let words = (sizes >> 24) as u8;
    (usize::from(words) <= MAX_HEADER_WORDS).then_some((words, (sizes & 0xff_ffff) as usize))
}

/// Header and payload of an inline message; `None` when it does not hold together.
#[inline]
pub fn parse_send(bytes: PeerBytes<'static>) -> Option<(PeerBytes<'static>, PeerBytes<'static>)> {
    let (words, payload) = parse_sizes(bytes)?;
    let header = usize::from(words) * 8;
    (bytes.len() == 4 + header + payload).then(|| (bytes.part(4, header), bytes.part(4 + header, payload)))
}

/// A 32-bit number at the start of `bytes`.
#[inline]
pub fn parse_number(bytes: PeerBytes<'_>) -> Option<u32> {
    let mut number = [0; 4];
    (bytes.copy_to(&mut number) == 4).then_some(u32::from_ne_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::{GetInit, Head, parse_number, parse_send};
    use btl::MAX_HEADER_WORDS;
    use mem::PeerBytes;

    #[test]
    fn requests_survive_the_wire() {
        for words in 0..=MAX_HEADER_WORDS as u8 {
            let mut header = [0; MAX_HEADER_WORDS];
            (1..).zip(&mut header[..usize::from(words)]).for_each(|(n, word)| *word = n * 0x0101_0101_0101);
            let key = [3, u64::MAX];
            let request = GetInit { words, header, len: 8191, context: 77, addr: 1 << 40, key };
            let head = Head::get_init(None, &request);
            assert_eq!(GetInit::parse(PeerBytes::of(head.as_bytes())), Some(request));
            let cut = &head.as_bytes()[..head.as_bytes().len() - 1];
            assert_eq!(GetInit::parse(PeerBytes::of(cut)), None);
        }
    }

    #[test]
    fn inline_messages_must_hold_together() {
        let head = Head::send(Some(9), &[1, 2], 3);
        let message: &'static [u8] = [head.as_bytes(), b"abc"].concat().leak();
        let bytes = PeerBytes::of(message);
        assert_eq!(parse_number(bytes), Some(9));
        let (header, payload) = parse_send(bytes.part(4, 1000)).expect("whole");
        assert_eq!((header.word(1), payload.to_vec().as_slice()), (2, &b"abc"[..]));
        assert!(parse_send(bytes.part(4, message.len() - 5)).is_none());
        assert!(parse_send(PeerBytes::of(&[255; 40])).is_none());
    }
}
