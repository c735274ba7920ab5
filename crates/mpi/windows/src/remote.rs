//! Ranks of other nodes whose memory the network reads, writes and changes (`btl::RemoteMemory`).
//!
//! ```text
//!   creation   each process registers its memory, and sends the key with its address             (offer)
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

use abi::Result;
use bml::Bml;
use btl::{Peer, Refusal, RemoteKey, RemoteMemory};
use mem::UserMem;
use osc::{Parts, Side, cut_read};

use super::access::Completion;
use super::far::{GET, begun, pieces, redirect, want};
use super::network::{Begun, Network, Reached, UNREACHED};
use super::{WINDOWS, Window, Windows, await_window};
use objects::domain::Token;
use objects::memory::{of_user, of_vec};
use objects::state::State;

/// What a process announces of its memory, in words.
pub(super) const OFFER: usize = 4;

/// Memory of this process that is registered, and the peer by which its network is named.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    peer: Peer,
    key: RemoteKey,
}

/// Longest data with holes that is copied for the network.
const COPY: u64 = 64 << 10;

/// Bytes that runs at the target have on average at least; shorter ones go by messages, many in one.
const RUN: u64 = 1024;

/// Registers memory of this process for the first of `peers` whose network does that; what to announce, and what to
/// keep. `mapped`: the processes of the node map it. `None`: messages alone reach it.
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
    /// No process uses the memory any more.
    pub fn withdraw(self, bml: &mut Bml) {
        bml.deregister(self.peer, self.key);
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
        let far = WINDOWS.get_mut(&mut state.tables).get_mut(win)?.far.as_mut();
        far.is_some_and(|far| far.network.take_changed(rank))
    };
    if has_changed { settle(t, win, rank) } else { Ok(()) }
}

/// Writes `origin` to `target`, of another rank, if that is for the network; else gives it back. The token of what uses
/// the origin.
pub(super) fn put(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (origin, completion): (Side, Completion),
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
    if completion == Completion::Flush {
        return Ok(Ok(None));
    }
    let mut state = t.lock();
    let Some(far) = &mut WINDOWS.get_mut(&mut state.tables).get_mut(win)?.far else { return Ok(Ok(None)) };
    let token = far.operations.begin(rank, None, Parts::ends(1), true)?;
    far.network.uses(token, rank);
    Ok(Ok(Some(token)))
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
        let has_room = window.far.as_ref().is_none_or(|far| far.network.has_room(copy.len()));
        (has_room || window.is_flushed(&mut p2p.bml, None)).then_some(Ok(()))
    })?;
    Ok(copy)
}

/// Keeps a copy of what is being written until a flush.
fn keep(t: &mut Token, win: abi::Win, rank: u32, copy: Vec<u8>) {
    let mut state = t.lock();
    match WINDOWS.get_mut(&mut state.tables).get_mut(win).ok().and_then(|window| window.far.as_mut()) {
        Some(far) => far.network.keep(rank, copy),
        // The program has freed the window meanwhile, which is wrong; the network may still read the copy.
        None => std::mem::forget(copy),
    }
}

/// Reads `target`, of another rank, into `origin`, if that is for the network; else gives it back. The token of the data.
pub(super) fn get(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    (origin, completion): (Side, Completion),
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
    let parts = Parts::ends(cuts.len() as u64);
    let token = want(t, win, rank, (Side::Run(into), completion), parts)?;
    let read = read_all(t, win, (rank, token), &reached, cuts);
    begun(t, win, token, read).map(Ok)
}

/// Begins the reads of one get: each where to, where from, and the position in all data.
fn read_all(
    t: &mut Token,
    win: abi::Win,
    (rank, token): (u32, u64),
    reached: &Reached,
    cuts: Vec<(UserMem, UserMem, u64)>,
) -> Result<()> {
    for (here, there, position) in cuts {
        let offset = reached.offset(there.address());
        let read =
            |bml: &mut Bml, peer: Peer, cookie: u64| bml.read(peer, here, &reached.key, offset, cookie);
        if !begin_read(t, win, (rank, token), read)? {
            let target = Side::Run(there);
            let pieces = pieces(t, win, rank, &target, 1)?;
            redirect(t, win, (rank, token), 1, pieces.count())?;
            pieces.send(t, win, GET, None, |at| vec![token, position + at])?;
        }
    }
    Ok(())
}

/// The network of a rank and the runs of data there, if these are for it.
fn runs_of(
    t: &mut Token,
    win: abi::Win,
    rank: u32,
    target: &Side,
) -> Result<Option<(Reached, Vec<UserMem>)>> {
    let Some(reached) = WINDOWS.get(&t.lock().tables).get(win)?.network(rank) else { return Ok(None) };
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
            far.network.writes(rank);
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
    /// Begins a read or fetch with a cookie, for data that waits under `token`.
    pub(super) fn read(
        &mut self,
        win: abi::Win,
        (rank, token): (u32, u64),
        operation: impl FnOnce(Peer, u64) -> Begun,
    ) -> Begun {
        let Some(far) = &mut self.far else { return Err(Refusal::Unfit) };
        far.network.read(win, (rank, token), operation)
    }

    /// An update of a rank's memory, or a fetch, has begun.
    pub(super) fn changes(&mut self, rank: u32, is_silent: bool) {
        if let Some(far) = &mut self.far {
            far.network.changes(rank);
            if is_silent {
                far.network.writes(rank);
            }
        }
    }
}

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
        let window = self.numbered(Network::window_of(cookie));
        let Some(far) = window.and_then(|window| window.far.as_mut()) else { return };
        let Some((rank, token)) = far.network.read_over(cookie) else { return };
        far.operations.ended(rank, token, if succeeded { Ok(()) } else { Err(UNREACHED) });
    }
}
