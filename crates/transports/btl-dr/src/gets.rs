//! Gets and puts under data reliability (`btl_dr_rdma`).
//!
//! They go by one transport, the fastest to the peer that has gets: both sides know which, and a key is that transport's. Where it
//! fails, they fail, and the layer above sends fragments instead.
//!
//! * *Verified*: gets only. The bytes are compared with sums of the owner's memory (`copies`), which it is asked for by frames like all
//!   others, and are fetched again where they differ; after [`TRIES`] the get fails. A put may not be repeated like that: one whose
//!   address was damaged has perhaps written where another put was compared before.
//! * *Trusted*: gets and puts as the transport does them. A put that failed may still arrive. The layer above conceals the memory before
//!   its message counts as received, and a transport stores nothing into memory that is concealed. So such a put never damages
//!   what the memory is used for next, and until then it stores what the fragments store, too.

use btl::{Event, Peer, Refusal, Way, Ways};
use copies::{Copy, Kind, Question, Verdict};
use dr::PathState;
use mem::{PeerBytes, PeerSpace, Source};

use crate::under_way::direct;
use crate::{Dr, Rdma};

/// How often a get is made.
const TRIES: u32 = 3;

impl<B: Ways> Dr<B> {
    /// The way that gets and puts take, if they may take it now.
    pub(crate) fn direct(&mut self, peer: Peer) -> Result<Way, Refusal> {
        if self.rdma == Rdma::Never {
            return Err(Refusal::Unfit);
        }
        let way = direct(&self.below, peer).ok_or(Refusal::Unfit)?;
        let conversation = self.conversation(peer);
        let path = conversation.ways.iter().position(|&one| one == way).ok_or(Refusal::Unfit)?;
        let is_up = conversation.pair.path_state(path as u8) == PathState::Up && !conversation.is_lost;
        if is_up { Ok(way) } else { Err(Refusal::Unfit) }
    }

    /// Begins a get or put.
    pub(crate) fn begin_copy(&mut self, copy: Copy) -> Result<(), Refusal> {
        if copy.kind == Kind::Put && self.rdma != Rdma::Trusted {
            return Err(Refusal::Unfit);
        }
        let way = self.direct(copy.peer)?;
        let name = self.gets.copies.begin(copy).ok_or(Refusal::Busy)?;
        let begun = self.make_copy(way, name);
        if begun.is_err() {
            self.gets.copies.end(name);
        }
        begun
    }

    fn make_copy(&mut self, way: Way, name: u32) -> Result<(), Refusal> {
        let Some(Copy { kind, peer, local, key, offset, .. }) = self.gets.copies.get(name) else {
            return Ok(());
        };
        let local = (local[0], *kind == Kind::Put);
        self.below.copy_by(way, *peer, local, (key, *offset), u64::from(name))
    }

    /// A transport reports something about a copy.
    pub(crate) fn on_copy(&mut self, name: u32, has_failed: bool) {
        if has_failed {
            return self.fail_copy(name);
        }
        if self.rdma == Rdma::Trusted {
            let over = self.gets.copies.end(name).map(|copy| Event::Done(copy.cookie));
            return self.events.extend(over);
        }
        if let (Some(faults), Some(copy)) = (&mut self.faults, self.gets.copies.get(name)) {
            faults.damage_copy(&copy.local);
        }
        if let Some(ask) = self.gets.copies.moved(name) {
            self.tell(ask.peer, Question::Ask(ask), &[]);
        }
    }

    fn fail_copy(&mut self, name: u32) {
        let failed = self.gets.copies.end(name).map(|copy| Event::Failed(copy.cookie));
        self.events.extend(failed);
    }

    /// The transport of this way has lost a peer: it moves nothing any more.
    pub(crate) fn fail_copies(&mut self, way: Way, peer: Peer) {
        let is_direct = direct(&self.below, peer).is_some_and(|direct| direct.transport() == way.transport());
        if is_direct {
            self.gets.copies.moving(peer).into_iter().for_each(|name| self.fail_copy(name));
        }
    }

    /// A peer is lost.
    pub(crate) fn forget_copies(&mut self, peer: Peer) {
        self.gets.copies.forget(peer);
        self.gets.waiting.remove(&peer);
    }

    /// Takes a frame of a peer that is a question or an answer; whether it is one.
    pub(crate) fn take_question(&mut self, peer: Peer, words: usize, body: &[u8]) -> bool {
        let (header, payload) = body.split_at(words * 8);
        match Question::read(peer, PeerBytes::of(header)) {
            None => return false,
            Some(Question::Ask(ask)) => {
                let sums = self.gets.exposed.sums(peer, &ask.key, ask.offset, ask.len);
                self.tell(peer, Question::Answer { name: ask.name }, &sums);
            }
            Some(Question::Answer { name }) => {
                let theirs = copies::of_payload(PeerBytes::of(payload));
                self.on_answer(peer, name, &theirs);
            }
        }
        true
    }

    fn on_answer(&mut self, peer: Peer, name: u32, theirs: &[u32]) {
        match self.gets.copies.answered(peer, name, theirs) {
            Verdict::Stray => {}
            Verdict::Next(ask) => self.tell(peer, Question::Ask(ask), &[]),
            Verdict::Equal(cookie) => {
                self.gets.equal += 1;
                self.events.push_back(Event::Done(cookie));
            }
            Verdict::Gone(cookie) => self.events.push_back(Event::Failed(cookie)),
            Verdict::Differs(_) => {
                let may_again = self.gets.copies.again(name, TRIES).is_some();
                let begun = may_again && self.direct(peer).is_ok_and(|way| self.make_copy(way, name).is_ok());
                self.gets.again += u64::from(begun);
                if !begun {
                    self.fail_copy(name);
                }
            }
        }
    }

    /// Asks a peer, or answers it: now or when there is room.
    fn tell(&mut self, peer: Peer, question: Question, sums: &[u32]) {
        let frame = (question.header(), copies::to_payload(sums));
        self.gets.waiting.entry(peer).or_default().push_back(frame);
        self.send_questions();
    }

    /// Sends what waits for room, in the order of each peer.
    pub(crate) fn send_questions(&mut self) {
        let mut waiting = core::mem::take(&mut self.gets.waiting);
        waiting.retain(|&peer, frames| {
            while let Some((header, payload)) = frames.front() {
                let fill = |to: &mut [u8]| PeerBytes::of(payload).fill(PeerSpace::of(to));
                if self.conversation(peer).pair.send(header, payload.len(), fill).is_err() {
                    break;
                }
                self.wake(peer);
                frames.pop_front();
            }
            !frames.is_empty()
        });
        self.gets.waiting = waiting;
    }
}
