//! The target of operations by messages: what a process does for others with its windows, whatever it is doing itself.
//!
//! Peers are not trusted: a message names memory, which is looked up among what the window exposes before it is
//! touched. What makes no sense is answered with a failure, so that its sender does not wait for it. What an origin can
//! have this process keep or send is bounded here, and honest ones stay below:
//!
//! ```text
//!   bytes that one request reads, writes or has sent    what one answer takes: origins divide operations by that
//!   locks that a rank wants or holds                    one (osc::Holders)
//!   ends of accesses that a rank reports                as many as this process has posted for it
//!   messages of the light interface that are kept       light::MOST of each rank
//!   answers                                             as many as were asked for (osc::Operations)
//! ```

use abi::Result;
use btl::{Class, Peer};
use engine::{Advance, Afterlife, Fate, Handler, Head, Message, Operation, Work};
use mem::{PeerBytes, UserMem};
use osc::{Element, NO_TOKEN};
use pml::Done;
use shm::sync::Ordering;

use super::far::{
    AT_TARGET, CHECK, COMBINE, COMPLETE, DATA, DONE, FAILED, GET, GONE, GRANTED, HANDLED, LEFT, LOCK, LOST,
    MESSAGE, NOTICE, POST, PUT, REFUSED, RUN, SWAP, UNLOCK,
};
use super::far_locks::{Decided, NOT_GRANTED};
use super::locks::HOLDER_ENDED;
use super::{WINDOWS, Window, Windows, light};
use objects::immediate::EMPTY;
use objects::memory::{exposed_run, of_vec, of_vec_mut, read_at};
use objects::state::State;

/// The handler of windows' frames.
pub struct Serve;

impl Handler<State> for Serve {
    const CLASS: Class = Class::Osc;

    fn on_message(state: &mut State, message: &Message<'_>) {
        let Some((&[number, rank], words)) = message.words().split_first_chunk() else { return };
        let (about, from) = (About { number, rank }, message.from);
        let frame = Frame { from, kind: message.kind, words, payload: message.payload };
        if message.is_answer {
            return WINDOWS.get_mut(&mut state.tables).take_answer(about, &frame);
        }
        if let (MESSAGE, &[handler, source]) = (frame.kind, words) {
            let windows = WINDOWS.get_mut(&mut state.tables);
            match light::on_message(windows, (from, message.payload), (about, handler), source) {
                Ok(()) => state.due.push_back(light::call),
                Err(outcome) => about.answer(state, from, HANDLED, &[outcome as u64], &[]),
            }
            return;
        }
        match WINDOWS.get_mut(&mut state.tables).serve(about, &frame, state.p2p.most(from)) {
            Some(Reply::Done) => about.answer(state, from, DONE, &[], &[]),
            Some(Reply::Data { token, position, bytes }) => {
                about.answer(state, from, DATA, &[token, position], &bytes);
            }
            Some(Reply::Later) => {}
            Some(Reply::Gone) => about.answer(state, from, GONE, &[frame.token()], &[]),
            None => {
                about.answer(state, from, FAILED, &[frame.token()], &[]);
            }
        }
        if let LOCK | UNLOCK | CHECK = frame.kind {
            grant(state, number, frame.kind == CHECK);
            let windows = WINDOWS.get(&state.tables);
            if let (true, Some(key)) = (windows.waiting > 0, windows.grants) {
                state.requests.register(key);
            }
        }
    }

    fn on_event(state: &mut State, cookie: u64, succeeded: bool) {
        WINDOWS.get_mut(&mut state.tables).read_over(cookie, succeeded);
    }

    fn on_lost(state: &mut State, peer: Peer) {
        forget(state, peer);
    }
}

/// Nothing more comes from a peer.
pub(super) fn forget(state: &mut State, peer: Peer) {
    WINDOWS.get_mut(&mut state.tables).forget(peer).into_iter().for_each(|number| grant(state, number, true));
}

/// This process leaves a window that it has no more: the ranks that wait for its lock get none.
pub(super) fn leave(state: &mut State, number: u64, window: &mut Window) {
    for (rank, token) in WINDOWS.get_mut(&mut state.tables).leave(window) {
        About { number, rank: window.rank.into() }.answer(state, window.peer(rank), GONE, &[token], &[]);
    }
}

/// A frame that came.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub from: Peer,
    pub kind: u8,
    /// Behind those of [`About`].
    pub words: &'a [u64],
    pub payload: PeerBytes<'a>,
}

impl Frame<'_> {
    /// The token of a request whose operation has one.
    fn token(&self) -> u64 {
        match (self.kind, self.words) {
            (GET | COMBINE | SWAP | LOCK, &[token, ..]) => token,
            _ => NO_TOKEN,
        }
    }
}

/// What a request is answered with.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Reply {
    Done,
    Data {
        token: u64,
        position: u64,
        bytes: Vec<u8>,
    },
    /// Nothing now: the lock is decided on later.
    Later,
    /// This process has left the window.
    Gone,
}

/// What a request and its answer begin with.
#[derive(Clone, Copy)]
pub(super) struct About {
    /// Number of the window.
    pub number: u64,
    /// Rank of the request's target, as its origin names it.
    pub rank: u64,
}

impl About {
    pub fn answer(self, state: &mut State, to: Peer, kind: u8, words: &[u64], payload: &[u8]) {
        let words = [&[self.number, self.rank], words].concat();
        state.p2p.answer(to, Head { class: Class::Osc, kind, words: &words }, &mut PeerBytes::of(payload));
    }
}

/// Grants the locks of a window that can be had now, and answers the ranks that want them; `checks`: refuses those that
/// cannot be had any more.
fn grant(state: &mut State, number: u64, checks: bool) {
    for Decided { rank, token, granted } in WINDOWS.get_mut(&mut state.tables).decide(number, checks) {
        let Some(window) = WINDOWS.get_mut(&mut state.tables).numbered(number) else { return };
        let (peer, me) = (window.peer(rank), window.rank);
        let kind = if granted { GRANTED } else { REFUSED };
        About { number, rank: me.into() }.answer(state, peer, kind, &[token], &[]);
    }
}

/// Grants locks of all windows; registered while ranks of other nodes wait for some.
struct Grants;

impl Operation<State> for Grants {
    fn work(&self) -> Option<Work> {
        Some(Work::Window)
    }

    fn is_over(&mut self, state: &mut State) -> bool {
        WINDOWS.get(&state.tables).waiting == 0
    }

    fn advance(&mut self, state: &mut State, _key: u32) -> Advance {
        let before = WINDOWS.get(&state.tables).waiting;
        WINDOWS
            .get_mut(&mut state.tables)
            .wanted()
            .into_iter()
            .for_each(|number| grant(state, number, false));
        match WINDOWS.get(&state.tables).waiting {
            0 => Advance::Finished,
            now if now == before => Advance::Idle,
            _ => Advance::Moved,
        }
    }

    fn outcome(&self) -> Done {
        EMPTY
    }

    fn conclude(&mut self) -> (Done, Fate) {
        (EMPTY, Fate::Shared)
    }

    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        Afterlife::Stays
    }
}

/// Makes the operation that grants locks, before the first window.
///
/// # Errors
/// `MPI_ERR_OTHER` when too many requests exist.
pub(super) fn prepare_grants(state: &mut State) -> Result<()> {
    let grants = &mut WINDOWS.get_mut(&mut state.tables).grants;
    if grants.is_none() {
        *grants = Some(state.requests.add(Grants)?);
    }
    Ok(())
}

impl Windows {
    /// Does what a request asks for, which names and moves no more than `most` bytes; `None`: it makes no sense.
    pub(super) fn serve(&mut self, about: About, frame: &Frame<'_>, most: usize) -> Option<Reply> {
        let Some(window) = self.numbered(about.number) else { return Some(Reply::Gone) };
        window.far.as_ref()?;
        match (frame.kind, frame.words) {
            (PUT, &[runs]) => {
                let (runs, data) = window.named(frame.payload, runs, most)?;
                if data.len() != total(&runs) {
                    return None;
                }
                scatter(&runs, &data.to_vec());
            }
            (GET, &[token, position, runs]) => {
                let (runs, _) = window.named(frame.payload, runs, most)?;
                return Some(Reply::Data { token, position, bytes: gather(&runs) });
            }
            (COMBINE, &[token, position, op, datatype, runs]) => {
                let (runs, data) = window.named(frame.payload, runs, most)?;
                let fetches = token != 0;
                let bytes = window.combine(&runs, &data.to_vec(), op, datatype, fetches)?;
                if fetches {
                    return Some(Reply::Data { token, position, bytes });
                }
            }
            (SWAP, &[token, address, datatype]) => {
                let operands = frame.payload.part(0, most).to_vec();
                let bytes = window.swap(address, datatype, &operands)?;
                return Some(Reply::Data { token, position: 0, bytes });
            }
            (LOCK, &[token, exclusive, holds, rank]) => {
                let rank = window.rank_of(frame.from, rank)?;
                return self
                    .enqueue(about.number, rank, token, exclusive != 0, holds != 0)
                    .then_some(Reply::Later);
            }
            (UNLOCK, &[rank]) => {
                let rank = window.rank_of(frame.from, rank)?;
                return window.release(rank).then_some(Reply::Done);
            }
            (CHECK, &[]) => {}
            (POST | COMPLETE, &[rank]) => {
                let rank = window.rank_of(frame.from, rank)?;
                return window.note(frame.kind, rank).then_some(Reply::Done);
            }
            (NOTICE, &[notice]) => {
                let notice = u32::try_from(notice).ok().filter(|&notice| notice < osc::NOTICES)?;
                window.control.view().notice(window.local, notice).fetch_add(1, Ordering::Release);
            }
            _ => return None,
        }
        Some(Reply::Done)
    }

    /// An answer to a request of this process.
    pub(super) fn take_answer(&mut self, about: About, frame: &Frame<'_>) {
        if let (HANDLED, &[outcome]) = (frame.kind, frame.words) {
            return light::on_handled(self, frame.from, about, outcome);
        }
        let Some(window) = self.numbered(about.number) else { return };
        let rank = window.rank_of(frame.from, about.rank);
        let (Some(rank), Some(far)) = (rank, &mut window.far) else { return };
        let operations = &mut far.operations;
        match (frame.kind, frame.words) {
            (DATA, &[token, position]) => operations.fetched(rank, token, position, &frame.payload.to_vec()),
            (GRANTED, &[token]) => operations.decided(rank, token, Ok(())),
            (REFUSED, &[token]) => operations.decided(rank, token, Err(HOLDER_ENDED)),
            (FAILED, &[token]) => operations.refused(rank, token, AT_TARGET, NOT_GRANTED),
            (GONE, &[token]) => operations.refused(rank, token, LEFT, LEFT),
            (DONE, &[]) => {
                operations.answered(rank);
            }
            _ => {}
        }
    }

    /// Nothing more comes from `peer`: its answers will not. The numbers of all windows that it is of and that go by
    /// messages.
    fn forget(&mut self, peer: Peer) -> Vec<u64> {
        let mut numbers = Vec::new();
        for (number, window) in self.iter_mut() {
            let rank = window.group.members().iter().position(|&member| member == peer.0);
            let Some(rank) = rank else { continue };
            window.lose_messages(rank as u32);
            if let Some(far) = &mut window.far {
                let rank = rank as u32;
                if far.network.has_written(rank) {
                    far.operations.fail(rank, LOST);
                }
                far.operations.lose(rank, LOST);
                numbers.push(number);
            }
        }
        numbers
    }
}

impl Window {
    /// The runs that a payload begins with, all of them exposed by this window and together of `most` bytes at most, and
    /// the data behind them.
    fn named<'a>(
        &self,
        payload: PeerBytes<'a>,
        runs: u64,
        most: usize,
    ) -> Option<(Vec<UserMem>, PeerBytes<'a>)> {
        let runs = usize::try_from(runs).ok().filter(|&runs| runs <= payload.len() / RUN)?;
        let (mut named, mut left) = (Vec::with_capacity(runs), most as u64);
        for run in 0..runs {
            let (address, len) = (payload.word(2 * run), payload.word(2 * run + 1));
            left = left.checked_sub(len)?;
            named.push(self.exposed(address, len)?);
        }
        Some((named, payload.part(runs * RUN, payload.len())))
    }

    /// Memory of this process, if the window exposes it.
    fn exposed(&self, address: u64, len: u64) -> Option<UserMem> {
        let own = self.targets[self.rank as usize];
        let inside = match self.regions.get(self.rank as usize) {
            Some(regions) => regions.cover(address, len),
            None => {
                let start = address.checked_sub(own.base as u64);
                start.and_then(|start| start.checked_add(len)).is_some_and(|end| end <= own.size)
            }
        };
        inside.then(|| exposed_run(address as usize, len as usize))
    }
}

fn total(runs: &[UserMem]) -> usize {
    runs.iter().map(|run| run.len()).sum()
}

fn gather(runs: &[UserMem]) -> Vec<u8> {
    let mut all = Vec::with_capacity(total(runs));
    runs.iter().for_each(|&run| all.extend(read_at(run)));
    all
}

fn scatter(runs: &[UserMem], data: &[u8]) {
    let mut at = 0;
    for run in runs {
        let end = (at + run.len()).min(data.len());
        run.write(PeerBytes::of(&data[at..end]));
        at = end;
    }
}

impl Window {
    /// Combines the elements of `runs`, which are this process's, with those of `data`, as ranks of its node do; what
    /// they were, if it `fetches` that.
    fn combine(
        &mut self,
        runs: &[UserMem],
        data: &[u8],
        op: u64,
        datatype: u64,
        fetches: bool,
    ) -> Option<Vec<u8>> {
        let (element, op, own) = (Element::named_by(datatype)?, abi::Op(op as usize), self.own());
        let len = total(runs);
        let loads = op == abi::NO_OP;
        if !len.is_multiple_of(element.size) || !loads && data.len() != len {
            return None;
        }
        let mut before = vec![0; if fetches { len } else { 0 }];
        if self.targets[self.rank as usize].mapped && element.is_word() {
            let (from, into) = (of_vec(data), of_vec_mut(&mut before));
            let mut position = 0;
            for &run in runs.iter().filter(|run| !run.is_empty()) {
                let part = |memory: UserMem| memory.part(position, run.len());
                let (from, into) = ((!loads).then(|| part(from)), fetches.then(|| part(into)));
                self.combine_run(own, (&element, op), run, from, into).ok()?;
                position += run.len();
            }
            return Some(before);
        }
        self.locked(own, || {
            let mut present = gather(runs);
            if fetches {
                before.copy_from_slice(&present);
            }
            if !loads {
                osc::combine(&element, op, &mut present, data).ok()?;
                scatter(runs, &present);
            }
            Some(before)
        })
    }

    /// Compares and swaps one element of this process's, as ranks of its node do; what it was. `operands`: what to
    /// store, and what to compare with.
    fn swap(&mut self, address: u64, datatype: u64, operands: &[u8]) -> Option<Vec<u8>> {
        let (element, own) = (Element::named_by(datatype)?, self.own());
        let place = self.exposed(address, element.size as u64)?;
        if operands.len() != 2 * element.size {
            return None;
        }
        let (origin, compare) = operands.split_at(element.size);
        let mut before = vec![0; element.size];
        if self.targets[self.rank as usize].mapped && element.is_atomic_at(place.address()) {
            let into = of_vec_mut(&mut before);
            self.compare_word(own, &element, place, (of_vec(origin), of_vec(compare), into));
            return Some(before);
        }
        self.locked(own, || {
            let mut present = read_at(place);
            before.copy_from_slice(&present);
            if osc::compare(&mut present, origin, compare) {
                place.write(PeerBytes::of(&present));
            }
        });
        Some(before)
    }
}
