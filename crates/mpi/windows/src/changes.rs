//! Accumulates on ranks of other nodes by atomic operations of the network: few elements of 8 bytes in one run. See
//! remote.rs for when.

use abi::{Op, Result};
use btl::{Atomic, RemoteMemory};
use mem::UserMem;
use osc::{Change, Element, LONG, NO_TOKEN, Parts, Side};

use super::access::Completion;
use super::far::{COMBINE, begun, pieces, redirect, want};
use super::network::Reached;
use super::remote::{self, answer};
use super::{WINDOWS, Window, await_window};
use objects::domain::Token;
use objects::memory::read_at;

/// Elements that go by the network at most, one by one.
const FEW: usize = LONG - 1;

const WORD: usize = 8;

/// Combines as [`super::far::combine`] does, if that is for the network; the token of what is fetched.
pub(super) fn combine(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (element, op): (&Element, Op),
    origin: Option<&Side>,
    result: Option<&(Side, Completion)>,
    target: &Side,
) -> Result<Option<u64>> {
    let run = |side: Option<&Side>| match side {
        None => Some(None),
        Some(Side::Run(memory)) => Some(Some(*memory)),
        Some(Side::Typed(_)) => None,
    };
    let (Some(from), Some(into), &Side::Run(place)) =
        (run(origin), run(result.map(|(side, _)| side)), target)
    else {
        return Ok(None);
    };
    let is_for_words = element.size == WORD && element.is_atomic_at(place.address());
    let Some(change) = element.change(op).filter(|_| is_for_words && place.len() <= FEW * WORD) else {
        return Ok(None);
    };
    let Some(reached) = reached(t, win, rank)? else { return Ok(None) };
    let count = place.len() / WORD;
    let token = match (into, result) {
        (Some(into), Some(&(_, completion))) => {
            want(t, win, rank, (Side::Run(into), completion), Parts::ends(count as u64))?
        }
        _ => NO_TOKEN,
    };
    let done = change_all(t, win, (rank, &reached), (element, op, change), (from, into, place), token);
    begun(t, win, token, done).map(Some)
}

/// Begins the changes of all elements of `place`, by messages from the first one on that is not for the network.
fn change_all(
    t: &mut Token,
    win: abi::Win,
    (rank, reached): (u32, &Reached),
    (element, op, change): (&Element, Op, Change),
    (from, into, place): (Option<UserMem>, Option<UserMem>, UserMem),
    token: u64,
) -> Result<()> {
    let count = place.len() / WORD;
    for index in 0..count {
        let part = |memory: UserMem| memory.part(index * WORD, WORD);
        let change = atomic(change, from.map_or(0, |from| word(part(from))));
        let offset = reached.offset(part(place).address());
        if begin(t, win, (rank, reached), change, offset, into.map(|into| (part(into), token)))? {
            continue;
        }
        let rest = |memory: UserMem| Side::Run(memory.part(index * WORD, (count - index) * WORD));
        let (target, origin) = (rest(place), from.map(rest));
        remote::settle_changes(t, win, rank)?;
        let pieces = pieces(t, win, rank, &target, element.size)?;
        redirect(t, win, (rank, token), (count - index) as u64, pieces.count())?;
        let first = (index * WORD) as u64;
        let words = |at| vec![token, first + at, op.0 as u64, element.word()];
        return pieces.send(t, win, COMBINE, origin, words);
    }
    Ok(())
}

/// Compares and swaps as [`super::far::compare_and_swap`] does, if that is for the network; whether it is.
pub(super) fn compare_and_swap(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    element: &Element,
    address: usize,
    operands: &[u8],
    result: UserMem,
) -> Result<bool> {
    let (Some((new, expected)), true) = (operands.split_first_chunk::<WORD>(), element.is_atomic_at(address))
    else {
        return Ok(false);
    };
    let Ok(expected) = <[u8; WORD]>::try_from(expected) else { return Ok(false) };
    let Some(reached) = reached(t, win, rank)? else { return Ok(false) };
    let change =
        Atomic::CompareSwap { expected: u64::from_ne_bytes(expected), new: u64::from_ne_bytes(*new) };
    let token = want(t, win, rank, (Side::Run(result), Completion::Flush), Parts::ends(1))?;
    let has_begun = begin(t, win, (rank, &reached), change, reached.offset(address), Some((result, token)));
    if !matches!(has_begun, Ok(true)) {
        // Nothing is to come under this token.
        redirect(t, win, (rank, token), 1, 0)?;
    }
    has_begun
}

/// The memory of a rank, if the network may change it now. Accumulates that went by messages come first.
fn reached(t: &mut Token, win: abi::Win, rank: u32) -> Result<Option<Reached>> {
    let state = t.lock();
    let window = WINDOWS.get(&state.tables).get(win)?;
    let is_free = window.far.as_ref().is_some_and(|far| !far.operations.are_due(Some(rank)));
    Ok(window.network(rank).filter(|reached| is_free && reached.atomics))
}

/// Begins one change when there is room, with where to put what was there and the token of that; `false`: not by the
/// network.
fn begin(
    t: &mut Token,
    win: abi::Win,
    (rank, reached): (u32, &Reached),
    change: Atomic,
    offset: u64,
    before: Option<(UserMem, u64)>,
) -> Result<bool> {
    await_window(t, win, |window: &mut Window, p2p| {
        let (bml, key) = (&mut p2p.bml, &reached.key);
        let begun = match before {
            Some((before, token)) => window.read(win, (rank, token), |peer, cookie| {
                bml.fetch(peer, change, before, key, offset, cookie)
            }),
            None => bml.update(window.peer(rank), change, key, offset),
        };
        if begun.is_ok() {
            window.changes(rank, before.is_none());
        }
        answer(begun)
    })
}

fn atomic(change: Change, operand: u64) -> Atomic {
    match change {
        Change::Load => Atomic::Add(0),
        Change::Swap => Atomic::Swap(operand),
        Change::Add => Atomic::Add(operand),
        Change::And => Atomic::And(operand),
        Change::Or => Atomic::Or(operand),
        Change::Xor => Atomic::Xor(operand),
    }
}

fn word(memory: UserMem) -> u64 {
    let bytes = read_at(memory);
    bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
