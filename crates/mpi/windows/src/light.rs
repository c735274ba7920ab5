//! The light interface (`alhena.h`): puts, gets, atomic operations, notices and active messages on the memory of a
//! window, without epochs, datatypes and displacement units.
//!
//! ```text
//!   put, get, atomics   those of MPI with other rules (`Rules::Light`): bytes from the beginning of the target's memory, at any time
//!   notices             counters of each rank; one grows after the data of a put has arrived, or that of a get was read
//!   messages            a frame of windows is kept (on_message) ─► the next wait calls the program's function (call) ─► HANDLED
//! ```
//! A flush waits for the data, and for the functions that messages of this process have called.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use abi::{Address, Aint, Error, Result};
use btl::{Class, Peer};
use engine::{Head, P2p, Progress};
use ffi::LightFunction;
use mem::PeerBytes;
use observe::Kind;

use super::access::{Aim, Rules};
use super::fast::{copy_at_once, order};
use super::movement::DataDirection;
use super::serve::About;
use super::{WINDOWS, Window, Windows, await_living, await_window, combine, far, movement, sync};
use objects::domain::{Attempt, Token, enter_plain};
use objects::state::State;
use objects::wait::poll;

/// Numbers of handlers.
const HANDLERS: usize = 256;

/// Messages from one rank to another whose function was not called yet: the sender waits then, and the receiver takes no
/// more.
pub(super) const MOST: u32 = 1024;

/// What a process keeps of the messages to and from a rank.
#[derive(Clone, Copy, Default)]
pub struct Traffic {
    /// Those to it whose function was not called yet.
    sent: u32,
    /// What has become of others, for the next flush: the first failure.
    failure: Option<Error>,
    /// Those from it whose function was not called yet.
    kept: u32,
}

/// The program's functions, and the messages that are kept for them.
pub(super) struct Light {
    handlers: Vec<Option<(LightFunction, Address)>>,
    due: VecDeque<Delivery>,
}

impl Light {
    pub const fn new() -> Light {
        Light { handlers: Vec::new(), due: VecDeque::new() }
    }
}

/// A message that has come.
struct Delivery {
    win: abi::Win,
    /// The rank that has sent it.
    source: u32,
    handler: u64,
    payload: Vec<u8>,
    /// The process to notify when the function was called, with the words that it needs; `None`: this one.
    from: Option<(Peer, About)>,
}

fn aim(rank: i32, offset: Aint, bytes: usize) -> Aim {
    Aim { rank, disp: offset, count: bytes as i64, datatype: abi::BYTE, rules: Rules::Light }
}

fn aim_word(rank: i32, offset: Aint) -> Aim {
    Aim { rank, disp: offset, count: 1, datatype: abi::UINT64_T, rules: Rules::Light }
}

/// `alhena_put`, and `alhena_rput` with the number of a notice.
pub fn put(
    t: &mut Token,
    origin: Address,
    bytes: usize,
    rank: i32,
    offset: Aint,
    win: abi::Win,
    notice: Option<i32>,
) -> Result<()> {
    move_bytes(t, DataDirection::Put, (origin, bytes), (rank, offset), win, notice)
}

/// `alhena_get`, and `alhena_rget` with the number of a notice.
pub fn get(
    t: &mut Token,
    origin: Address,
    bytes: usize,
    rank: i32,
    offset: Aint,
    win: abi::Win,
    notice: Option<i32>,
) -> Result<()> {
    move_bytes(t, DataDirection::Get, (origin, bytes), (rank, offset), win, notice)
}

fn move_bytes(
    t: &mut Token,
    way: DataDirection,
    (origin, bytes): (Address, usize),
    (rank, offset): (i32, Aint),
    win: abi::Win,
    notice: Option<i32>,
) -> Result<()> {
    let notice = notice.map(check_notice).transpose()?;
    movement::copy(t, way, (origin, bytes as i64, abi::BYTE), &aim(rank, offset, bytes), win)?;
    match notice {
        Some(notice) if rank != abi::PROC_NULL => notify(t, rank, win, notice),
        _ => Ok(()),
    }
}

/// The fast path of `alhena_put`.
#[inline(always)]
pub fn put_at_once(origin: Address, bytes: usize, rank: i32, offset: Aint, win: abi::Win) -> Attempt {
    at_once(DataDirection::Put, origin, bytes, rank, offset, win)
}

/// The fast path of `alhena_get`.
#[inline(always)]
pub fn get_at_once(origin: Address, bytes: usize, rank: i32, offset: Aint, win: abi::Win) -> Attempt {
    at_once(DataDirection::Get, origin, bytes, rank, offset, win)
}

#[inline(always)]
fn at_once(
    way: DataDirection,
    origin: Address,
    bytes: usize,
    rank: i32,
    offset: Aint,
    win: abi::Win,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let Some(window) = WINDOWS.get_mut(&mut guard.tables).last_used(win) else { return guard.give_up() };
    // Negative numbers are huge ones.
    let target = window.targets.get(rank as usize).filter(|target| target.mapped);
    let place = target.and_then(|target| target.part(offset as u64, bytes));
    let Some(place) = place.filter(|_| origin.0 != 0) else { return guard.give_up() };
    copy_at_once(way, objects::memory::of_user(origin, bytes), place);
    window.stored |= way == DataDirection::Put;
    Attempt::DONE
}

/// `alhena_flush`: of one rank, or of all with a negative number.
pub fn flush(t: &mut Token, rank: i32, win: abi::Win) -> Result<()> {
    let (rank, has_sent) = {
        let state = t.lock();
        let window = WINDOWS.get(&state.tables).get(win)?;
        let rank = if rank < 0 { None } else { Some(window.check_rank(rank)?) };
        (rank, !window.traffic.is_empty())
    };
    let done = sync::await_operations(t, win, rank);
    if !has_sent {
        return done;
    }
    // Also if operations have failed: this is the flush of both.
    let handled =
        await_window(t, win, |window, _| (!window.has_sent(rank)).then(|| window.take_unhandled(rank)));
    done.and(handled)
}

const NO_HANDLER: Error = Error::new(abi::ERR_ARG, "a message named a handler that its target has not set");

/// The fast path of `alhena_flush`.
#[inline(always)]
pub fn flush_at_once(win: abi::Win) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    match WINDOWS
        .get_mut(&mut guard.tables)
        .last_used(win)
        .filter(|window| window.far.is_none() && window.traffic.is_empty())
    {
        Some(window) => window.order(),
        None => return guard.give_up(),
    }
    Attempt::DONE
}

/// `alhena_fetch_add`, `alhena_swap`: `op` on 8 bytes of `rank` at `offset`.
pub fn fetch(
    t: &mut Token,
    op: abi::Op,
    operand: Address,
    before: Address,
    rank: i32,
    offset: Aint,
    win: abi::Win,
) -> Result<()> {
    let word = |address| (address, 1, abi::UINT64_T);
    combine::combine(t, word(operand), Some(word(before)), &aim_word(rank, offset), op, win).map(drop)
}

/// `alhena_add`: as [`fetch`], without what was there.
pub fn add(t: &mut Token, operand: Address, rank: i32, offset: Aint, win: abi::Win) -> Result<()> {
    let operand = (operand, 1, abi::UINT64_T);
    combine::combine(t, operand, None, &aim_word(rank, offset), abi::SUM, win).map(drop)
}

/// `alhena_compare_swap`
pub fn compare_swap(
    t: &mut Token,
    origin: Address,
    compare: Address,
    before: Address,
    rank: i32,
    offset: Aint,
    win: abi::Win,
) -> Result<()> {
    combine::swap(t, (origin, compare, before), &aim_word(rank, offset), win)
}

/// Has a notice of `rank` grow, after the operations of this process before.
fn notify(t: &mut Token, rank: i32, win: abi::Win, notice: u32) -> Result<()> {
    let state = t.lock();
    let window = WINDOWS.get(&state.tables).get(win)?;
    let rank = window.check_rank(rank)?;
    let Some(near) = window.near(rank) else {
        drop(state);
        return far::notify(t, win, rank, notice);
    };
    window.control.view().notice(near.local, notice).fetch_add(1, Ordering::Release);
    order();
    window.ring(near.local);
    Ok(())
}

fn check_notice(notice: i32) -> Result<u32> {
    let number = u32::try_from(notice).ok().filter(|&number| number < osc::NOTICES);
    number.ok_or(Error::new(abi::ERR_ARG, "there is no notice of this number"))
}

/// `alhena_notices`: waits until a notice of this process has grown to `least`, and gives what it is.
pub fn notices(t: &mut Token, notice: i32, least: u64, count: &mut u64, win: abi::Win) -> Result<()> {
    let notice = check_notice(notice)?;
    if least == 0 {
        poll(t);
    }
    let grown = |window: &mut Window, _: &mut P2p| {
        let seen = window.control.view().notice(window.local, notice).load(Ordering::Acquire);
        (seen >= least).then_some(Ok(seen))
    };
    // Any rank may be the one that is to raise it, so each end is reported, once. Those that live go on.
    let why = |state: &State, window: &Window| window.awaits_any(state, Kind::Other);
    let mut ended = 0;
    let outcome = await_living(t, win, why, grown, |window, _| {
        ended = window.ended().count();
        let is_news = ended > window.reported_ends;
        if is_news || ended > 0 && ended + 1 == window.ranks() { Err(sync::ENDED) } else { Ok(()) }
    });
    if outcome == Err(sync::ENDED) {
        WINDOWS.get_mut(&mut t.lock().tables).get_mut(win)?.reported_ends = ended;
    }
    *count = outcome?;
    Ok(())
}

/// `alhena_set_handler`: `None` takes it back.
pub fn set_handler(
    t: &mut Token,
    handler: i32,
    function: Option<LightFunction>,
    context: Address,
) -> Result<()> {
    let number = check_handler(handler)?;
    let mut state = t.lock();
    let handlers = &mut WINDOWS.get_mut(&mut state.tables).light.handlers;
    if handlers.len() <= number {
        handlers.resize(number + 1, None);
    }
    handlers[number] = function.map(|function| (function, context));
    Ok(())
}

fn check_handler(handler: i32) -> Result<usize> {
    let number = usize::try_from(handler).ok().filter(|&number| number < HANDLERS);
    number.ok_or(Error::new(abi::ERR_ARG, "there is no handler of this number"))
}

/// `alhena_message_limit`: bytes of payload that one message to `rank` takes.
pub fn limit(t: &mut Token, rank: i32, bytes: &mut usize, win: abi::Win) -> Result<()> {
    let state = t.lock();
    let window = WINDOWS.get(&state.tables).get(win)?;
    *bytes = state.p2p.most(window.peer(window.check_rank(rank)?));
    Ok(())
}

/// What a message carries.
#[derive(Clone, Copy)]
pub enum Load {
    /// Bytes at an address, free when the call returns.
    Bytes(Address, usize),
    /// Two words.
    Words([u64; 2]),
}

/// `alhena_send`, `alhena_send_words`: has `rank` call its handler.
pub fn send(t: &mut Token, handler: i32, load: Load, rank: i32, win: abi::Win) -> Result<()> {
    let handler = check_handler(handler)? as u64;
    let (rank, most) = {
        let state = t.lock();
        let window = WINDOWS.get(&state.tables).get(win)?;
        let rank = window.check_rank(rank)?;
        (rank, state.p2p.most(window.peer(rank)))
    };
    let payload = match load {
        Load::Bytes(_, len) if len > most => {
            return Err(Error::new(abi::ERR_COUNT, "the payload is longer than a message takes"));
        }
        Load::Bytes(address, len) => objects::memory::read_at(objects::memory::of_user(address, len)),
        Load::Words(words) => words.map(u64::to_ne_bytes).concat(),
    };
    if WINDOWS.get(&t.lock().tables).get(win)?.rank == rank {
        let mut state = t.lock();
        WINDOWS.get_mut(&mut state.tables).get_mut(win)?.count_sent(rank);
        let delivery = Delivery { win, source: rank, handler, payload, from: None };
        WINDOWS.get_mut(&mut state.tables).light.due.push_back(delivery);
        state.due.push_back(call);
        return Ok(());
    }
    await_window(t, win, |window, p2p| {
        if window.traffic.get(rank as usize).is_some_and(|with| with.sent >= MOST) {
            return None;
        }
        let words = [far::number(win), rank.into(), handler, window.rank.into()];
        let head = Head { class: Class::Osc, kind: far::MESSAGE, words: &words };
        match p2p.request(window.peer(rank), head, &mut PeerBytes::of(&payload)) {
            Ok(()) => {
                window.count_sent(rank);
                Some(Ok(()))
            }
            Err(engine::Refused::Busy) => None,
            Err(engine::Refused::Lost) => Some(Err(far::LOST)),
        }
    })
}

/// `alhena_progress`: advances everything and calls handlers, and what else is due.
pub fn progress(t: &mut Token) {
    poll(t);
    while t.lock().call_is_due() {
        <State as Progress>::call(t);
    }
}

impl Window {
    /// The messages to and from a rank.
    fn traffic(&mut self, rank: u32) -> &mut Traffic {
        if self.traffic.is_empty() {
            self.traffic = vec![Traffic::default(); self.ranks()];
        }
        &mut self.traffic[rank as usize]
    }

    fn count_sent(&mut self, rank: u32) {
        self.traffic(rank).sent += 1;
    }

    /// Whether functions that messages of this process to `rank`, or to any, ask for were not called yet.
    fn has_sent(&self, rank: Option<u32>) -> bool {
        match rank {
            Some(rank) => self.traffic.get(rank as usize).is_some_and(|with| with.sent > 0),
            None => self.traffic.iter().any(|with| with.sent > 0),
        }
    }

    /// What has become of messages to a rank, or to all, since this was asked last.
    fn take_unhandled(&mut self, rank: Option<u32>) -> Result<()> {
        let asked = match rank {
            Some(rank) => &mut self.traffic[rank as usize..=rank as usize],
            None => &mut self.traffic[..],
        };
        let failures: Vec<Error> = asked.iter_mut().filter_map(|with| with.failure.take()).collect();
        failures.first().map_or(Ok(()), |&error| Err(error))
    }

    /// What has become of a message; answers to nothing do not count.
    fn handled(&mut self, rank: u32, outcome: u64) {
        let Some(with) = self.traffic.get_mut(rank as usize).filter(|with| with.sent > 0) else { return };
        with.sent -= 1;
        if outcome == Outcome::Gone as u64 {
            with.failure.get_or_insert(far::LEFT);
        } else if outcome != Outcome::Called as u64 {
            with.failure.get_or_insert(NO_HANDLER);
        }
    }

    /// Nothing more comes from a rank.
    pub(super) fn lose_messages(&mut self, rank: u32) {
        let Some(with) = self.traffic.get_mut(rank as usize) else { return };
        if std::mem::take(&mut with.sent) > 0 {
            with.failure.get_or_insert(far::LOST);
        }
    }
}

/// What has become of a message, in its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// There is no function for it, or it makes no sense.
    Unhandled = 0,
    Called = 1,
    /// Its target has left the window.
    Gone = 2,
}

/// A message has come, and [`call`] is due.
///
/// # Errors
/// It makes no sense, or its sender has sent more than one may; or there is no such window.
pub(super) fn on_message(
    windows: &mut Windows,
    (from, payload): (Peer, PeerBytes<'_>),
    (about, handler): (About, u64),
    source: u64,
) -> std::result::Result<(), Outcome> {
    let window = windows.numbered(about.number).ok_or(Outcome::Gone)?;
    let source = window.rank_of(from, source).ok_or(Outcome::Unhandled)?;
    let with = window.traffic(source);
    if with.kept >= MOST {
        return Err(Outcome::Unhandled);
    }
    with.kept += 1;
    let (win, payload) = (far::window_of(about.number), payload.to_vec());
    windows.light.due.push_back(Delivery { win, source, handler, payload, from: Some((from, about)) });
    Ok(())
}

/// The answer to a message has come.
pub(super) fn on_handled(windows: &mut Windows, from: Peer, about: About, outcome: u64) {
    let Some(window) = windows.numbered(about.number) else { return };
    if let Some(rank) = window.rank_of(from, about.rank) {
        window.handled(rank, outcome);
    }
}

/// Calls the program's function for the message that has come first.
pub(super) fn call(t: &mut Token) {
    let (delivery, handler) = {
        let mut state = t.lock();
        let light = &mut WINDOWS.get_mut(&mut state.tables).light;
        let Some(delivery) = light.due.pop_front() else { return };
        let handler = light.handlers.get(delivery.handler as usize).copied().flatten();
        (delivery, handler)
    };
    let Delivery { win, source, payload, from, .. } = delivery;
    if let Some((function, context)) = handler {
        let address = Address(payload.as_ptr().expose_provenance());
        function.call(win.0, source as i32, address, payload.len(), context);
    }
    let outcome = if handler.is_some() { Outcome::Called } else { Outcome::Unhandled } as u64;
    let mut state = t.lock();
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win).ok();
    match from {
        Some((peer, about)) => {
            if let Some(window) = window {
                let with = window.traffic(source);
                with.kept = with.kept.saturating_sub(1);
            }
            about.answer(&mut state, peer, far::HANDLED, &[outcome], &[]);
        }
        None => {
            if let Some(window) = window {
                window.handled(source, outcome);
            }
        }
    }
}
