//! How an envelope becomes match bits.
//!
//! ```text
//!   data of 32 bits or more                 no data, or no order of receives
//!   ┌──────┬─────────┬───────┬───────┐     ┌──────┬─────────┬───────┬────────┬───────┐
//!   │ kind │ context │ class │  tag  │     │ kind │ context │ class │ source │  tag  │
//!   │  2   │ 8 to 28 │   2   │  31   │     │  2   │ 8 to 28 │   2   │   16   │  31   │
//!   └──────┴─────────┴───────┴───────┘     └──────┴─────────┴───────┴────────┴───────┘
//!   data: source in the lower half, and, if there are 64 bits, the sender's request in the upper one
//! ```
//! With data, and where such receives are matched in one order with others, a receive from one source is a receive from
//! one process, and a message's source travels beside the bits. The class is the two highest bits of the source, by
//! which the library distinguishes messages of its own; receives ask for it in both layouts. A tag always has its 31
//! bits. What a network does not give is taken from the context, down to 256 contexts; with fewer it is refused.
//!
//! The kinds are a message, a message in synchronous mode, an answer to one send, and the wish to cancel a send. A
//! receive takes both kinds of messages by ignoring the lower bit of the kind.

use core::fmt;

use mtl::{Limits, Message, Peer, Want};
use pml::{Envelope, Pattern, ReqId, SendTo};

const TAG: u32 = 31;
const SOURCE: u32 = 16;
const KIND: u32 = 2;
const CLASS: u32 = 2;
/// Where the class stands in a source, which is positive as an `i32`.
const CLASS_AT: u32 = 31 - CLASS;
const LEAST_CONTEXT: u32 = 8;
/// A context is given out twice its id, which has 26 bits; and one that no communicator has differs from all others.
const MOST_CONTEXT: u32 = 28;

/// What a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Kind {
    Message = 0,
    Synchronous = 1,
    Answer = 2,
    Cancel = 3,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Message, Kind::Synchronous, Kind::Answer, Kind::Cancel];
}

/// Where the parts of an envelope lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Bits of the source between tag and context; 0: it travels as data.
    source: u32,
    context: u32,
    /// Whether the sender's request travels as data.
    names: bool,
    /// Whether receives ask for their sender.
    directed: bool,
}

/// A network has too few bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooNarrow {
    /// What it has.
    pub limits: Limits,
}

impl fmt::Display for TooNarrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits { match_bits, data_bits, .. } = self.limits;
        write!(
            f,
            "laying out match bits failed\nthe network has {match_bits} of them and {data_bits} of data, too few for a tag of 31 \
             bits, a source and {LEAST_CONTEXT} bits of context\nuse another network, or let the library match: --mca pml ob1"
        )
    }
}

impl std::error::Error for TooNarrow {}

impl Layout {
    /// The layout for a network.
    ///
    /// # Errors
    /// [`TooNarrow`]
    pub fn of(limits: &Limits) -> Result<Layout, TooNarrow> {
        let source = if limits.data_bits >= u32::BITS && limits.directed { 0 } else { SOURCE };
        match limits.match_bits.min(64).checked_sub(TAG + KIND + CLASS + source) {
            Some(left) if left >= LEAST_CONTEXT => {
                let (context, names) = (left.min(MOST_CONTEXT), limits.data_bits >= 64);
                Ok(Layout { source, context, names, directed: limits.directed })
            }
            _ => Err(TooNarrow { limits: *limits }),
        }
    }

    /// Contexts that it distinguishes.
    pub const fn contexts(&self) -> u32 {
        1 << self.context
    }

    /// Whether a receiver knows by which request a message was sent.
    pub const fn names(&self) -> bool {
        self.names
    }

    fn word(&self, kind: Kind, context: u32, source: u32, tag: u32) -> u64 {
        let class = source >> CLASS_AT;
        (kind as u64) << self.kind_at()
            | u64::from(context) << self.context_at()
            | u64::from(class) << self.class_at()
            | u64::from(source & ((1 << self.source) - 1)) << TAG
            | u64::from(tag)
    }

    fn class_at(&self) -> u32 {
        TAG + self.source
    }

    fn context_at(&self) -> u32 {
        self.class_at() + CLASS
    }

    fn kind_at(&self) -> u32 {
        self.context_at() + self.context
    }

    /// The bits of a message.
    pub fn bits(&self, to: &SendTo, kind: Kind) -> u64 {
        self.word(kind, to.context, to.source, to.tag as u32)
    }

    /// The data of a message that `sender` sends.
    pub fn data(&self, source: u32, sender: Option<ReqId>) -> u64 {
        u64::from(source) | sender.map_or(0, |id| u64::from(id.0) + 1) << 32
    }

    /// The sender's request, if the data names one.
    pub fn sender(&self, data: u64) -> Option<ReqId> {
        let name = (data >> 32) as u32;
        if self.names { name.checked_sub(1).map(ReqId) } else { None }
    }

    /// What a receive asks for.
    pub fn want(&self, pattern: &Pattern) -> Want {
        let source = u32::try_from(pattern.source).ok();
        let tag = u32::try_from(pattern.tag).ok();
        let bits = self.word(Kind::Message, pattern.context, source.unwrap_or(0), tag.unwrap_or(0));
        let mut ignore = 1 << self.kind_at();
        if tag.is_none() {
            ignore |= (1 << TAG) - 1;
        }
        if source.is_none() {
            ignore |= ((1 << (self.source + CLASS)) - 1) << TAG;
        }
        Want { from: pattern.peer.filter(|_| source.is_some() && self.directed), bits, ignore }
    }

    /// Whether a message is one that was sent in synchronous mode.
    pub fn is_synchronous(&self, message: &Message) -> bool {
        self.kind(message.bits) == Kind::Synchronous
    }

    fn kind(&self, bits: u64) -> Kind {
        Kind::ALL[(bits >> self.kind_at() & 3) as usize]
    }

    /// What a message is matched by.
    pub fn envelope(&self, message: &Message) -> Envelope {
        let tag = (message.bits & ((1 << TAG) - 1)) as i32;
        let source = match self.source {
            0 => (message.data & i32::MAX as u64) as i32,
            bits => {
                let class = message.bits >> self.class_at() & ((1 << CLASS) - 1);
                (message.bits >> TAG & ((1 << bits) - 1) | class << CLASS_AT) as i32
            }
        };
        let context = message.bits >> self.context_at() & ((1 << self.context) - 1);
        Envelope { context: context as u32, source, tag }
    }

    /// The bits of the receiver's word that a synchronous message was matched: by the sender's request if that is
    /// known, else by the message's own bits, since answers come in the order of the matches, which is that of the
    /// sends.
    pub fn matched(&self, bits: u64, sender: Option<ReqId>) -> u64 {
        match sender {
            Some(id) => self.word(Kind::Answer, 0, 0, id.0),
            None => bits & ((1 << self.kind_at()) - 1) | self.word(Kind::Answer, 0, 0, 0),
        }
    }

    /// The bits of the receiver's word on a wish to cancel.
    pub fn verdict(&self, sender: ReqId) -> u64 {
        self.word(Kind::Answer, 1, 0, sender.0)
    }

    /// The bits of a wish to cancel a message with these bits.
    pub fn cancel(&self, bits: u64) -> u64 {
        bits | self.word(Kind::Cancel, 0, 0, 0)
    }

    /// What the receive of wishes to cancel asks for.
    pub fn want_cancels(&self) -> Want {
        Want { from: None, bits: self.word(Kind::Cancel, 0, 0, 0), ignore: (1 << self.kind_at()) - 1 }
    }

    /// All messages of a process in the context of these bits.
    pub fn want_all(&self, from: Peer, bits: u64) -> Want {
        let free = (1 << self.context_at()) - 1;
        let context = bits & ((1 << self.kind_at()) - 1) & !free;
        Want { from: Some(from), bits: context, ignore: free | 1 << self.kind_at() }
    }

    /// An answer to one send, and nothing else.
    pub fn want_answer(from: Peer, bits: u64) -> Want {
        Want { from: Some(from), bits, ignore: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Layout, TooNarrow};
    use mtl::{Limits, Message, Peer};
    use pml::{Envelope, Pattern, ReqId, SendTo};

    fn limits(match_bits: u32, data_bits: u32) -> Limits {
        Limits { match_bits, data_bits, directed: true, inject: 0, max_message: 0 }
    }

    #[test]
    fn a_tag_keeps_its_bits_or_the_network_is_refused() {
        let contexts =
            |match_bits, data_bits| Layout::of(&limits(match_bits, data_bits)).map(|l| l.contexts());
        assert_eq!(contexts(64, 64), Ok(1 << 28));
        assert_eq!(contexts(64, 32), Ok(1 << 28));
        assert_eq!(contexts(48, 64), Ok(1 << 13));
        assert_eq!(contexts(43, 64), Ok(1 << 8));
        assert_eq!(contexts(42, 64), Err(TooNarrow { limits: limits(42, 64) }));
        assert_eq!(contexts(64, 0), Ok(1 << 13));
        assert_eq!(contexts(64, 16), Ok(1 << 13));
        assert_eq!(contexts(58, 0), Err(TooNarrow { limits: limits(58, 0) }));
        assert_eq!(TooNarrow { limits: limits(58, 0) }.to_string().lines().count(), 3);
    }

    /// Every receive takes exactly the messages that its pattern matches, and every message shows its envelope.
    #[test]
    fn bits_match_as_envelopes_do() {
        for (match_bits, data_bits) in [(64, 64), (64, 32), (60, 0), (43, 64)] {
            let layout = Layout::of(&limits(match_bits, data_bits)).expect("bits enough");
            let contexts = [0, 1, 5, layout.contexts() - 1];
            let tags = [0, 1, 77, i32::MAX];
            let messages = contexts.iter().flat_map(|&context| {
                tags.iter().flat_map(move |&tag| {
                    [0, 3, (1 << 16) - 1, 1 << 30 | 3, 1 << 29].map(|source| SendTo {
                        peer: Peer(9),
                        context,
                        source,
                        tag,
                        owner: 0,
                    })
                })
            });
            for to in messages {
                for kind in [Kind::Message, Kind::Synchronous] {
                    let bits = layout.bits(&to, kind);
                    assert_eq!(bits >> 1 >> (match_bits - 1), 0);
                    let data = layout.data(to.source, Some(ReqId(4)));
                    let message = Message { from: Peer(to.source & 0xffff), bits, data, len: 0 };
                    let seen: Envelope = layout.envelope(&message);
                    assert_eq!(seen, to.envelope());
                    assert_eq!(layout.sender(data), (data_bits == 64).then_some(ReqId(4)));
                    assert_eq!(layout.is_synchronous(&message), kind == Kind::Synchronous);
                    for source in [-1, 0, 3, 1 << 30 | 3, 1 << 29] {
                        for tag in [-1, 0, 77, i32::MAX] {
                            for context in contexts {
                                let (source, tag) = (
                                    if source < 0 { abi::ANY_SOURCE } else { source },
                                    if tag < 0 { abi::ANY_TAG } else { tag },
                                );
                                let peer = u32::try_from(source).ok().map(|source| Peer(source & 0xffff));
                                let pattern = Pattern { context, source, tag, peer, owner: 0 };
                                let takes = layout.want(&pattern).takes(message.from, bits);
                                assert_eq!(takes, pattern.matches(&seen), "{pattern:?} {to:?}");
                            }
                        }
                    }
                    assert!(layout.want_all(Peer(to.source), bits).takes(Peer(to.source), bits));
                    assert!(layout.want_cancels().takes(Peer(1), layout.cancel(bits)));
                    assert!(!layout.want_cancels().takes(Peer(1), layout.matched(bits, None)));
                    assert!(!layout.want_cancels().takes(Peer(1), bits));
                }
            }
        }
    }
}
