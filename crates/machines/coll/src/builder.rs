//! The small language in which algorithms write their schedules.

use crate::params::Params;
use crate::port::Side;
use crate::schedule::{Buf, IRREGULAR, Peer, Ref, RefId, Schedule, Scratch, Slot, Step, Wake};
use std::collections::{HashMap, VecDeque};

/// A request slot that still has to be waited for.
#[must_use = "a request that is never waited for may outlive its buffer"]
#[derive(Debug)]
pub(crate) struct Req(u32);

/// Collects steps; gives out request slots and scratch buffers and sizes the latter from their use.
#[derive(Default)]
pub(crate) struct Builder {
    steps: Vec<Step>,
    refs: Vec<Ref>,
    known: HashMap<Ref, RefId>,
    free: Vec<u32>,
    slots: u32,
    scratch: Vec<Scratch>,
    rounds: u16,
    irregular: u32,
    bounce_buffers: bool,
    max_blocks: u32,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder { max_blocks: 1, ..Builder::default() }
    }

    /// A new scratch buffer for elements of the reduction's type.
    pub(crate) fn typed(&mut self) -> Buf {
        Buf::Typed(self.new_scratch(false))
    }

    /// A new scratch buffer for packed bytes.
    pub(crate) fn packed(&mut self) -> Buf {
        Buf::Packed(self.new_scratch(true))
    }

    fn new_scratch(&mut self, packed: bool) -> u8 {
        self.scratch.push(Scratch { packed, parts: 0, den: 1 });
        u8::try_from(self.scratch.len() - 1).expect("an algorithm uses a handful of scratch buffers")
    }

    pub(crate) fn send(&mut self, peer: Peer, from: Ref) -> Req {
        let from = self.note(from);
        let slot = self.slot();
        self.steps.push(Step::Send { slot, peer, from });
        Req(slot)
    }

    pub(crate) fn recv(&mut self, peer: Peer, into: Ref) -> Req {
        let into = self.note(into);
        let slot = self.slot();
        self.steps.push(Step::Recv { slot, peer, into });
        Req(slot)
    }

    fn slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    pub(crate) fn wait(&mut self, req: Req) {
        self.steps.push(Step::Wait { slot: req.0 });
        self.free.push(req.0);
    }

    pub(crate) fn wait_all(&mut self, reqs: impl IntoIterator<Item = Req>) {
        for req in reqs {
            self.wait(req);
        }
    }

    /// Sends and waits.
    pub(crate) fn send_now(&mut self, peer: Peer, from: Ref) {
        let req = self.send(peer, from);
        self.wait(req);
    }

    /// Receives and waits.
    pub(crate) fn recv_now(&mut self, peer: Peer, into: Ref) {
        let req = self.recv(peer, into);
        self.wait(req);
    }

    /// Sends to one process while receiving from another; the receive is posted first.
    pub(crate) fn exchange(&mut self, to: Peer, from: Ref, source: Peer, into: Ref) {
        let recv = self.recv(source, into);
        let send = self.send(to, from);
        self.wait(recv);
        self.wait(send);
    }

    /// Copies unless source and destination are the same.
    pub(crate) fn copy(&mut self, into: Ref, from: Ref) {
        if into != from {
            let (into, from) = (self.note(into), self.note(from));
            self.steps.push(Step::Copy { into, from });
        }
    }

    /// `into = left op right`; see [`Step::Reduce`] for what `into` may be.
    pub(crate) fn reduce(&mut self, into: Ref, left: Ref, right: Ref) {
        let apart = |operand: Ref| into == operand || disjoint(into, operand);
        debug_assert!(apart(left) && apart(right), "{into:?} = {left:?} op {right:?}");
        let [into, left, right] = [into, left, right].map(|r| self.note(r));
        self.steps.push(Step::Reduce { into, left, right });
    }

    /// `acc = new op acc` if `new_is_left`, else `acc = acc op new`; `new` is scratch.
    pub(crate) fn merge(&mut self, acc: Ref, new: Ref, new_is_left: bool, commutative: bool) {
        if new_is_left {
            self.reduce(acc, new, acc);
        } else if commutative {
            self.reduce(acc, acc, new);
        } else {
            self.reduce(new, acc, new);
            self.copy(acc, new);
        }
    }

    pub(crate) fn publish(&mut self, round: u16, slot: Slot, from: Ref, wake: Wake) {
        self.note_round(round);
        let from = self.note(from);
        self.steps.push(Step::Publish { round, slot, from, wake });
    }

    pub(crate) fn await_slot(&mut self, round: u16, slot: Slot, into: Ref) {
        self.note_round(round);
        let into = self.note(into);
        self.steps.push(Step::Await { round, slot, into });
    }

    /// Emits steps that are taken if `data` has more than `limit` packed bytes.
    pub(crate) fn if_longer(&mut self, data: Ref, limit: u32, emit: impl FnOnce(&mut Builder)) {
        self.branch(data, limit, true, emit);
    }

    /// Emits steps that are taken if `data` has at most `limit` packed bytes.
    pub(crate) fn unless_longer(&mut self, data: Ref, limit: u32, emit: impl FnOnce(&mut Builder)) {
        self.branch(data, limit, false, emit);
    }

    fn branch(&mut self, data: Ref, limit: u32, longer: bool, emit: impl FnOnce(&mut Builder)) {
        let data = self.note(data);
        let at = self.steps.len();
        self.steps.push(Step::Branch { data, limit, longer, otherwise: 0 });
        emit(self);
        let otherwise = self.steps.len() as u32;
        self.steps[at] = Step::Branch { data, limit, longer, otherwise };
    }

    pub(crate) fn publish_parts(&mut self, round: u16, side: Side, limit: u32, wake: Wake) {
        self.note_round(round);
        self.steps.push(Step::PublishParts { round, side, limit, wake });
    }

    pub(crate) fn await_part(&mut self, round: u16, owner: u32, into: Ref) {
        self.note_round(round);
        let into = self.note(into);
        self.steps.push(Step::AwaitPart { round, owner, into });
    }

    /// Emits `Arrive`; `last` writes the steps that only the last process takes.
    pub(crate) fn arrive(&mut self, round: u16, last: impl FnOnce(&mut Builder)) {
        self.note_round(round);
        let at = self.steps.len();
        self.steps.push(Step::Arrive { round, otherwise: 0 });
        last(self);
        let end = self.steps.len() as u32;
        self.steps[at] = Step::Arrive { round, otherwise: end };
    }

    pub(crate) fn retire(&mut self, round: u16) {
        self.note_round(round);
        self.steps.push(Step::Retire { round });
    }

    pub(crate) fn claim(&mut self, round: u16) {
        self.note_round(round);
        self.steps.push(Step::Claim { round });
    }

    pub(crate) fn expose(&mut self, round: u16, buf: Ref, wake: Wake) {
        self.note_round(round);
        let buf = self.note(buf);
        self.steps.push(Step::Expose { round, buf, wake });
    }

    pub(crate) fn get(&mut self, round: u16, owner: u32, from: Ref, into: Ref) {
        self.note_round(round);
        let (from, into) = (self.note(from), self.note(into));
        self.steps.push(Step::Get { round, owner, from, into });
    }

    fn note_round(&mut self, round: u16) {
        self.rounds = self.rounds.max(round + 1);
    }

    /// The number of a reference; new ones are taken into account for the sizes of buffers.
    fn note(&mut self, r: Ref) -> RefId {
        if let Some(&id) = self.known.get(&r) {
            return id;
        }
        let id = RefId(self.refs.len() as u32);
        self.refs.push(r);
        self.known.insert(r, id);
        self.size_for(r);
        id
    }

    /// Keeps the largest use of each scratch buffer and the largest multiple of the count.
    fn size_for(&mut self, r: Ref) {
        if r.den == IRREGULAR {
            self.irregular = self.irregular.max(r.hi);
        }
        let by_index = r.buf.is_block();
        if r.den == 1 && !by_index {
            self.max_blocks = self.max_blocks.max(r.hi);
        }
        self.bounce_buffers |= matches!(r.buf, Buf::Bounce { .. } | Buf::BounceBytes { .. });
        let (Buf::Typed(i) | Buf::Packed(i) | Buf::PackedBlock(i)) = r.buf else { return };
        let s = &mut self.scratch[usize::from(i)];
        let parts = if by_index { 1 } else { r.hi - r.org.min(r.lo) };
        let larger = u64::from(parts) * u64::from(s.den) > u64::from(s.parts) * u64::from(r.den);
        if r.den == IRREGULAR || (s.den != IRREGULAR && larger) {
            (s.parts, s.den) = (parts, r.den);
        }
    }

    pub(crate) fn finish(self) -> Schedule {
        debug_assert_eq!(self.free.len(), self.slots as usize, "every request is waited for");
        Schedule {
            steps: self.steps.into_boxed_slice(),
            refs: self.refs.into_boxed_slice(),
            slots: self.slots,
            scratch: self.scratch,
            rounds: self.rounds,
            irregular: self.irregular,
            bounce_buffers: self.bounce_buffers,
            max_blocks: self.max_blocks,
            algorithm: None,
        }
    }
}

fn disjoint(a: Ref, b: Ref) -> bool {
    a.buf != b.buf || (a.den == b.den && (a.hi <= b.lo || b.hi <= a.lo))
}

/// Sends in flight, at most `limit`: the oldest is waited for before one more starts.
pub(crate) struct Window {
    limit: usize,
    reqs: VecDeque<Req>,
}

impl Window {
    pub(crate) fn new(limit: usize) -> Window {
        Window { limit: limit.max(1), reqs: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, b: &mut Builder, req: Req) {
        self.reqs.push_back(req);
        while self.reqs.len() > self.limit {
            self.wait_oldest(b);
        }
    }

    pub(crate) fn wait_oldest(&mut self, b: &mut Builder) {
        if let Some(req) = self.reqs.pop_front() {
            b.wait(req);
        }
    }

    pub(crate) fn finish(mut self, b: &mut Builder) {
        b.wait_all(self.reqs.drain(..));
    }
}

/// Some processes of the own group, renumbered from 0: all of them, or a node's, or the leaders.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    /// Index of the calling process.
    pub(crate) me: u32,
    /// Number of processes.
    pub(crate) size: u32,
    ranks: Option<&'a [u32]>,
    /// The position that has index 0.
    first: u32,
    inter: bool,
}

impl<'a> Group<'a> {
    /// The whole own group.
    pub(crate) fn own(p: &Params) -> Group<'a> {
        Group { me: p.rank, size: p.size, ranks: None, first: 0, inter: p.remote.is_some() }
    }

    /// The ranks listed, if the calling process is among them.
    pub(crate) fn of_ranks(p: &Params, ranks: &'a [u32]) -> Option<Group<'a>> {
        let me = ranks.iter().position(|&r| r == p.rank)?;
        let inter = p.remote.is_some();
        Some(Group { me: me as u32, size: ranks.len() as u32, ranks: Some(ranks), first: 0, inter })
    }

    /// Renumbered around the ring so that `root` has index 0.
    pub(crate) fn rotated(self, root: u32) -> Group<'a> {
        let me = (self.me + self.size - root) % self.size;
        Group { me, first: (self.first + root) % self.size, ..self }
    }

    /// The process with index `i`.
    pub(crate) fn peer(&self, i: u32) -> Peer {
        let rank = self.rank(i);
        if self.inter { Peer::local(rank) } else { Peer::rank(rank) }
    }

    /// The rank with index `i`.
    pub(crate) fn rank(&self, i: u32) -> u32 {
        let position = ((u64::from(i) + u64::from(self.first)) % u64::from(self.size)) as u32;
        self.ranks.map_or(position, |r| r[position as usize])
    }

    /// The index `by` places after the own one, around the ring.
    pub(crate) fn after(&self, by: u32) -> u32 {
        ((u64::from(self.me) + u64::from(by)) % u64::from(self.size)) as u32
    }

    /// The index `by` places before the own one, around the ring.
    pub(crate) fn before(&self, by: u32) -> u32 {
        self.after(self.size - by % self.size)
    }
}
