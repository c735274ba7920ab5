//! What messages are matched by.

use btl::Peer;

/// What a message is matched by. In a receive, source and tag may be the wildcards, which are negative; in a message
/// neither is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// Context of the communicator.
    pub context: u32,
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
}

/// Where a message goes, and what it is matched by there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendTo {
    /// The process.
    pub peer: Peer,
    /// Context of the communicator.
    pub context: u32,
    /// Rank of this process in the communicator, as the receiver sees it; below `2^31`.
    pub source: u32,
    /// Tag, not negative.
    pub tag: i32,
    /// Opaque; handed back in [`crate::Done`].
    pub owner: u32,
}

/// What a receive or probe matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Context of the communicator.
    pub context: u32,
    /// Rank of the sender in the communicator, or `ANY_SOURCE`.
    pub source: i32,
    /// Tag, or `ANY_TAG`.
    pub tag: i32,
    /// The process behind `source`, if that is one.
    pub peer: Option<Peer>,
    /// Opaque; handed back in [`crate::Done`].
    pub owner: u32,
}

impl SendTo {
    /// What the message is matched by.
    #[inline(always)]
    pub const fn envelope(&self) -> Envelope {
        Envelope { context: self.context, source: self.source as i32, tag: self.tag }
    }
}

impl Pattern {
    /// What it asks for, wildcards included.
    #[inline(always)]
    pub const fn envelope(&self) -> Envelope {
        Envelope { context: self.context, source: self.source, tag: self.tag }
    }

    /// Whether a message with this envelope matches.
    #[inline(always)]
    pub const fn matches(&self, message: &Envelope) -> bool {
        self.context == message.context
            && (self.source == message.source || self.source == abi::ANY_SOURCE)
            && (self.tag == message.tag || self.tag == abi::ANY_TAG)
    }
}

/// Send modes (MPI-5.0 section 3.4). Buffered mode is a standard send of a copy, made above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Complete when the buffer may be used again.
    Standard,
    /// Complete when, in addition, the receive has begun.
    Synchronous,
    /// The receive is known to be posted: like standard.
    Ready,
    /// Standard, by a caller that waits for its end.
    Blocking,
}

/// What all messages of one process in one communicator begin with, kept in the form in which a header takes it: a
/// sender that sends much in one communicator makes it once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    context: u64,
    source: u64,
}

impl Origin {
    /// Of messages in `context` from `source`, the sender's rank as the receiver sees it, which is below `2^31`.
    #[inline(always)]
    pub const fn new(context: u32, source: u32) -> Origin {
        Origin { context: (context as u64) << 32, source: source as u64 }
    }

    /// The context in the upper half of a word; the lower half is free.
    #[inline(always)]
    pub const fn context_above(self) -> u64 {
        self.context
    }

    /// The source in the lower half of a word; the upper half is free.
    #[inline(always)]
    pub const fn source_below(self) -> u64 {
        self.source
    }
}
