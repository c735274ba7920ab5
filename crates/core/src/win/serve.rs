//! The target of operations by messages: what a process does for others with its windows, whatever it is doing itself.
//!
//! Peers are not trusted: a message names memory, which is looked up among what the window exposes before it is
//! touched. What makes no sense is answered with a failure, so that nobody waits for it.

use btl::{Class, Peer};
use engine::{Head, Message, Taker};
use mem::{PeerBytes, UserMem};
use osc::Element;
use shm::sync::Ordering;

use super::far::{
    CHECK, COMBINE, COMPLETE, DATA, DONE, FAILED, GET, GRANTED, HANDLED, LOCK, MESSAGE, NOTICE, POST, PUT,
    REFUSED, RUN, SWAP, UNLOCK,
};
use super::far_locks::Decided;
use super::{Window, Windows, light};
use crate::memory::{exposed_run, of_vec, of_vec_mut, read_at};
use crate::state::State;

/// Who takes the frames of windows.
pub(crate) struct Serve;

impl Taker<State> for Serve {
    const CLASS: Class = Class::Osc;

    fn on_message(state: &mut State, message: &Message<'_>) {
        let Some((&[number, rank], words)) = message.words().split_first_chunk() else { return };
        let about = About { number, rank };
        if message.is_answer {
            take_answer(&mut state.windows, message, about, words);
        } else if !serve(state, message, about, words) {
            let token = words.first().copied().unwrap_or(0);
            about.answer(state, message.from, FAILED, &[token], &[]);
        }
    }

    fn on_event(state: &mut State, cookie: u64, succeeded: bool) {
        state.windows.read_over(cookie, succeeded);
    }

    fn on_lost(state: &mut State, peer: Peer) {
        state.windows.forget(peer).into_iter().for_each(|number| grant(state, number, true));
    }
}

/// What a request and its answer begin with.
#[derive(Clone, Copy)]
struct About {
    /// Of the window.
    number: u64,
    /// Of the request's target, as its origin says.
    rank: u64,
}

impl About {
    fn answer(self, state: &mut State, to: Peer, kind: u8, words: &[u64], payload: &[u8]) {
        let words = [&[self.number, self.rank], words].concat();
        state.p2p.answer(to, Head { class: Class::Osc, kind, words: &words }, &mut PeerBytes::of(payload));
    }
}

/// Does what a request asks for; `false`: it makes no sense.
fn serve(state: &mut State, message: &Message<'_>, about: About, words: &[u64]) -> bool {
    let (from, number) = (message.from, about.number);
    if let (MESSAGE, &[handler, source]) = (message.kind, words) {
        return light::on_message(state, message, [number, about.rank], handler, source);
    }
    let Some(window) = state.windows.numbered(number).filter(|window| window.far.is_some()) else {
        return false;
    };
    match (message.kind, words) {
        (PUT, &[runs]) => {
            let Some((runs, data)) = window.named(message.payload, runs) else { return false };
            scatter(&runs, &data.to_vec());
        }
        (GET, &[token, position, runs]) => {
            let Some((runs, _)) = window.named(message.payload, runs) else { return false };
            about.answer(state, from, DATA, &[token, position], &gather(&runs));
            return true;
        }
        (COMBINE, &[token, position, op, datatype, runs]) => {
            let Some((runs, data)) = window.named(message.payload, runs) else { return false };
            let fetches = token != 0;
            let Some(before) = window.combine(&runs, &data.to_vec(), op, datatype, fetches) else {
                return false;
            };
            if fetches {
                about.answer(state, from, DATA, &[token, position], &before);
                return true;
            }
        }
        (SWAP, &[token, address, datatype]) => {
            let Some(before) = window.swap(address, datatype, &message.payload.to_vec()) else {
                return false;
            };
            about.answer(state, from, DATA, &[token, 0], &before);
            return true;
        }
        (LOCK, &[token, exclusive, holds, rank]) => {
            let Some(rank) = window.rank_of(from, rank) else { return false };
            state.windows.enqueue(number, rank, token, exclusive != 0, holds != 0);
            grant(state, number, false);
            return true;
        }
        (UNLOCK, &[exclusive]) => {
            window.release(exclusive != 0);
            grant(state, number, false);
        }
        (CHECK, &[]) => grant(state, number, true),
        (POST | COMPLETE, &[rank]) => {
            let Some(rank) = window.rank_of(from, rank) else { return false };
            window.note(message.kind, rank);
        }
        (NOTICE, &[notice]) => {
            let Some(notice) = u32::try_from(notice).ok().filter(|&notice| notice < osc::NOTICES) else {
                return false;
            };
            window.control.view().notice(window.local, notice).fetch_add(1, Ordering::Release);
        }
        _ => return false,
    }
    about.answer(state, from, DONE, &[], &[]);
    true
}

/// Grants the locks of a window that can be had now, and tells their owners; `checks`: refuses those that cannot be had
/// any more.
fn grant(state: &mut State, number: u64, checks: bool) {
    for Decided { rank, token, granted } in state.windows.decide(number, checks) {
        let Some(window) = state.windows.numbered(number) else { return };
        let (peer, me) = (window.peer(rank), window.rank);
        let kind = if granted { GRANTED } else { REFUSED };
        About { number, rank: me.into() }.answer(state, peer, kind, &[token], &[]);
    }
}

/// As [`grant`], for all windows; whether a lock was decided on. To be called by progress while locks are waited for.
pub(crate) fn grant_all(state: &mut State) -> bool {
    let before = state.windows.waiting;
    state.windows.wanted().into_iter().for_each(|number| grant(state, number, false));
    before != state.windows.waiting
}

/// An answer to a request of this process.
fn take_answer(windows: &mut Windows, message: &Message<'_>, about: About, words: &[u64]) {
    if let (HANDLED, &[found]) = (message.kind, words) {
        return light::on_handled(windows, message.from, [about.number, about.rank], found != 0);
    }
    let Some(window) = windows.numbered(about.number) else { return };
    let rank = window.rank_of(message.from, about.rank);
    let (Some(rank), Some(far)) = (rank, &mut window.far) else { return };
    far.answered(rank);
    match (message.kind, words) {
        (DATA, &[token, position]) => {
            if let Some(wanted) = far.wanted.get_mut(&token) {
                wanted.side.write(position, &message.payload.to_vec());
            }
            far.fetched(token);
        }
        (GRANTED, &[token]) => far.granted.push(token),
        (REFUSED, &[token]) => far.refused.push(token),
        (FAILED, &[token]) => {
            far.failed = true;
            far.fetched(token);
        }
        _ => {}
    }
}

impl Windows {
    /// Nothing more comes from `peer`: nobody waits for its answers. The numbers of all windows that it is of and that
    /// go by messages.
    fn forget(&mut self, peer: Peer) -> Vec<u64> {
        let mut numbers = Vec::new();
        for (number, window) in self.iter_mut() {
            let rank = window.group.members().iter().position(|&member| member == peer.0);
            let Some(rank) = rank else { continue };
            if let Some(sent) = window.sent.get_mut(rank) {
                window.unhandled |= std::mem::take(sent) > 0;
            }
            if let Some(far) = &mut window.far {
                far.failed |= std::mem::take(&mut far.pending[rank]) > 0;
                far.lost.push(rank as u32);
                numbers.push(number);
            }
        }
        numbers
    }
}

impl Window {
    /// The runs that a payload begins with, all of them exposed by this window, and the data behind them.
    fn named<'a>(&self, payload: PeerBytes<'a>, runs: u64) -> Option<(Vec<UserMem>, PeerBytes<'a>)> {
        let runs = usize::try_from(runs).ok().filter(|&runs| runs <= payload.len() / RUN)?;
        let named: Option<Vec<UserMem>> =
            (0..runs).map(|run| self.exposed(payload.word(2 * run), payload.word(2 * run + 1))).collect();
        Some((named?, payload.part(runs * RUN, payload.len())))
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

fn gather(runs: &[UserMem]) -> Vec<u8> {
    let mut all = Vec::with_capacity(runs.iter().map(|run| run.len()).sum());
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
        let (element, op, own) = (element(datatype)?, abi::Op(op as usize), self.own());
        let len: usize = runs.iter().map(|run| run.len()).sum();
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
        let (element, own) = (element(datatype)?, self.own());
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

fn element(datatype: u64) -> Option<Element> {
    let datatype = datatype::Datatype::predefined(abi::Datatype(datatype as usize))?;
    Element::of(datatype).ok()
}
