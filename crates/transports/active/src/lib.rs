//! Active messages: what windows, files and connections send each other, beside the message layer.
//!
//! An active message names what is to be done with it by its class and kind; no receive is posted for it. It has up to
//! [`MAX_WORDS`] words of its class's own and up to [`Active::most`] bytes of payload. There are two sorts:
//!
//! ```text
//!   requester                                       server
//!   request ── costs a credit ───────────────────▶  handler: does it, asks back nothing, never blocks
//!                                                     answer, from the handler or later: costs nothing
//!   handler of the answer ◀──────────────────────
//! ```
//!
//! # What is promised
//!
//! * **Delivery.** A message that was taken arrives once and whole, over every transport, at this process itself, too. The
//!   transport wakes a peer that sleeps.
//! * **Order.** The requests of one class from one process are handed over in the order in which they were sent. Answers
//!   have no order, neither among themselves nor with requests.
//! * **Room: one rule.** A request may be refused ([`Refused::Busy`]) for want of a credit or of room at the transport.
//!   Nothing was taken then: the caller keeps it, and its class is called again when it should try
//!   ([`Active::take_refused`]). An answer is never refused: where there is no room, it is copied, and sent as soon as
//!   there is. So a handler always answers at once, and never blocks.
//! * **Bounds.** At most [`WINDOW`] requests of a class are under way between two processes. A request counts as long as its
//!   handler has not returned, or answers for its sender are kept. So a peer can have this process keep no more than a
//!   window of frames that came too early and of answers, each not longer than [`Active::most`], as long as handlers
//!   answer a request at most once. A class that answers later, for a taken lock, bounds by itself what it keeps.
//! * **Distrust.** A frame that no honest peer sends is dropped and counted ([`Active::bad_frames`]). Words are read once;
//!   the payload can still be written by the peer while a handler looks at it.
//! * **Loss.** Of a lost peer nothing is kept, and requests to it are refused ([`Refused::Lost`]).
//!
//! # Frames
//!
//! ```text
//!            63            32 31        16 15    8 7    0
//!          ┌────────────────┬────────────┬───────┬──────┐
//!  word 0  │ acknowledged   │ number     │ sort  │ kind │   kind and class: see btl::Class
//!          ├────────────────┴────────────┴───────┴──────┤
//!   1 - 7  │ the class's own words, as many as there are│   + payload
//!          └────────────────────────────────────────────┘
//! ```
//! *Acknowledged* is the count of credits that goes back ([`btl::Credits`]); it rides on every frame, and has a frame of its
//! own where nothing else goes that way. *Number* numbers the requests, modulo 2^16.
#![forbid(unsafe_code)]

mod frame;
mod pair;

use btl::{Arrival, Btl, Class, Full, Peer};
use mem::{PeerBytes, Source};

use frame::{Header, Sort};
use pair::{Kept, Pair};

/// Words of its own that a message may have.
pub const MAX_WORDS: usize = btl::MAX_HEADER_WORDS - 1;

/// Requests of one class under way from one process to another.
pub const WINDOW: u32 = 64;

/// A message, as its handler sees it.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its sender, as the transport knows it.
    pub from: Peer,
    /// Whether it is an answer.
    pub is_answer: bool,
    /// Its kind, below [`Class::KINDS`].
    pub kind: u8,
    /// The payload, whole; valid while the handler runs.
    pub payload: PeerBytes<'a>,
    words: [u64; MAX_WORDS],
    count: usize,
}

impl Message<'_> {
    /// The class's own words, as many as were sent.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.count]
    }
}

/// What is to be sent, but for the payload.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The class that handles it.
    pub class: Class,
    /// What it is, to that class; below [`Class::KINDS`].
    pub kind: u8,
    /// Words of its own, at most [`MAX_WORDS`].
    pub words: &'a [u64],
}

/// Why a request was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no credit or no room; the class is called when it should try again.
    Busy,
    /// The peer is gone.
    Lost,
}

/// What a frame brings.
#[derive(Debug)]
pub enum Brought<'a> {
    /// A message for the handler of its class. [`Active::handled`] follows.
    Message(Message<'a>),
    /// Nothing to be handled now.
    Nothing,
}

/// A request that came before its turn, whose turn it is now.
#[derive(Debug)]
pub struct Early {
    header: Header,
    from: Peer,
    payload: Box<[u8]>,
}

impl Early {
    /// The request. [`Active::handled`] follows.
    pub fn message(&self) -> Message<'_> {
        self.header.message(self.from, PeerBytes::of(&self.payload))
    }
}

/// The active messages of a process: a machine that changes only in its calls, each of which is lent the transport.
#[derive(Debug, Default)]
pub struct Active {
    /// By class and peer, made with the first frame.
    pairs: [Vec<Option<Box<Pair>>>; Class::COUNT],
    /// Pairs with answers that wait for room, or with a report of credits that is due.
    waiting: Vec<(Class, Peer)>,
    /// A bit for each class that had a request refused.
    refused: u8,
    lost: Vec<Peer>,
    changes: u32,
    bad_frames: u64,
}

/// Kept answers of one pair that are sent in one turn.
const ANSWERS_PER_TURN: usize = 64;

impl Active {
    /// Nothing sent, nothing received.
    pub fn new() -> Active {
        Active::default()
    }

    /// Most bytes of payload of one message to `peer`.
    pub fn most<B: Btl>(btl: &B, peer: Peer) -> usize {
        btl.limits(peer).max_send
    }

    /// Sends a request, whose payload is at most [`Active::most`] bytes.
    ///
    /// # Errors
    /// [`Refused`]; nothing was taken from `payload`.
    pub fn request<B: Btl, S: Source>(
        &mut self,
        btl: &mut B,
        to: Peer,
        head: Head<'_>,
        payload: &mut S,
    ) -> Result<(), Refused> {
        if self.lost.contains(&to) {
            return Err(Refused::Lost);
        }
        let pair = self.pair(head.class, to);
        let header = Header::new(Sort::Request, &head).numbered(pair.next_number());
        if pair.may_request() && pair.send(btl, to, &header, payload).is_ok() {
            pair.requested();
            return Ok(());
        }
        self.refused |= bit(head.class);
        self.changes = self.changes.wrapping_add(1);
        Err(Refused::Busy)
    }

    /// Sends an answer to a request, whose payload is at most [`Active::most`] bytes: now, or when there is room.
    /// Nothing is sent to a lost peer.
    pub fn answer<B: Btl, S: Source>(&mut self, btl: &mut B, to: Peer, head: Head<'_>, payload: &mut S) {
        if self.lost.contains(&to) {
            return;
        }
        let pair = self.pair(head.class, to);
        let header = Header::new(Sort::Answer, &head);
        if pair.has_kept() || pair.send(btl, to, &header, payload).is_err() {
            pair.keep(Kept::copy(header, payload));
            self.wait(head.class, to);
        }
    }

    /// Takes an arrival of any class but the message layer's. The owner knows a handler for its class.
    pub fn accept<'a>(&mut self, class: Class, arrival: &'a Arrival) -> Brought<'a> {
        let peer = arrival.peer;
        self.changes = self.changes.wrapping_add(1);
        let Some(header) = Header::read(arrival.header).filter(|_| !self.lost.contains(&peer)) else {
            self.bad_frames += 1;
            return Brought::Nothing;
        };
        let pair = self.pair(class, peer);
        let accepted = match (pair.returned(&header), header.sort) {
            (Err(dishonest), _) => Err(dishonest),
            (Ok(()), Sort::Report) => Ok(false),
            (Ok(()), Sort::Answer) => Ok(true),
            (Ok(()), Sort::Request) => pair.arrived(&header, arrival.payload),
        };
        match accepted {
            Ok(true) => Brought::Message(header.message(peer, arrival.payload)),
            Ok(false) => Brought::Nothing,
            Err(_) => {
                self.bad_frames += 1;
                Brought::Nothing
            }
        }
    }

    /// The handler of a message from `peer` has returned. Gives the next request, if it came before its turn.
    pub fn handled(&mut self, class: Class, peer: Peer, was_answer: bool) -> Option<Early> {
        if was_answer || self.lost.contains(&peer) {
            return None;
        }
        let pair = self.pair(class, peer);
        pair.acknowledged();
        let early = pair.early().map(|Kept { header, payload }| Early { header, from: peer, payload });
        if pair.owes() {
            self.wait(class, peer);
        }
        early
    }

    /// Sends what waits for room: answers and reports of credits. Returns how many were sent.
    pub fn advance<B: Btl>(&mut self, btl: &mut B) -> usize {
        let (mut sent, mut index) = (0, 0);
        while let Some(&(class, peer)) = self.waiting.get(index) {
            let pair = self.pair(class, peer);
            let before = sent;
            while sent - before < ANSWERS_PER_TURN && pair.send_waiting(btl, class, peer) {
                sent += 1;
            }
            if !pair.waits() {
                pair.listed = false;
                self.waiting.swap_remove(index);
            } else if btl.full(peer) == Some(Full::All) {
                break;
            } else {
                index += 1;
            }
        }
        sent
    }

    /// Whether [`Active::advance`] or [`Active::take_refused`] has something to do.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.refused != 0 || !self.waiting.is_empty()
    }

    /// The classes that had a request refused since this was asked last. Each should try again now; what is refused
    /// once more is called at the next turn.
    pub fn take_refused(&mut self) -> impl Iterator<Item = Class> + use<> {
        let refused = std::mem::take(&mut self.refused);
        (0..=u8::MAX)
            .step_by(Class::KINDS.into())
            .filter_map(Class::of_byte)
            .filter(move |&class| refused & bit(class) != 0)
    }

    /// `peer` is gone. What was kept for it is dropped.
    pub fn peer_lost(&mut self, peer: Peer) {
        if !self.lost.contains(&peer) {
            self.lost.push(peer);
        }
        for pairs in &mut self.pairs {
            if let Some(pair) = pairs.get_mut(peer.0 as usize) {
                *pair = None;
            }
        }
        self.waiting.retain(|&(_, waiting)| waiting != peer);
    }

    /// `peer` is another process from now on, or none.
    pub fn forget(&mut self, peer: Peer) {
        self.peer_lost(peer);
        self.lost.retain(|&lost| lost != peer);
    }

    /// Whether every answer was taken by the transport.
    pub fn idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Requests of `class` to `peer` whose treatment is not reported yet; reports may lag by half of a window.
    pub fn outstanding(&self, class: Class, peer: Peer) -> u32 {
        self.pairs[class as usize]
            .get(peer.0 as usize)
            .and_then(Option::as_ref)
            .map_or(0, |pair| pair.outstanding())
    }

    /// How often a message arrived, or something began to wait for room; wraps. A thread that sleeps and polls for others
    /// must be woken then.
    pub fn changes(&self) -> u32 {
        self.changes
    }

    /// Frames that no honest peer sends.
    pub fn bad_frames(&self) -> u64 {
        self.bad_frames
    }

    #[inline]
    fn pair(&mut self, class: Class, peer: Peer) -> &mut Pair {
        let (pairs, index) = (&mut self.pairs[class as usize], peer.0 as usize);
        if pairs.len() <= index {
            lengthen(pairs, index + 1);
        }
        pairs[index].get_or_insert_default()
    }

    fn wait(&mut self, class: Class, peer: Peer) {
        if !std::mem::replace(&mut self.pair(class, peer).listed, true) {
            self.waiting.push((class, peer));
            self.changes = self.changes.wrapping_add(1);
        }
    }
}

#[cold]
fn lengthen(pairs: &mut Vec<Option<Box<Pair>>>, peers: usize) {
    pairs.resize_with(peers, || None);
}

fn bit(class: Class) -> u8 {
    1 << class as u8
}
