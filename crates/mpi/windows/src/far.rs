//! Ranks of other nodes: operations as active messages, done at the target by its process.
//!
//! ```text
//!   origin                                     target
//!   runs of the target | data of the origin ─► checks the runs, copies or combines          (serve.rs)
//!   one operation less is under way         ◄─ an answer to each, with what was fetched
//! ```
//! What has become of each operation is in one place (`osc::Operations`), which flushes, requests and waits for locks read. A
//! flush waits for the answers. The requests of one origin are handled in their order, so the order of accumulates is
//! kept. The target combines as the ranks of its node do, by the same atomic operations or under the same lock: one
//! atomicity domain.
//!
//! It acquires its own lock for the origin, too, in the words of its node and in their order (far_locks.rs).

use abi::{Error, Result};
use bml::Bml;
use btl::{Class, Peer};
use engine::{Head, Operation, P2p, Work};
use mem::{PeerBytes, PeerSpace, Source, UserMem};
use osc::{Element, Holders, NO_TOKEN, Operations, Parts, Side};
use pml::Done;

use super::access::Completion;
pub(super) use super::far_locks::{Joined, Waiting, join, leave, lock, unlock};
use super::network::Network;
use super::{WINDOWS, Window, await_living, await_window, changes, remote};
use objects::domain::Token;
use objects::immediate::{ACCESSED, EMPTY};
use objects::state::State;

/// Kinds of requests, with the words behind the number of the window and the target's rank, which answers begin with as
/// well. Puts have runs alone.
pub(super) const PUT: u8 = 0;
/// Token, position in the origin's data, runs.
pub(super) const GET: u8 = 1;
/// Token of what fetches or 0, position, operation, datatype, runs.
pub(super) const COMBINE: u8 = 2;
/// Token, address, datatype.
pub(super) const SWAP: u8 = 3;
/// Token, whether it is exclusive, whether the origin holds a lock, the sender's rank.
pub(super) const LOCK: u8 = 4;
/// The sender's rank.
pub(super) const UNLOCK: u8 = 5;
/// The sender's rank.
pub(super) const POST: u8 = 6;
pub(super) const COMPLETE: u8 = 7;

/// A notice.
pub(super) const NOTICE: u8 = 8;
/// Handler, the sender's rank; the payload is for the handler.
pub(super) const MESSAGE: u8 = 9;

/// Nothing: are the holders of the lock still there?
pub(super) const CHECK: u8 = 10;

/// Kinds of answers.
pub(super) const DONE: u8 = 16;
/// Token, position; the payload is what was fetched.
pub(super) const DATA: u8 = 17;
/// Token.
pub(super) const GRANTED: u8 = 18;
/// Token or 0: the request makes no sense to its target.
pub(super) const FAILED: u8 = 19;
/// What has become of a message ([`super::light::Outcome`]).
pub(super) const HANDLED: u8 = 20;
/// Token: the lock cannot be had, since a process that may hold it is lost.
pub(super) const REFUSED: u8 = 21;
/// Token or 0: the target has left the window.
pub(super) const GONE: u8 = 22;

/// Bytes of a run in a message: address and length.
pub(super) const RUN: usize = 16;

/// The payload of a put of one run: its address and length, then the data.
pub(super) struct PutPayload {
    run: [[u8; 8]; 2],
    /// Bytes of `run` that were taken.
    taken: usize,
    data: UserMem,
}

impl PutPayload {
    pub fn new(there: usize, data: UserMem) -> PutPayload {
        PutPayload { run: [there as u64, data.len() as u64].map(u64::to_ne_bytes), taken: 0, data }
    }
}

impl Source for PutPayload {
    fn remaining(&self) -> usize {
        RUN - self.taken + self.data.len()
    }

    fn fill(&mut self, space: PeerSpace<'_>) {
        let rest = &self.run.as_flattened()[self.taken..];
        let taken = rest.len().min(space.len());
        space.write(PeerBytes::of(rest));
        self.taken += taken;
        self.data.fill(space.part(taken, usize::MAX));
    }

    fn contiguous(&self) -> Option<UserMem> {
        None
    }
}

/// What a process keeps of a window some of whose ranks are of other nodes.
#[derive(Default)]
pub struct Far {
    /// What was asked of them, and which of them are lost. The locks of this node know of the others' losses by it, too.
    pub operations: Operations,
    /// How often each rank of another node has posted for this process.
    pub posts: Box<[u64]>,
    /// How often this process has posted for each and it has not completed its access.
    pub exposed: Box<[u64]>,
    /// Ranks that this process has locked for its epoch of `MPI_Win_lock_all`.
    pub joined: Joined,
    /// Locks of this process's own that others want.
    pub queue: Vec<Waiting>,
    /// Ranks that want or hold one.
    pub holders: Holders,
    /// The library's thread answers while the program computes.
    pub helped: bool,
    /// What goes by the network alone.
    pub network: Network,
}

impl Far {
    /// Of a process of a window of so many ranks.
    pub fn new(ranks: usize, network: Network) -> Far {
        let counts = || vec![0; ranks].into();
        Far {
            operations: Operations::new(ranks),
            posts: counts(),
            exposed: counts(),
            network,
            ..Far::default()
        }
    }
}

/// The error of operations that fail at their target.
pub(super) const AT_TARGET: Error =
    Error::new(abi::ERR_RMA_RANGE, "an operation reached memory that its target does not expose");

impl Window {
    pub(super) fn peer(&self, rank: u32) -> Peer {
        Peer(self.group.members()[rank as usize])
    }

    /// The rank that a peer names as its own, if it is.
    pub fn rank_of(&self, peer: Peer, said: u64) -> Option<u32> {
        let rank = u32::try_from(said).ok()?;
        (self.group.members().get(rank as usize) == Some(&peer.0)).then_some(rank)
    }

    /// Answers that are still to come from `rank`, or from all.
    pub fn under_way(&self, rank: Option<u32>) -> bool {
        self.far.as_ref().is_some_and(|far| far.operations.are_due(rank) || far.network.reads(rank))
    }

    /// What has become of the operations on a rank, or on all, if they are over.
    #[inline]
    pub(super) fn flush(&mut self, bml: &mut Bml, rank: Option<u32>) -> Option<Result<()>> {
        if self.under_way(rank) || !self.is_flushed(bml, rank) {
            return None;
        }
        self.far.as_mut().map(|far| far.operations.take_failure(rank)).or(Some(Ok(())))
    }

    /// A rank of another node has posted for this process, or has completed its access to it; `false`: it has none.
    pub fn note(&mut self, kind: u8, rank: u32) -> bool {
        let Some(far) = &mut self.far else { return false };
        if kind == POST {
            let posts = &mut far.posts[rank as usize];
            *posts = posts.wrapping_add(1);
            return true;
        }
        let exposed = &mut far.exposed[rank as usize];
        let Some(fewer) = exposed.checked_sub(1) else { return false };
        *exposed = fewer;
        true
    }
}

/// Sends a request about a window to a rank, waiting for room.
pub(super) fn request(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    kind: u8,
    words: &[u64],
    payload: &[u8],
) -> Result<()> {
    request_with(t, win, rank, kind, words, &mut PeerBytes::of(payload))
}

/// As [`request`].
fn request_with<S: Source>(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    kind: u8,
    words: &[u64],
    payload: &mut S,
) -> Result<()> {
    let words = [&[number(win), rank.into()], words].concat();
    await_window(t, win, |window, p2p| {
        let head = Head { class: Class::Osc, kind, words: &words };
        match p2p.request(window.peer(rank), head, payload) {
            Ok(()) => {
                // A lock is answered some time, so no flush waits for that.
                if let Some(far) = window.far.as_mut().filter(|_| kind != LOCK) {
                    far.operations.asked(rank);
                }
                Some(Ok(()))
            }
            Err(engine::Refused::Busy) => None,
            Err(engine::Refused::Lost) => Some(Err(LOST)),
        }
    })
}

pub(super) const LOST: Error = Error::new(abi::ERR_PROC_ABORTED, "the target of the operation is lost");

/// The error of what a process does not do that has no such window: processes free one together, or after a failure.
pub(super) const LEFT: Error = Error::new(
    abi::ERR_PROC_ABORTED,
    "the target has freed the window, as a process does after the failure of another one",
);

/// The number of a window in messages.
pub(super) fn number(win: abi::Win) -> u64 {
    objects::handle::key(objects::handle::Kind::Win, win.0).map_or(0, u64::from)
}

/// The window of a number in a message, whose key it is.
pub(super) fn window_of(number: u64) -> abi::Win {
    abi::Win(objects::handle::make(objects::handle::Kind::Win, number as u32))
}

/// The target of an operation, and how many of its bytes one message names.
pub(super) struct Pieces<'a> {
    rank: u32,
    target: &'a Side,
    step: u64,
}

impl Pieces<'_> {
    /// Sends the data of the origin for all of them.
    pub fn put(&self, t: &mut Token, win: abi::Win, origin: Side) -> Result<()> {
        let (Side::Run(origin), Side::Run(target)) = (&origin, self.target) else {
            return self.send(t, win, PUT, Some(origin), |_| Vec::new());
        };
        for position in (0..target.len()).step_by(self.step as usize) {
            let piece = |whole: &UserMem| whole.part(position, self.step as usize);
            let mut payload = PutPayload::new(piece(target).address(), piece(origin));
            request_with(t, win, self.rank, PUT, &[1], &mut payload)?;
        }
        Ok(())
    }

    pub fn count(&self) -> u64 {
        self.target.len().div_ceil(self.step)
    }

    /// Sends a request for each piece: its runs, and the data of the origin for it. `words`: of the piece at a position.
    pub fn send(
        &self,
        t: &mut Token,
        win: abi::Win,
        kind: u8,
        mut origin: Option<Side>,
        words: impl Fn(u64) -> Vec<u64>,
    ) -> Result<()> {
        let mut payload = Vec::new();
        for position in (0..self.target.len()).step_by(self.step as usize) {
            let len = (self.target.len() - position).min(self.step) as usize;
            payload.clear();
            let mut runs = 0;
            self.target.runs_within(position, len, |run| {
                payload.extend((run.address() as u64).to_ne_bytes());
                payload.extend((run.len() as u64).to_ne_bytes());
                runs += 1;
            });
            if let Some(origin) = &mut origin {
                let begin = payload.len();
                payload.resize(begin + len, 0);
                origin.read(position, &mut payload[begin..]);
            }
            let mut words = words(position);
            words.push(runs);
            request(t, win, self.rank, kind, &words, &payload)?;
        }
        Ok(())
    }
}

/// The pieces of `target`, of another rank, each a multiple of `unit` bytes.
pub(super) fn pieces<'a>(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    target: &'a Side,
    unit: usize,
) -> Result<Pieces<'a>> {
    let state = t.lock();
    let most = state.p2p.most(WINDOWS.get(&state.tables).get(win)?.peer(rank));
    // Each byte may be a run of its own where there are several.
    let room = if let Side::Run(_) = target { most.saturating_sub(RUN) } else { most / (2 * RUN) };
    let step = (room / unit * unit).max(unit) as u64;
    Ok(Pieces { rank, target, step })
}

/// Writes all of `origin` to `target`, of another rank; the token of what uses the origin's data after this returns.
pub(super) fn put(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (origin, completion): (Side, Completion),
    target: &Side,
) -> Result<Option<u64>> {
    join(t, win, rank)?;
    let origin = match remote::put(t, win, rank, (origin, completion), target)? {
        Ok(token) => return Ok(token),
        Err(origin) => origin,
    };
    pieces(t, win, rank, target, 1)?.put(t, win, origin).map(|()| None)
}

/// Has all of `target`, of another rank, written to `origin`; the token under which that is wanted.
pub(super) fn get(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (origin, completion): (Side, Completion),
    target: &Side,
) -> Result<u64> {
    join(t, win, rank)?;
    let origin = match remote::get(t, win, rank, (origin, completion), target)? {
        Ok(token) => return Ok(token),
        Err(origin) => origin,
    };
    let pieces = pieces(t, win, rank, target, 1)?;
    let token = want(t, win, rank, (origin, completion), Parts::answers(pieces.count()))?;
    let sent = pieces.send(t, win, GET, None, |position| vec![token, position]);
    begun(t, win, token, sent)
}

/// An operation on `rank` begins, of which `parts` are to come for `side`.
pub(super) fn want(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (side, completion): (Side, Completion),
    parts: Parts,
) -> Result<u64> {
    let mut state = t.lock();
    let Some(far) = &mut WINDOWS.get_mut(&mut state.tables).get_mut(win)?.far else { return Ok(NO_TOKEN) };
    far.operations.begin(rank, Some(side), parts, completion == Completion::Request)
}

/// The token of an operation if it could be sent; else it is given up, since its call fails.
pub(super) fn begun(t: &mut Token, win: abi::Win, token: u64, sent: Result<()>) -> Result<u64> {
    if sent.is_err()
        && let Some(far) = &mut WINDOWS.get_mut(&mut t.lock().tables).get_mut(win)?.far
    {
        far.operations.abandon(token);
    }
    sent.map(|()| token)
}

/// So many answers of messages are to come for an operation in place of so many `ends` of the network.
pub(super) fn redirect(
    t: &mut Token,
    win: abi::Win,
    (rank, token): (u32, u64),
    ends: u64,
    answers: u64,
) -> Result<()> {
    let mut state = t.lock();
    if let Some(far) = &mut WINDOWS.get_mut(&mut state.tables).get_mut(win)?.far {
        far.operations.redirect(rank, token, ends, answers);
    }
    Ok(())
}

/// Has `target`, of another rank, combined with `origin`, and what it was written to `result`; the token of that.
pub(super) fn combine(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (element, op): (&Element, abi::Op),
    origin: Option<Side>,
    result: Option<(Side, Completion)>,
    target: &Side,
) -> Result<u64> {
    join(t, win, rank)?;
    let by_network = changes::combine(t, win, rank, (element, op), origin.as_ref(), result.as_ref(), target)?;
    if let Some(token) = by_network {
        return Ok(token);
    }
    remote::settle_changes(t, win, rank)?;
    let pieces = pieces(t, win, rank, target, element.size)?;
    let token = match result {
        Some(result) => want(t, win, rank, result, Parts::answers(pieces.count()))?,
        None => NO_TOKEN,
    };
    let words = |position| vec![token, position, op.0 as u64, element.word()];
    let sent = pieces.send(t, win, COMBINE, origin, words);
    begun(t, win, token, sent)
}

/// Has the element at `address` of another rank compared and swapped, and what it was written to `result`.
pub(super) fn compare_and_swap(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    element: &Element,
    address: u64,
    operands: &[u8],
    result: UserMem,
) -> Result<()> {
    join(t, win, rank)?;
    if changes::compare_and_swap(t, win, rank, element, address as usize, operands, result)? {
        return Ok(());
    }
    remote::settle_changes(t, win, rank)?;
    let token = want(t, win, rank, (Side::Run(result), Completion::Flush), Parts::answers(1))?;
    let words = [token, address, element.word()];
    let sent = request(t, win, rank, SWAP, &words, operands);
    begun(t, win, token, sent).map(drop)
}

/// Waits until the operations on a rank, or on all, are done there.
///
/// # Errors
/// That of the first one that has failed.
pub(super) fn flush(t: &mut Token, win: abi::Win, rank: Option<u32>) -> Result<()> {
    let mut ended = Vec::new();
    loop {
        let flushed = |window: &mut Window, p2p: &mut P2p| window.flush(&mut p2p.bml, rank).map(Ok);
        let outcome = await_living(t, win, super::by_progress, flushed, |window, _| {
            ended = window.ended_of(rank);
            if ended.is_empty() { Ok(()) } else { Err(LOST) }
        });
        match outcome {
            Ok(flushed) => return flushed,
            Err(error) if ended.is_empty() => return Err(error),
            // The transport does not know yet. Nothing more comes from them, so that what is left are failures.
            Err(_) => ended.drain(..).for_each(|peer| super::serve::forget(&mut t.lock(), peer)),
        }
    }
}

impl Window {
    /// Those of this node among the ranks that answers are to come from, of `rank` or all, whose processes have ended.
    fn ended_of(&self, rank: Option<u32>) -> Vec<Peer> {
        let Some(far) = &self.far else { return Vec::new() };
        let asked = |&one: &u32| rank.is_none_or(|rank| rank == one) && far.operations.are_due(Some(one));
        let ranks = (0..self.ranks() as u32).filter(asked);
        ranks.filter(|&one| self.has_ended(one)).map(|one| self.peer(one)).collect()
    }
}

/// Announces to a rank that this process has posted for it, or has completed its access to it.
pub(super) fn tell(t: &mut Token, win: abi::Win, rank: u32, kind: u8) -> Result<()> {
    let me = WINDOWS.get(&t.lock().tables).get(win)?.rank;
    request(t, win, rank, kind, &[me.into()], &[])
}

/// Has a notice of another rank grow, when what the network does there for this process is done.
pub(super) fn notify(t: &mut Token, win: abi::Win, rank: u32, notice: u32) -> Result<()> {
    remote::settle(t, win, rank)?;
    request(t, win, rank, NOTICE, &[notice.into()], &[])
}

/// The request of an operation: complete when all data is there that it fetches, or the origin of its put is free; or when
/// that will not happen any more.
struct Pending {
    win: abi::Win,
    token: u64,
    result: Option<Result<()>>,
}

impl Operation<State> for Pending {
    fn work(&self) -> Option<Work> {
        Some(Work::Window)
    }

    fn is_over(&mut self, state: &mut State) -> bool {
        if self.result.is_none() {
            let State { tables, p2p, .. } = state;
            // The caller that freed the window got the outcome there.
            let window = WINDOWS.get_mut(tables).get_mut(self.win).ok();
            self.result = window.map_or(Some(Ok(())), |window| window.take(p2p, self.token));
        }
        self.result.is_some()
    }

    fn outcome(&self) -> Done {
        let error = self
            .result
            .map_or(abi::SUCCESS, |result| result.map_or_else(|error| error.class, |()| abi::SUCCESS));
        Done { error, owner: self.win.0 as u32, ..EMPTY }
    }
}

impl Window {
    /// What has become of an operation, once. While it is not over, the end of its target is looked for.
    pub(super) fn take(&mut self, p2p: &mut P2p, token: u64) -> Option<Result<()>> {
        if let Some(rank) = self.far.as_ref().and_then(|far| far.network.put(token)) {
            self.is_flushed(&mut p2p.bml, Some(rank));
        }
        let Some(far) = &mut self.far else { return Some(Ok(())) };
        let result = far.operations.take(token);
        if let (None, Some(rank)) = (result, far.operations.target(token)) {
            p2p.await_once(self.peer(rank));
        }
        result
    }
}

/// The request of an operation with a token, if it is not over yet.
pub(super) fn request_of(t: &mut Token, win: abi::Win, token: Option<u64>) -> Result<abi::Request> {
    let Some(token) = token else { return Ok(ACCESSED) };
    let key = t.lock().requests.add(Pending { win, token, result: None })?;
    Ok(objects::handle::RequestKey::Operation(key).handle())
}

#[cfg(test)]
mod tests {
    use super::*;
    use objects::memory::of_vec;

    /// Transports take a payload whole or in parts.
    #[test]
    fn a_put_is_the_same_in_whatever_parts_it_is_taken() {
        let data: Vec<u8> = (0..40).collect();
        let whole = [&0x1234_u64.to_ne_bytes()[..], &40_u64.to_ne_bytes(), &data].concat();
        for part in 1..=whole.len() {
            let mut payload = PutPayload::new(0x1234, of_vec(&data));
            let mut taken = Vec::new();
            while payload.remaining() > 0 {
                let mut space = vec![0; part.min(payload.remaining())];
                payload.fill(PeerSpace::of(&mut space));
                taken.extend(space);
            }
            assert_eq!(taken, whole, "in parts of {part}");
        }
    }
}
