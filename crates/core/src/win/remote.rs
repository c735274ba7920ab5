//! Ranks of other nodes whose memory the network reads, writes and changes (`btl::RemoteMemory`).
//!
//! ```text
//!   creation   each process registers its memory, and says so where it tells of its address      (offer)
//!   put        writes, whose end a flush asks for                get    reads, whose ends are events
//!   combine    few integers of 8 bytes: updates, or fetches                                          (changes.rs)
//! ```
//! The rest goes by messages (far.rs): data with many runs, other types and operations, windows that were not
//! registered. Both ways may be mixed, since puts and gets have no order. Accumulates have one: they go by messages
//! while such ones are unanswered, and messages wait for those of the network.
//!
//! What is changed by the network must be so by every other process, too, at one stroke. So atomic operations of the
//! network are used where they are atomic to those of the processor, on memory that the target's node maps, and that
//! node has no element combined by loops under a lock (`osc`'s `ways.rs`).

use std::collections::{BTreeSet, HashMap};

use abi::Result;
use bml::Bml;
use btl::{Class, Flushed, Peer, Refusal, Remote, RemoteKey, RemoteMemory};
use mem::UserMem;
use osc::{Side, cut_read};

use super::far::{GET, expect_more, number, pieces, want};
use super::{Window, Windows, await_window};
use crate::domain::Token;
use crate::memory::{of_user, of_vec};
use crate::state::State;

/// What a process says of its memory, in words.
pub(super) const OFFER: usize = 4;

/// Memory of this process that is registered, and the peer by which its network is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registered {
    peer: Peer,
    key: RemoteKey,
}

/// The memory of a rank that the network reaches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub key: RemoteKey,
    /// The address there.
    base: usize,
    remote: Remote,
    /// Whether the network is to change it by atomic operations: it may, and messages are not faster.
    pub atomics: bool,
}

/// What a process keeps of a window some of whose ranks are reached so.
#[derive(Default)]
pub(crate) struct Network {
    registered: Option<Registered>,
    /// By rank; empty if there is none.
    reached: Box<[Option<Reached>]>,
    /// Reads and fetches under way, by rank.
    reading: Vec<u32>,
    /// Of which rank and for which token, by number.
    reads: HashMap<u32, (u32, u64)>,
    last_read: u32,
    /// Ranks with writes or updates since the last flush.
    written: BTreeSet<u32>,
    /// Ranks with accumulates of the network that messages have not waited for.
    changed: BTreeSet<u32>,
    /// Copies of what is written, by rank, and their bytes in all.
    copies: Vec<(u32, Vec<u8>)>,
    copied: usize,
    /// Puts with a request whose origin is in use, by token.
    puts: HashMap<u64, u32>,
}

/// Longest data with holes that is copied for the network, and most bytes of such copies: then the next one waits.
const COPY: u64 = 64 << 10;
const COPIES: usize = 1 << 20;

/// Bytes that runs at the target have on average at least; shorter ones go by messages, many in one.
const RUN: u64 = 1024;

/// Registers memory of this process for the first of `peers` whose network does that; what to say of it, and what to keep.
/// `mapped`: the processes of the node map it. `None`: messages alone reach it.
pub(super) fn offer(
    state: &mut State,
    mut peers: impl Iterator<Item = Peer>,
    (base, size): (usize, usize),
    mapped: bool,
) -> Option<([u64; OFFER], Registered)> {
    let bml = &mut state.p2p.bml;
    if !state.params.osc.network || size == 0 {
        return None;
    }
    let (peer, remote) = peers.find_map(|peer| Some((peer, bml.remote(peer)?)))?;
    let key = bml.register(peer, of_user(abi::Address(base), size)).ok()?;
    let is_for_atomics = |peer| bml.remote(peer).is_some_and(|other| other.is_for_atomics());
    let atomics = mapped && (remote.is_for_atomics() || peers.any(is_for_atomics));
    let [first, second, third] = key.0;
    let words = [u64::from(remote.network) | u64::from(atomics) << 8, first, second, third];
    Some((words, Registered { peer, key }))
}

/// Whether an offer has others change memory by atomic operations.
pub(super) fn offers_atomics(words: &[u64; OFFER]) -> bool {
    words[0] >> 8 != 0
}

impl Registered {
    /// Nobody uses the memory any more.
    pub fn withdraw(self, bml: &mut Bml) {
        bml.deregister(self.peer, self.key);
    }
}

impl Reached {
    /// Where an address of the rank lies in what it has registered.
    pub fn offset(&self, address: usize) -> u64 {
        address.wrapping_sub(self.base) as u64
    }
}

impl Network {
    /// Of a process that has offered `registered`, with what the ranks of other nodes have offered: each the peer and
    /// where its memory begins.
    pub fn new<'a>(
        bml: &Bml,
        registered: Option<Registered>,
        offers: impl Iterator<Item = Option<(Peer, usize, &'a [u64])>>,
    ) -> Network {
        let reached: Box<[Option<Reached>]> = offers
            .map(|offer| {
                let (peer, base, &[about, first, second, third]) = offer? else { return None };
                let remote = bml.remote(peer).filter(|remote| u64::from(remote.network) == about & 0xff)?;
                let atomics = about >> 8 != 0 && remote.is_for_atomics();
                Some(Reached { key: RemoteKey([first, second, third]), base, remote, atomics })
            })
            .collect();
        let ranks = if reached.iter().any(Option::is_some) { reached.len() } else { 0 };
        let reached = if ranks == 0 { Box::default() } else { reached };
        Network { registered, reached, reading: vec![0; ranks], ..Network::default() }
    }

    /// The window is gone, for all its processes.
    pub fn close(&self, bml: &mut Bml) {
        if let Some(registered) = self.registered {
            registered.withdraw(bml);
        }
    }

    fn reached(&self, rank: u32) -> Option<Reached> {
        self.reached.get(rank as usize).copied().flatten()
    }

    /// Whether reads and fetches of a rank, or of any, are under way.
    pub fn reads(&self, rank: Option<u32>) -> bool {
        match rank {
            Some(rank) => self.reading.get(rank as usize).is_some_and(|&reading| reading > 0),
            None => !self.reads.is_empty(),
        }
    }

    /// The read with the last number begins.
    fn reads_now(&mut self, rank: u32, token: u64) {
        self.reading[rank as usize] += 1;
        self.reads.insert(self.last_read, (rank, token));
    }

    /// The number of the next read.
    fn next_read(&mut self) -> u32 {
        loop {
            self.last_read = (self.last_read + 1) & ((1 << NUMBERS) - 1);
            if !self.reads.contains_key(&self.last_read) {
                return self.last_read;
            }
        }
    }
}

/// Bits of a read's number in its cookie; that of the window has the others.
const NUMBERS: u32 = 24;

impl Window {
    /// The network between this process and a rank, if it reaches its memory.
    pub(super) fn network(&self, rank: u32) -> Option<Reached> {
        self.far.as_ref()?.network.reached(rank)
    }

    /// Whether writes and updates of a rank's memory, or of any, are over; failures are noted.
    pub(super) fn is_flushed(&mut self, bml: &mut Bml, rank: Option<u32>) -> bool {
        let Window { far: Some(far), group, .. } = self else { return true };
        let asked: Vec<u32> = match rank {
            Some(rank) => far.network.written.get(&rank).copied().into_iter().collect(),
            None => far.network.written.iter().copied().collect(),
        };
        for rank in asked {
            match bml.flush(Peer(group.members()[rank as usize])) {
                Flushed::Pending => return false,
                Flushed::Done => {}
                Flushed::Failed => far.failed = true,
            }
            let network = &mut far.network;
            network.written.remove(&rank);
            network.copies.retain(|(of, _)| *of != rank);
            network.copied = network.copies.iter().map(|(_, copy)| copy.len()).sum();
            network.puts.retain(|_, of| *of != rank);
        }
        true
    }

    /// Whether nothing that the network does in a rank's memory for this process is under way.
    fn is_settled(&mut self, bml: &mut Bml, rank: u32) -> bool {
        let reads = self.far.as_ref().is_some_and(|far| far.network.reads(Some(rank)));
        !reads && self.is_flushed(bml, Some(rank))
    }

    /// Whether the origin of a put with this token is still in use.
    pub(super) fn puts(&mut self, bml: &mut Bml, token: u64) -> bool {
        let rank = self.far.as_ref().and_then(|far| far.network.puts.get(&token).copied());
        rank.is_some_and(|rank| !self.is_flushed(bml, Some(rank)))
    }
}

/// Waits until nothing that the network does in a rank's memory for this process is under way.
pub(super) fn settle(t: &mut Token, win: abi::Win, rank: u32) -> Result<()> {
    await_window(t, win, |window, p2p| window.is_settled(&mut p2p.bml, rank).then_some(Ok(())))
}

/// Before an accumulate by a message: those by the network must be done.
pub(super) fn settle_changes(t: &mut Token, win: abi::Win, rank: u32) -> Result<()> {
    let has_changed = {
        let mut state = t.lock();
        let far = state.windows.get_mut(win)?.far.as_mut();
        far.is_some_and(|far| far.network.changed.remove(&rank))
    };
    if has_changed { settle(t, win, rank) } else { Ok(()) }
}

/// How the origin of a put may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// Until the next flush.
    Stays,
    /// Until a request is complete.
    Requested,
}

/// Writes `origin` to `target`, of another rank, if that is for the network; else gives it back. The token of what uses
/// the origin.
pub(super) fn put(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (origin, use_of): (Side, Origin),
    target: &Side,
) -> Result<std::result::Result<Option<u64>, Side>> {
    let Some((reached, runs)) = runs_of(t, win, rank, target)? else { return Ok(Err(origin)) };
    let mut copy = None;
    let from = match origin {
        Side::Run(memory) => memory,
        origin if origin.len() <= COPY => of_vec(copy.insert(copied(t, win, origin)?)),
        origin => return Ok(Err(origin)),
    };
    let written = write_all(t, win, rank, &reached, from, &runs);
    if let Some(copy) = copy {
        keep(t, win, rank, copy);
    }
    written?;
    if use_of != Origin::Requested {
        return Ok(Ok(None));
    }
    let mut state = t.lock();
    let token = state.windows.get_mut(win)?.far.as_mut().map(|far| {
        let token = far.token();
        far.network.puts.insert(token, rank);
        token
    });
    Ok(Ok(token))
}

/// Begins to write all of `from` to the runs of a rank's memory.
fn write_all(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    reached: &Reached,
    from: UserMem,
    runs: &[UserMem],
) -> Result<()> {
    let mut position = 0;
    for run in runs {
        for at in (0..run.len()).step_by(reached.remote.max) {
            let len = (run.len() - at).min(reached.remote.max);
            let (piece, place) = (from.part(position + at, len), run.part(at, len));
            let offset = reached.offset(place.address());
            if !begin(t, win, rank, |bml, peer| bml.write(peer, piece, &reached.key, offset))? {
                pieces(t, win, rank, &Side::Run(place), 1)?.put(t, win, Side::Run(piece))?;
            }
        }
        position += run.len();
    }
    Ok(())
}

/// A copy of an origin's data, when there are not too many.
fn copied(t: &mut Token, win: abi::Win, mut origin: Side) -> Result<Vec<u8>> {
    let mut copy = vec![0; origin.len() as usize];
    origin.read(0, &mut copy);
    await_window(t, win, |window, p2p| {
        let has_room = window.far.as_ref().is_none_or(|far| far.network.copied + copy.len() <= COPIES);
        (has_room || window.is_flushed(&mut p2p.bml, None)).then_some(Ok(()))
    })?;
    Ok(copy)
}

/// Keeps a copy of what is being written until a flush.
fn keep(t: &mut Token, win: abi::Win, rank: u32, copy: Vec<u8>) {
    let mut state = t.lock();
    match state.windows.get_mut(win).ok().and_then(|window| window.far.as_mut()) {
        Some(far) => {
            far.network.copied += copy.len();
            far.network.copies.push((rank, copy));
            far.network.written.insert(rank);
        }
        // The program has freed the window meanwhile, which is wrong; the network may still read the copy.
        None => std::mem::forget(copy),
    }
}

/// Reads `target`, of another rank, into `origin`, if that is for the network; else gives it back. The token of the data.
pub(super) fn get(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    origin: Side,
    target: &Side,
) -> Result<std::result::Result<u64, Side>> {
    let Side::Run(into) = origin else { return Ok(Err(origin)) };
    let Some((reached, runs)) = runs_of(t, win, rank, target)? else { return Ok(Err(origin)) };
    let (mut cuts, mut position) = (Vec::new(), 0);
    for run in runs {
        let here = into.part(position, run.len());
        cut_read(&reached.remote, here.address(), run.address(), run.len(), |at, len| {
            cuts.push((here.part(at, len), run.part(at, len), (position + at) as u64));
        });
        position += run.len();
    }
    let token = want(t, win, Side::Run(into), cuts.len() as u64)?;
    for (here, there, position) in cuts {
        let offset = reached.offset(there.address());
        let read =
            |bml: &mut Bml, peer: Peer, cookie: u64| bml.read(peer, here, &reached.key, offset, cookie);
        if !begin_read(t, win, (rank, token), read)? {
            let target = Side::Run(there);
            let pieces = pieces(t, win, rank, &target, 1)?;
            expect_more(t, win, token, pieces.count(), 1)?;
            pieces.send(t, win, GET, None, |at| vec![token, position + at])?;
        }
    }
    Ok(Ok(token))
}

/// The network of a rank and the runs of data there, if these are for it.
fn runs_of(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    target: &Side,
) -> Result<Option<(Reached, Vec<UserMem>)>> {
    let Some(reached) = t.lock().windows.get(win)?.network(rank) else { return Ok(None) };
    if let Side::Run(run) = target {
        return Ok(Some((reached, vec![*run])));
    }
    let most = (target.len() / RUN) as usize;
    let mut runs = Vec::new();
    let few = target.runs(|run| {
        runs.push(run);
        runs.len() <= most
    });
    Ok(few.then_some((reached, runs)))
}

/// Begins a write when there is room; `false`: not by the network.
fn begin(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    mut operation: impl FnMut(&mut Bml, Peer) -> Begun,
) -> Result<bool> {
    await_window(t, win, |window, p2p| {
        let begun = operation(&mut p2p.bml, window.peer(rank));
        if let (Ok(()), Some(far)) = (begun, &mut window.far) {
            far.network.written.insert(rank);
        }
        answer(begun)
    })
}

/// As [`begin`], of a read, for data that is wanted under `token`.
fn begin_read(
    t: &mut Token,
    win: abi::Win,
    (rank, token): (u32, u64),
    mut operation: impl FnMut(&mut Bml, Peer, u64) -> Begun,
) -> Result<bool> {
    await_window(t, win, |window, p2p| {
        let begun = window.read(win, (rank, token), |peer, cookie| operation(&mut p2p.bml, peer, cookie));
        answer(begun)
    })
}

impl Window {
    /// Begins a read or fetch with a cookie.
    pub(super) fn read(
        &mut self,
        win: abi::Win,
        (rank, token): (u32, u64),
        operation: impl FnOnce(Peer, u64) -> Begun,
    ) -> Begun {
        let peer = self.peer(rank);
        let Some(far) = &mut self.far else { return Err(Refusal::Unfit) };
        let cookie = number(win) << NUMBERS | u64::from(far.network.next_read());
        operation(peer, Class::Osc.cookie(cookie))?;
        far.network.reads_now(rank, token);
        Ok(())
    }

    /// An update of a rank's memory, or a fetch, has begun.
    pub(super) fn changes(&mut self, rank: u32, is_silent: bool) {
        if let Some(far) = &mut self.far {
            far.network.changed.insert(rank);
            if is_silent {
                far.network.written.insert(rank);
            }
        }
    }
}

/// What a transport says.
pub(super) type Begun = std::result::Result<(), Refusal>;

/// What to wait for: nothing more, or room; whether it has begun.
pub(super) fn answer(begun: Begun) -> Option<Result<bool>> {
    match begun {
        Ok(()) => Some(Ok(true)),
        Err(Refusal::Busy) => None,
        Err(Refusal::Unfit) => Some(Ok(false)),
    }
}

impl Windows {
    /// A read or fetch is over.
    pub(super) fn read_over(&mut self, cookie: u64, succeeded: bool) {
        let (number, read) = (cookie >> NUMBERS, (cookie & ((1 << NUMBERS) - 1)) as u32);
        let Some(far) = self.numbered(number).and_then(|window| window.far.as_mut()) else { return };
        let Some((rank, token)) = far.network.reads.remove(&read) else { return };
        far.network.reading[rank as usize] -= 1;
        far.failed |= !succeeded;
        far.fetched(token);
    }
}
