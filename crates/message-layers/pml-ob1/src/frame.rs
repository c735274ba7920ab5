//! The frames that two processes exchange: layouts, writing and reading.
//!
//! All words are 64 bits, native byte order; bit 0 is the lowest. Word 0 begins with the kind in every frame; all kinds
//! are of the class [`Class::Pml`].
//!
//! Sequenced frames. What MPI orders: one number series per pair of processes and direction.
//!
//! ```text
//!            63            32 31         8 7    0
//!          ┌────────────────┬────────────┬──────┐
//!  word 0  │ context        │ sequence   │ kind │
//!          ├────────────────┼────────────┴──────┤
//!  word 1  │ tag            │ source            │
//!          ├────────────────┴───────────────────┤
//!          │ MATCH    nothing more    + payload │   eager, complete for the sender when it was taken
//!          ├────────────────┬───────────────────┤
//!  word 2  │ SYNC     0     │ sender's request  │   + payload; answered by ACK when matched
//!          ├────────────────┼───────────────────┤
//!  word 2  │ CANCEL   0     │ sender's request  │   take that message back unless it is matched
//!          ├────────────────┴───────────────────┤
//!  word 2  │ RTS      total length in bytes     │   rendezvous: the payload comes when it is matched, but for a
//!          ├────────────────┬───────────────────┤
//!  word 3  │ flags          │ sender's request  │   + beginning. Bit 0: words 4-7 follow; bit 1: sender could put
//!          ├────────────────┴───────────────────┤
//!   4 - 6  │ key of the sender's memory         │
//!          ├────────────────────────────────────┤
//!  word 7  │ last bytes, see below              │
//!          └────────────────────────────────────┘
//! ```
//!
//! A transport may demand that the length of a `get` is a multiple of 2, 4 or 8. The `total % align` bytes that
//! such a get leaves over travel in word 7 of the RTS, lowest address first.
//!
//! Control frames. They name a request of the process they go to, and need no order.
//!
//! ```text
//!            63            32 31         8 7    0
//!          ┌────────────────┬────────────┬──────┐
//!  word 0  │ your request   │ flag       │ kind │
//!          ├────────────────┴────────────┴──────┤
//!          │ ACK         to sender: I have all I want of this message                          (1 word)
//!          │ FIN         to receiver: all is put                                               (1 word)
//!          │ CANCEL_ACK  to sender: taken back (flag 1) or matched already (flag 0)            (1 word)
//!          │ CONGESTION  flag 1: send envelopes only, flag 0: as you like; "request" is an epoch (1 word)
//!          │ CTS         to sender: word 1 my request, word 2 bytes that I take                (3 words)
//!          │ RTR         to sender: as CTS, then words 3-5 the key of my memory to put into    (6 words)
//!          │ FRAG        to receiver: word 1 offset in the message; + payload                  (2 words)
//!          └────────────────────────────────────┘
//! ```

use btl::{Btl, Busy, Class, MAX_HEADER_WORDS, Peer, RemoteKey};
use mem::{PeerBytes, UserMem};
use pml::{Envelope, Origin};

/// A frame as read from a peer: every field is in its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Has a place in the order of its sender's messages.
    Sequenced(Sequenced),
    /// Concerns a request that is known to both sides.
    Control(Control),
}

/// A frame with a place in the order of its sender's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequenced {
    /// Number in the series, modulo [`SEQUENCES`].
    pub sequence: u32,
    /// What it is matched by.
    pub envelope: Envelope,
    /// What it asks for.
    pub body: Body,
}

/// What a sequenced frame asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// The payload is here and the sender is done.
    Eager,
    /// The payload is here; the sender waits for [`Control::Ack`].
    Sync {
        /// The sender's request.
        sender: u32,
    },
    /// The payload is still with the sender, but for the beginning that may be here.
    Rendezvous(Rendezvous),
    /// Take an earlier message back.
    Cancel {
        /// The sender's request.
        sender: u32,
    },
}

/// An offer of payload that is still with the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rendezvous {
    /// Length of the message in bytes, below `2^63`.
    pub total: u64,
    /// The sender's request.
    pub sender: u32,
    /// The sender could put into the receiver's memory.
    pub can_put: bool,
    /// The sender's memory, when the receiver may get from it.
    pub exposed: Option<Exposed>,
}

/// The sender's memory, open for the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exposed {
    /// Names the memory to the transport.
    pub key: RemoteKey,
    /// The last bytes of the message, which an aligned get would leave over.
    pub tail: [u8; 8],
}

/// A frame about a request that is known to both sides; `sender` and `receiver` are the two names of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// The receiver has all it wants.
    Ack { sender: u32 },
    /// All is put.
    Fin { receiver: u32 },
    /// Answer to [`Body::Cancel`].
    CancelAck { sender: u32, cancelled: bool },
    /// Whether payload is refused; the epoch grows, so that an overtaken frame is known as old.
    Congestion { on: bool, epoch: u32 },
    /// Clear to send `accepted` bytes as fragments.
    Cts { sender: u32, receiver: u32, accepted: u64 },
    /// Ready to receive `accepted` bytes by put.
    Rtr { sender: u32, receiver: u32, accepted: u64, key: RemoteKey },
    /// A piece of the message.
    Frag { receiver: u32, offset: u64 },
}

/// Sequence numbers wrap here.
pub const SEQUENCES: u32 = 1 << 24;

const MATCH: u8 = Class::Pml.byte(1);
const SYNC: u8 = Class::Pml.byte(2);
const RTS: u8 = Class::Pml.byte(3);
const CANCEL: u8 = Class::Pml.byte(4);
const CTS: u8 = Class::Pml.byte(5);
const RTR: u8 = Class::Pml.byte(6);
const FRAG: u8 = Class::Pml.byte(7);
const ACK: u8 = Class::Pml.byte(8);
const FIN: u8 = Class::Pml.byte(9);
const CANCEL_ACK: u8 = Class::Pml.byte(10);
const CONGESTION: u8 = Class::Pml.byte(11);

const HAS_KEY: u64 = 1 << 32;
const CAN_PUT: u64 = 1 << 33;

/// A place in the number series of a pair of processes, kept as word 0 of a MATCH frame has it in its lower half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SequencePlace(u32);

impl SequencePlace {
    /// Where all series begin.
    pub const FIRST: SequencePlace = SequencePlace(MATCH as u32);

    /// The sequence number, below [`SEQUENCES`].
    #[inline(always)]
    pub fn number(self) -> u32 {
        self.0 >> 8
    }

    /// The place `count` further on; numbers wrap.
    #[inline(always)]
    pub fn plus(self, count: u32) -> SequencePlace {
        SequencePlace(self.0.wrapping_add(count << 8))
    }

    /// How far `number` lies ahead, modulo [`SEQUENCES`].
    #[inline(always)]
    pub fn to(self, number: u32) -> u32 {
        number.wrapping_sub(self.number()) % SEQUENCES
    }

    /// Goes on to the next place.
    #[inline(always)]
    pub fn advance(&mut self) {
        *self = self.plus(1);
    }

    /// The header of the MATCH frame here.
    #[inline(always)]
    pub fn match_header(self, origin: Origin, tag: i32) -> [u64; 2] {
        [origin.context_above() | u64::from(self.0), u64::from(tag as u32) << 32 | origin.source_below()]
    }

    /// The envelope of the MATCH frame with this header, if it is the one here.
    #[inline(always)]
    pub fn envelope_here(self, words: [u64; 2]) -> Option<Envelope> {
        let envelope = envelope_of(words);
        (words[0] as u32 == self.0 && envelope.source >= 0 && envelope.tag >= 0).then_some(envelope)
    }

    /// Word 0 of the MATCH frame here.
    #[inline(always)]
    pub fn match_word(self, context: u32) -> u64 {
        u64::from(context) << 32 | u64::from(self.0)
    }
}

#[inline(always)]
const fn sequenced_word(kind: u8, sequence: u32, context: u32) -> u64 {
    (context as u64) << 32 | (sequence << 8 | kind as u32) as u64
}

/// Word 1 of a sequenced frame.
#[inline(always)]
pub(crate) const fn envelope_word(source: u32, tag: i32) -> u64 {
    (tag as u32 as u64) << 32 | source as u64
}

/// A frame's header, ready for the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    words: [u64; MAX_HEADER_WORDS],
    len: usize,
}

impl Header {
    fn new<const N: usize>(words: [u64; N]) -> Header {
        let mut header = Header { words: [0; MAX_HEADER_WORDS], len: N };
        header.words[..N].copy_from_slice(&words);
        header
    }

    /// The words to send.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// Sends a frame that has no payload.
    pub(crate) fn send<B: Btl>(&self, btl: &mut B, peer: Peer) -> Result<(), Busy> {
        let mut nothing = UserMem::EMPTY;
        btl.send(peer, self.words(), &mut nothing)
    }
}

impl Sequenced {
    /// The header that [`Frame::parse`] reads back.
    pub fn header(&self) -> Header {
        let Envelope { context, source, tag } = self.envelope;
        let start = |kind| sequenced_word(kind, self.sequence, context);
        let envelope = envelope_word(source as u32, tag);
        match self.body {
            Body::Eager => Header::new([start(MATCH), envelope]),
            Body::Sync { sender } => Header::new([start(SYNC), envelope, sender as u64]),
            Body::Cancel { sender } => Header::new([start(CANCEL), envelope, sender as u64]),
            Body::Rendezvous(offer) => {
                let mut flags = offer.sender as u64;
                if offer.can_put {
                    flags |= CAN_PUT;
                }
                let Some(Exposed { key: RemoteKey([a, b, c]), tail }) = offer.exposed else {
                    return Header::new([start(RTS), envelope, offer.total, flags]);
                };
                let tail = u64::from_ne_bytes(tail);
                Header::new([start(RTS), envelope, offer.total, flags | HAS_KEY, a, b, c, tail])
            }
        }
    }
}

impl Control {
    /// The header that [`Frame::parse`] reads back.
    pub fn header(&self) -> Header {
        let start =
            |kind: u8, request: u32, flag: bool| (request as u64) << 32 | (flag as u64) << 8 | kind as u64;
        match *self {
            Control::Ack { sender } => Header::new([start(ACK, sender, false)]),
            Control::Fin { receiver } => Header::new([start(FIN, receiver, false)]),
            Control::CancelAck { sender, cancelled } => Header::new([start(CANCEL_ACK, sender, cancelled)]),
            Control::Congestion { on, epoch } => Header::new([start(CONGESTION, epoch, on)]),
            Control::Cts { sender, receiver, accepted } => {
                Header::new([start(CTS, sender, false), receiver as u64, accepted])
            }
            Control::Rtr { sender, receiver, accepted, key: RemoteKey([a, b, c]) } => {
                Header::new([start(RTR, sender, false), receiver as u64, accepted, a, b, c])
            }
            Control::Frag { receiver, offset } => Header::new([start(FRAG, receiver, false), offset]),
        }
    }
}

impl Frame {
    /// Reads a frame that a peer wrote. `None`: unknown kind, wrong number of words, a payload where none
    /// belongs, a field out of its range. Each word is read once.
    pub fn parse(header: PeerBytes<'_>, payload: usize) -> Option<Frame> {
        if !header.len().is_multiple_of(8) || header.len() > 8 * MAX_HEADER_WORDS {
            return None;
        }
        let start = header.word(0);
        let kind = start as u8;
        if payload != 0 && !matches!(kind, MATCH | SYNC | RTS | FRAG) {
            return None;
        }
        if matches!(kind, MATCH..=CANCEL) {
            let frame = Sequenced::parse(start, header)?;
            let fits = |offer: Rendezvous| payload as u64 <= offer.total;
            let whole = !matches!(frame.body, Body::Rendezvous(offer) if !fits(offer));
            whole.then_some(Frame::Sequenced(frame))
        } else {
            Control::parse(start, header).map(Frame::Control)
        }
    }
}

/// What a frame is, for people, and the byte of its message at which its payload begins.
pub fn describe(header: PeerBytes<'_>) -> Option<(String, u64)> {
    Some(match Frame::parse(header, 0)? {
        Frame::Sequenced(Sequenced { envelope, body: Body::Eager | Body::Sync { .. }, .. }) => {
            (format!("a message with tag {}", envelope.tag), 0)
        }
        Frame::Sequenced(Sequenced { envelope, body: Body::Rendezvous(offer), .. }) => {
            (format!("the beginning of a message of {} bytes with tag {}", offer.total, envelope.tag), 0)
        }
        Frame::Control(Control::Frag { offset, .. }) => ("a part of a long message".to_owned(), offset),
        Frame::Sequenced(_) | Frame::Control(_) => ("an answer of the message layer".to_owned(), 0),
    })
}

/// The header of a MATCH frame, if its length is right: nothing of it is checked.
#[inline(always)]
pub(crate) fn plain(header: PeerBytes<'_>) -> Option<[u64; 2]> {
    (header.len() == 16).then(|| [header.word(0), header.word(1)])
}

/// The envelope in the first two words of a sequenced frame.
#[inline(always)]
const fn envelope_of(words: [u64; 2]) -> Envelope {
    Envelope { context: (words[0] >> 32) as u32, source: words[1] as i32, tag: (words[1] >> 32) as i32 }
}

/// The header of a frame that has its whole payload, as a MATCH frame would have it; and in synchronous mode the request
/// with which the sender waits.
pub(crate) fn eager(header: PeerBytes<'_>) -> Option<([u64; 2], Option<u32>)> {
    let (start, label) = (header.word(0), header.word(1));
    match (start as u8, header.len()) {
        (MATCH, 16) => Some(([start, label], None)),
        (SYNC, 24) => {
            let sender = u32::try_from(header.word(2)).ok()?;
            Some(([start ^ u64::from(SYNC ^ MATCH), label], Some(sender)))
        }
        _ => None,
    }
}

/// The request that an ACK frame names.
pub(crate) fn acknowledged(header: PeerBytes<'_>) -> Option<u32> {
    let start = header.word(0);
    (header.len() == 8 && start as u32 == u32::from(ACK)).then_some((start >> 32) as u32)
}

impl Sequenced {
    fn parse(start: u64, header: PeerBytes<'_>) -> Option<Sequenced> {
        let sequence = start as u32 >> 8;
        let envelope = envelope_of([start, header.word(1)]);
        if envelope.source < 0 || envelope.tag < 0 {
            return None;
        }
        let body = match (start as u8, header.len() / 8) {
            (MATCH, 2) => Body::Eager,
            (SYNC, 3) => Body::Sync { sender: u32::try_from(header.word(2)).ok()? },
            (CANCEL, 3) => Body::Cancel { sender: u32::try_from(header.word(2)).ok()? },
            (RTS, _) => Body::Rendezvous(Rendezvous::parse(header)?),
            _ => return None,
        };
        Some(Sequenced { sequence, envelope, body })
    }
}

impl Rendezvous {
    fn parse(header: PeerBytes<'_>) -> Option<Rendezvous> {
        let total = header.word(2);
        let flags = header.word(3);
        if total > i64::MAX as u64 || flags >> 34 != 0 {
            return None;
        }
        let exposed = match (flags & HAS_KEY != 0, header.len() / 8) {
            (false, 4) => None,
            (true, 8) => Some(Exposed {
                key: RemoteKey([header.word(4), header.word(5), header.word(6)]),
                tail: header.word(7).to_ne_bytes(),
            }),
            _ => return None,
        };
        Some(Rendezvous { total, sender: flags as u32, can_put: flags & CAN_PUT != 0, exposed })
    }
}

impl Control {
    fn parse(start: u64, header: PeerBytes<'_>) -> Option<Control> {
        let request = (start >> 32) as u32;
        let flag = start as u32 >> 8;
        let flag = match (start as u8, flag) {
            (_, 0) => false,
            (CANCEL_ACK | CONGESTION, 1) => true,
            _ => return None,
        };
        Some(match (start as u8, header.len() / 8) {
            (ACK, 1) => Control::Ack { sender: request },
            (FIN, 1) => Control::Fin { receiver: request },
            (CANCEL_ACK, 1) => Control::CancelAck { sender: request, cancelled: flag },
            (CONGESTION, 1) => Control::Congestion { on: flag, epoch: request },
            (FRAG, 2) => Control::Frag { receiver: request, offset: header.word(1) },
            (CTS, 3) => Control::Cts {
                sender: request,
                receiver: u32::try_from(header.word(1)).ok()?,
                accepted: header.word(2),
            },
            (RTR, 6) => Control::Rtr {
                sender: request,
                receiver: u32::try_from(header.word(1)).ok()?,
                accepted: header.word(2),
                key: RemoteKey([header.word(3), header.word(4), header.word(5)]),
            },
            _ => return None,
        })
    }
}
