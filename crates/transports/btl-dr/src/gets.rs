//! Gets and puts under data reliability (`btl_dr_rdma`).
//!
//! They go by one transport, the fastest to the peer that has gets or puts: both sides know which, and a key is that transport's. Where
//! it fails, they fail, and the layer above sends fragments instead.
//!
//! * *Verified*: the bytes are compared with sums of the owner's memory (`copies`), which it is asked for by frames like all
//!   others. A get is made again where they differ; after [`TRIES`] it fails.
//!
//!   A put fails at once, and so do all others of its message: it may have gone astray, into what another put had stored. With the
//!   last question about its memory the owner seals that: conceals it, so that no late or strayed put is stored any more, and makes
//!   the sums of all of it, which have to be those of its earlier answers.
//! * *Trusted*: gets and puts as the transport does them.
//!
//! A put that failed may still arrive, late and damaged. The layer above conceals the memory before it stores the first fragment, and
//! a transport stores nothing into memory that is concealed.

use btl::{Event, Peer, Refusal, Way, Ways};
use copies::{Copy, Kind, Letter, Question, Step};
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
        let way = self.direct(copy.peer)?;
        let Dr { gets, below, .. } = self;
        gets.table.begin(copy, |copy, name| move_bytes(below, way, copy, name))
    }

    /// A transport reports something about a copy.
    pub(crate) fn on_copy(&mut self, name: u32, has_failed: bool) {
        if has_failed {
            return self.fail_copy(name);
        }
        if self.rdma == Rdma::Trusted {
            let over = self.gets.table.copies.end(name).map(|copy| Event::Done(copy.cookie));
            return self.events.extend(over);
        }
        if let (Some(faults), Some(copy)) = (&mut self.faults, self.gets.table.copies.get(name))
            && copy.kind == Kind::Get
        {
            faults.damage_copy(&copy.local);
        }
        let step = self.gets.table.moved(name);
        self.follow(step);
    }

    fn fail_copy(&mut self, name: u32) {
        let step = self.gets.table.failed(name);
        self.follow(step);
    }

    /// The transport of this way has lost a peer: it moves nothing any more.
    pub(crate) fn fail_copies(&mut self, way: Way, peer: Peer) {
        let is_direct = direct(&self.below, peer).is_some_and(|direct| direct.transport() == way.transport());
        if is_direct {
            self.gets.table.copies.moving(peer).into_iter().for_each(|name| self.fail_copy(name));
        }
    }

    /// A peer is lost.
    pub(crate) fn forget_copies(&mut self, peer: Peer) {
        self.gets.table.copies.forget(peer);
        self.gets.waiting.remove(&peer);
    }

    /// Takes a frame of a peer that is a question or an answer; whether it is one.
    pub(crate) fn take_question(
        &mut self,
        peer: Peer,
        header: PeerBytes<'_>,
        payload: PeerBytes<'_>,
    ) -> bool {
        let Some(question) = Question::read(peer, header) else { return false };
        let Dr { gets, below, faults, .. } = self;
        if let (Some(faults), Some(memory)) = (faults, gets.table.stored(&question)) {
            faults.damage_copy(&[memory]);
        }
        let conceal = |key| {
            if let Some(way) = direct(below, peer) {
                below.conceal_by(way, peer, key);
            }
        };
        let step = gets.table.take(peer, question, payload, conceal);
        self.follow(step);
        true
    }

    /// Does what a copy asks for next.
    fn follow(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            // Now or when there is room.
            Step::Tell(Letter { peer, header, payload }) => {
                self.gets.waiting.entry(peer).or_default().push_back((header, payload));
                self.send_questions();
            }
            Step::Over(event) => self.events.push_back(event),
            Step::Differs(name, _) => {
                let begun = self.make_again(name);
                self.gets.again += u64::from(begun);
                if !begun {
                    self.fail_copy(name);
                }
            }
        }
    }

    /// Makes a get again that differs; whether it is under way.
    fn make_again(&mut self, name: u32) -> bool {
        let Some(&Copy { kind: Kind::Get, peer, .. }) = self.gets.table.copies.again(name, TRIES) else {
            return false;
        };
        let Ok(way) = self.direct(peer) else { return false };
        let Dr { gets, below, .. } = self;
        let copy = gets.table.copies.get(name);
        copy.is_some_and(|copy| move_bytes(below, way, copy, name.into()).is_ok())
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

fn move_bytes<B: Ways>(below: &mut B, way: Way, copy: &Copy, name: u64) -> Result<(), Refusal> {
    let local = (copy.local[0], copy.kind == Kind::Put);
    below.copy_by(way, copy.peer, local, (&copy.key, copy.offset), name)
}
