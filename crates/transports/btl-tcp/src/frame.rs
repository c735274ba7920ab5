//! Frames: how messages lie in the stream of bytes of a connection.
//!
//! ```text
//!   0               4               5       6       8                  8 + 8 * words
//!   payload bytes   header words    kind    check   header words …     payload …
//! ```
//!
//! The check is of the six bytes before it: a network that damages a length would have the receiver wait for bytes that never come,
//! while all that does come is taken for them, and no checksum above would see any of it.
//!
//! The first frame of the process that connected is of kind "confirmed" and has nothing else: it states that this
//! connection, of several that may have been tried, is the one. All others are messages, or move what users have exposed:
//!
//! ```text
//!   fetch      name, offset, length, get      please send that of the memory exposed under this name
//!   fetched    get           + payload        here it is; the payload goes straight into the memory of that get
//!   store      name, offset, put  + payload   goes straight into the exposed memory
//!   over       get or put, succeeded          nothing more comes for it
//! ```
//!
//! Over a peer's first connection "lane lost" reports that another one is over ([`crate::lanes`]), "apart" that the peer has
//! parted from this process ([`crate::meeting`]).
//! The last frame of a connection that is closed on purpose is "rest" ([`crate::room`]).

use btl::MAX_HEADER_WORDS;

/// Bytes before the header words.
pub(crate) const HEAD: usize = 8;
/// Bytes of a frame beside its payload, at most.
pub(crate) const OVERHEAD: usize = HEAD + 8 * MAX_HEADER_WORDS;

const MESSAGE: u8 = 0;
const CONFIRMED: u8 = 1;
const FETCH: u8 = 2;
const FETCHED: u8 = 3;
const STORE: u8 = 4;
const OVER: u8 = 5;
const REST: u8 = 6;
const LANE_LOST: u8 = 7;
const APART: u8 = 8;

/// The frame that confirms a connection.
pub(crate) const CONFIRM: [u8; HEAD] = head(0, 0, CONFIRMED);

/// The bytes are no frame of a peer that keeps to the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Broken;

/// Where the parts of the first frame lie: the header, then the payload, from byte [`HEAD`] on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    kind: u8,
    pub(crate) header: usize,
    pub(crate) payload: usize,
}

impl Extent {
    /// Bytes that must be in one piece before the frame can be taken.
    fn whole(self) -> usize {
        HEAD + self.header + if self.kind == MESSAGE { self.payload } else { 0 }
    }
}

/// The extent of the frame that begins with `bytes`, as soon as its head is there; the rest may be missing.
///
/// # Errors
/// There is no such frame, or a message of more than `most` bytes of payload.
pub(crate) fn extent(bytes: &[u8], most: usize) -> Result<Option<Extent>, Broken> {
    let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
    let payload = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]);
    let (words, kind) = (head[4], head[5]);
    if u16::from_ne_bytes([head[6], head[7]]) != check(payload, words, kind) {
        return Err(Broken);
    }
    let (payload, words) = (payload as usize, usize::from(words));
    let fits = match kind {
        MESSAGE => words <= MAX_HEADER_WORDS && payload <= most,
        FETCH => words == 4 && payload == 0,
        FETCHED => words == 1,
        STORE => words == 3,
        OVER => words == 2 && payload == 0,
        REST => words == 0 && payload == 0,
        LANE_LOST | APART => words == 1 && payload == 0,
        _ => false,
    };
    if fits { Ok(Some(Extent { kind, header: words * 8, payload })) } else { Err(Broken) }
}

/// The head of a message.
pub(crate) fn message_head(payload: usize, words: usize) -> [u8; HEAD] {
    head(payload, words, MESSAGE)
}

const fn head(payload: usize, words: usize, kind: u8) -> [u8; HEAD] {
    let [a, b, c, d] = (payload as u32).to_ne_bytes();
    let [e, f] = check(payload as u32, words as u8, kind).to_ne_bytes();
    [a, b, c, d, words as u8, kind, e, f]
}

/// Differs wherever one bit of these does: no 16 bits of the factor in a row are equal.
const fn check(payload: u32, words: u8, kind: u8) -> u16 {
    let all = payload as u64 | (words as u64) << 32 | (kind as u64) << 40;
    (all.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16
}

/// A frame that is no message. Lengths are those of the payload that follows, or is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    Fetch { name: u32, offset: u64, len: u64, get: u32 },
    Fetched { get: u32, len: usize },
    Store { name: u32, offset: u64, put: u32, len: usize },
    Over { what: u32, succeeded: bool },
    Rest,
    LaneLost { lane: u32 },
    Apart { meetings: u32 },
}

impl Control {
    /// The bytes, and how many of them there are.
    pub(crate) fn to_bytes(self) -> ([u8; OVERHEAD], usize) {
        let (kind, len, words, count) = match self {
            Control::Fetch { name, offset, len, get } => {
                (FETCH, 0, [name.into(), offset, len, get.into()], 4)
            }
            Control::Fetched { get, len } => (FETCHED, len, [get.into(), 0, 0, 0], 1),
            Control::Store { name, offset, put, len } => {
                (STORE, len, [name.into(), offset, put.into(), 0], 3)
            }
            Control::Over { what, succeeded } => (OVER, 0, [what.into(), succeeded.into(), 0, 0], 2),
            Control::Rest => (REST, 0, [0; 4], 0),
            Control::LaneLost { lane } => (LANE_LOST, 0, [lane.into(), 0, 0, 0], 1),
            Control::Apart { meetings } => (APART, 0, [meetings.into(), 0, 0, 0], 1),
        };
        let mut bytes = [0; OVERHEAD];
        bytes[..HEAD].copy_from_slice(&head(len, count, kind));
        for (at, word) in (HEAD..).step_by(8).zip(&words[..count]) {
            bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        }
        (bytes, HEAD + 8 * count)
    }

    /// As it arrived.
    fn from_words(kind: u8, payload: usize, word: impl Fn(usize) -> u64) -> Result<Control, Broken> {
        let name = |at| u32::try_from(word(at)).map_err(|_| Broken);
        Ok(match kind {
            FETCH => Control::Fetch { name: name(0)?, offset: word(1), len: word(2), get: name(3)? },
            FETCHED => Control::Fetched { get: name(0)?, len: payload },
            STORE => Control::Store { name: name(0)?, offset: word(1), put: name(2)?, len: payload },
            REST => Control::Rest,
            LANE_LOST => Control::LaneLost { lane: name(0)? },
            APART => Control::Apart { meetings: name(0)? },
            _ => Control::Over { what: name(0)?, succeeded: word(1) == 1 },
        })
    }
}

/// The first frame of what has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum First<'a> {
    Message(Message<'a>),
    /// Its payload may not have come.
    Control(Control),
}

/// A message in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) header: &'a [u8],
    pub(crate) payload: &'a [u8],
}

/// Bytes that arrived on a connection and were not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// Bytes that are read at a time, if no frame is longer.
const GULP: usize = 64 << 10;

impl Input {
    /// Room for what is read next: at least what the first frame, of at most `most` bytes of payload, lacks, and at least
    /// `least` bytes. Moves what is there, so no view of it may be in use.
    pub(crate) fn room(&mut self, most: usize, least: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let needed = match extent(self.waiting(), most) {
            Ok(Some(extent)) => extent.whole().max(GULP),
            _ => GULP,
        };
        if self.start + needed > self.bytes.len() || self.end + least > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let needed = needed.max(self.end + least);
            if needed > self.bytes.len() {
                self.bytes.resize(needed, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// `count` bytes were read into the room.
    pub(crate) fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The first frame, if all of it is there that must be.
    ///
    /// # Errors
    /// As [`extent`].
    pub(crate) fn first(&self, most: usize) -> Result<Option<First<'_>>, Broken> {
        let waiting = self.waiting();
        let Some(extent) = extent(waiting, most)? else { return Ok(None) };
        let Some(whole) = waiting.get(HEAD..extent.whole()) else { return Ok(None) };
        let (header, payload) = whole.split_at(extent.header);
        if extent.kind == MESSAGE {
            return Ok(Some(First::Message(Message { header, payload })));
        }
        let word =
            |at: usize| u64::from_ne_bytes(*header[8 * at..].first_chunk().expect("within the header"));
        Control::from_words(extent.kind, extent.payload, word).map(|control| Some(First::Control(control)))
    }

    /// The first message, of `bytes` bytes of header and payload, is over.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + HEAD + bytes).min(self.end);
    }

    /// The control frame that [`Input::first`] gave is taken; its payload is next.
    pub(crate) fn consume_control(&mut self, control: Control) {
        self.consume(control.to_bytes().1 - HEAD);
    }

    /// Takes up to `most` bytes of payload.
    pub(crate) fn take(&mut self, most: usize) -> &[u8] {
        let from = self.start;
        self.start = self.end.min(from.saturating_add(most));
        &self.bytes[from..self.start]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;
    use mem::UserMem;
    use proptest::prelude::*;

    const MOST: usize = 100_000;

    #[allow(unsafe_code, reason = "a view of a test's bytes")]
    fn add(output: &mut Output, header: &[u64], payload: &mut [u8]) {
        // SAFETY: the payload outlives the call that uses it.
        output.add(header, &mut unsafe { UserMem::of(payload) });
    }

    /// Moves bytes from `output` to `input` in pieces, and collects the messages that come whole.
    fn carry(
        output: &mut Output,
        input: &mut Input,
        pieces: &mut impl Iterator<Item = usize>,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut got = Vec::new();
        while !output.is_empty() {
            let room = input.room(MOST, 1);
            let count = pieces.next().unwrap_or(usize::MAX).clamp(1, room.len()).min(output.waiting().len());
            room[..count].copy_from_slice(&output.waiting()[..count]);
            input.filled(count);
            output.sent(count);
            while let Some(First::Message(Message { header, payload })) = input.first(MOST).expect("frames") {
                got.push((header.to_vec(), payload.to_vec()));
                let bytes = header.len() + payload.len();
                input.consume(bytes);
            }
        }
        got
    }

    /// Gives rubbish heads that have their check, of all kinds, mostly with the lengths that these have.
    fn seal_heads(bytes: &mut [u8]) {
        let mut at = 0;
        while let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<HEAD>()) {
            let [payload, words, kind, odd, ..] = *place;
            let (kind, is_odd) = (kind % (APART + 1), odd % 16 == 0);
            let usual = [words % 9, 0, 4, 1, 3, 2, 0, 1, 1][usize::from(kind)];
            let words = usize::from(if is_odd { words } else { usual });
            let has_payload = is_odd || matches!(kind, MESSAGE | FETCHED | STORE);
            let payload = usize::from(payload) * usize::from(has_payload);
            *place = head(payload, words, kind);
            // Of what is no message the test takes no payload.
            at += HEAD + 8 * words + if kind == MESSAGE { payload } else { 0 };
        }
    }

    proptest! {
        /// However the stream is cut, the messages come out as they went in.
        #[test]
        fn messages_survive_any_cut(
            messages in proptest::collection::vec((proptest::collection::vec(any::<u64>(), 0..=8), 0..MOST), 1..20),
            pieces in proptest::collection::vec(1usize..200_000, 0..200),
        ) {
            let (mut output, mut input) = (Output::default(), Input::default());
            let mut expected = Vec::new();
            for (seed, (header, len)) in messages.iter().enumerate() {
                let mut payload: Vec<u8> = (0..*len).map(|i| (i * 7 + seed) as u8).collect();
                add(&mut output, header, &mut payload);
                expected.push((header.iter().flat_map(|word| word.to_ne_bytes()).collect(), payload));
            }
            let got = carry(&mut output, &mut input, &mut pieces.into_iter());
            prop_assert_eq!(got, expected);
            prop_assert!(input.waiting().is_empty());
        }

        /// Rubbish is refused or taken for messages within the bounds; nothing panics, nothing grows beyond a frame.
        #[test]
        fn rubbish_stays_within_bounds(bytes in proptest::collection::vec(any::<u8>(), 0..3000), sealed in any::<bool>()) {
            let mut bytes = bytes;
            if sealed {
                seal_heads(&mut bytes);
            }
            let mut input = Input::default();
            for piece in bytes.chunks(17) {
                let room = input.room(MOST, 1);
                room[..piece.len()].copy_from_slice(piece);
                input.filled(piece.len());
                loop {
                    match input.first(MOST) {
                        Ok(Some(First::Control(control))) => input.consume_control(control),
                        Ok(Some(First::Message(Message { header, payload }))) => {
                            prop_assert!(header.len() <= 64 && payload.len() <= MOST);
                            let bytes = header.len() + payload.len();
                            input.consume(bytes);
                        }
                        Ok(None) => break,
                        Err(Broken) => return Ok(()),
                    }
                }
            }
            prop_assert!(input.bytes.len() <= MOST + OVERHEAD + GULP);
        }
    }

    #[test]
    fn heads_are_checked() {
        assert_eq!(extent(&head(10, 2, 0), 10), Ok(Some(Extent { kind: MESSAGE, header: 16, payload: 10 })));
        for wrong in [
            head(11, 2, 0),
            head(10, 9, 0),
            head(10, 2, 2),
            head(1, 4, 2),
            head(0, 4, 3),
            head(0, 2, 4),
            head(1, 2, 5),
            head(0, 0, 7),
            head(1, 0, 6),
            head(0, 2, 7),
            head(0, 0, 8),
            head(0, 0, 1),
            head(u32::MAX as usize, 0, 0),
        ] {
            assert_eq!(extent(&wrong, 10), Err(Broken));
        }
        assert_eq!(extent(&CONFIRM[..7], 10), Ok(None));
        assert_eq!(extent(&CONFIRM, 10), Err(Broken));
    }

    #[test]
    fn a_damaged_bit_of_a_head_is_seen() {
        for (payload, words) in [(0, 0), (0, 4), (1, 8), (1000, 3), (65_536, 4), (MOST, 8)] {
            for bit in 0..8 * HEAD {
                let mut bytes = message_head(payload, words);
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(extent(&bytes, usize::MAX), Err(Broken), "bit {bit} of {payload}, {words}");
            }
        }
    }
}
