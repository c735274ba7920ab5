//! Staged writes of open files (parameter and hint `io_staging`): a write is over when a stage has its data, which is
//! written behind by a thread of the library.
//!
//! A process stages what it writes by itself, and as an aggregator what it has fetched for others. A byte that goes
//! through aggregators has the same one in every call (`File::plan`), so each stage keeps the order of the writes of a
//! byte. Where a process changes from one way to the other, or reads, it first has written what it must not overtake:
//!
//! | next access of the process            | in its own stage | in the stages of aggregators |
//! |---------------------------------------|------------------|------------------------------|
//! | reads by itself                       | drained if it reads there, or behind the end of the file | likewise, asked for by a message |
//! | writes by itself                      | comes behind     | drained if it writes there   |
//! | takes part in a collective read       | drained before processes exchange where they read | by each itself |
//! | takes part in a collective write      | drained where it writes | comes behind          |
//! | sync, close, size, atomic mode, hints | drained          | by each itself               |
//!
//! Accesses of different processes that conflict have a sync between them (MPI-5.0 section 14.6.1), which drains all.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use abi::{Address, Error, Result};
use btl::Peer;
use io::{Counts, Direction, Posix, Stage, Worked};
use platform::Blocking;

use super::access::{Use, lane};
use super::questions::{Answer, Asker, COUNTS, DRAIN, PEEK, answer, ask};
use super::{FILES, File, failed, file_of};
use objects::domain::Token;
use objects::state::State;

/// What an open file stages.
pub struct Staged {
    pub stage: Arc<Stage>,
    /// What names it on all processes: the context of the file's communicator.
    context: u32,
    /// From the first to behind the last byte of this process that other aggregators may hold.
    pub away: Option<Range<u64>>,
}

/// The stages of this process, for those that ask for them.
pub(crate) struct Stages {
    open: BTreeMap<u32, Open>,
    /// Processes that wait until a stage has written so much.
    waiting: Vec<(Asker, Arc<Stage>, u64)>,
}

impl Stages {
    pub const fn new() -> Stages {
        Stages { open: BTreeMap::new(), waiting: Vec::new() }
    }
}

struct Open {
    stage: Arc<Stage>,
    /// The processes that have the file open.
    peers: Arc<[u32]>,
}

/// How an access goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessPath {
    /// By this process, through its stage.
    Staged,
    /// By this process, at once.
    Direct,
    /// With the others; by aggregators, maybe.
    Together,
}

/// Has a thread of the library write what a stage has. Without one the next that stages tries again, and those that need
/// room, or the data in the file, write it.
pub(super) fn start(stage: &Arc<Stage>, storage: &Arc<Posix>) {
    let (behind, file) = (stage.clone(), storage.clone());
    let work = move |blocking: &Blocking<'_>| behind.work(&file.calls(blocking)) == Worked::More;
    let lane = lane(storage, false, Use::Behind);
    if engine::run_apart_in_turns(lane, work, staged_was_written).is_err() {
        stage.unschedule();
    }
}

/// Has a file that was just opened stage its writes, if its hints say so: in `stage`, which they have made.
///
/// # Errors
/// `MPI_ERR_FILE`.
pub(super) fn set_up(state: &mut State, fh: abi::File, stage: Option<Arc<Stage>>) -> Result<()> {
    let file = file_of(state, fh)?;
    let comm = state.comm(file.comm)?;
    let (context, peers) = (comm.context, comm.group.peers());
    let file = FILES.get_mut(&mut state.tables).get_mut(fh)?;
    let Some(stage) = stage else { return Ok(()) };
    file.staged = Some(Staged { stage: stage.clone(), context, away: None });
    FILES.get_mut(&mut state.tables).stages.open.insert(context, Open { stage, peers });
    Ok(())
}

/// The file is closed on all processes.
pub(super) fn forget(state: &mut State, file: &File) {
    if let Some(staged) = &file.staged {
        FILES.get_mut(&mut state.tables).stages.open.remove(&staged.context);
    }
}

/// Has written what an access to the places in `span` must not overtake.
///
/// # Errors
/// `MPI_ERR_PROC_ABORTED`: an aggregator that may hold data is lost.
pub(super) fn settle(
    t: &mut Token,
    fh: abi::File,
    direction: Direction,
    way: AccessPath,
    span: &Range<u64>,
) -> Result<()> {
    let (stage, storage, away) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        let Some(staged) = &file.staged else { return Ok(()) };
        (staged.stage.clone(), file.storage.clone(), staged.away.clone())
    };
    let is_away = away.as_ref().is_some_and(|away| away.start < span.end && span.start < away.end);
    let blocking = t.may_block();
    let calls = storage.calls(&blocking);
    match (direction, way) {
        (Direction::Read, AccessPath::Together) => stage.drain(&calls),
        (Direction::Read, _) => {
            let pending = away.is_some() || !stage.is_empty();
            let behind = || calls.size().map_or(true, |size| span.end > size);
            if pending && (is_away || stage.holds(span) || behind()) {
                return drain(t, fh);
            }
        }
        (Direction::Write, AccessPath::Together) => stage.settle(&calls, span),
        (Direction::Write, _) => {
            if way == AccessPath::Direct {
                stage.settle(&calls, span);
            }
            if is_away {
                return drain_away(t, fh);
            }
        }
    }
    Ok(())
}

/// Has written all that this process has written so far, whichever process holds it.
///
/// # Errors
/// `MPI_ERR_PROC_ABORTED`: an aggregator that may hold data is lost.
pub(super) fn drain(t: &mut Token, fh: abi::File) -> Result<()> {
    drain_own(t, fh)?;
    drain_away(t, fh)
}

/// Has written what this process holds; all processes do that now, and wait for each other before they go on.
///
/// # Errors
/// `MPI_ERR_FILE`.
pub(super) fn drain_together(t: &mut Token, fh: abi::File) -> Result<()> {
    drain_own(t, fh)?;
    if let Some(staged) = &mut FILES.get_mut(&mut t.lock().tables).get_mut(fh)?.staged {
        staged.away = None;
    }
    Ok(())
}

fn drain_own(t: &mut Token, fh: abi::File) -> Result<()> {
    let (stage, storage) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        let Some(staged) = &file.staged else { return Ok(()) };
        (staged.stage.clone(), file.storage.clone())
    };
    stage.drain(&storage.calls(&t.may_block()));
    Ok(())
}

/// Has the aggregators write what they hold.
fn drain_away(t: &mut Token, fh: abi::File) -> Result<()> {
    let (context, peers) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        let Some(Staged { context, away: Some(_), .. }) = file.staged else { return Ok(()) };
        let comm = state.comm(file.comm)?;
        let plan = file.plan(0..0, u64::from(comm.size()), 1, true);
        let ranks = (0..plan.aggregators())
            .map(|index| plan.process(index))
            .filter(|&rank| rank != u64::from(comm.rank));
        (context, ranks.map(|rank| Peer(comm.addressed()[rank as usize])).collect::<Vec<Peer>>())
    };
    for peer in peers {
        ask(t, peer, DRAIN, [u64::from(context), 0, 0])?;
    }
    if let Some(staged) = &mut FILES.get_mut(&mut t.lock().tables).get_mut(fh)?.staged {
        staged.away = None;
    }
    Ok(())
}

/// What came of data that was staged and is written by now; returned once.
///
/// # Errors
/// The first error of the system's.
pub(super) fn outcome(file: &File) -> Result<()> {
    let error = file.staged.as_ref().and_then(|staged| staged.stage.take_error());
    error.map_or(Ok(()), |error| Err(failed("the system could not write staged data to the file")(error)))
}

/// A thread of the library has written staged data: answers those that wait for it.
fn staged_was_written(state: &mut State) {
    let waiting = std::mem::take(&mut FILES.get_mut(&mut state.tables).stages.waiting);
    for (asker, stage, until) in waiting {
        if stage.counts().written < until {
            FILES.get_mut(&mut state.tables).stages.waiting.push((asker, stage, until));
        } else {
            answer(state, asker, Some(Answer::default()));
        }
    }
}

/// The stage of a file that another process has open, too.
fn staged_for(state: &State, asker: Asker, context: u64) -> Option<Arc<Stage>> {
    let open =
        u32::try_from(context).ok().and_then(|context| FILES.get(&state.tables).stages.open.get(&context))?;
    open.peers.contains(&asker.peer().0).then(|| open.stage.clone())
}

/// Another process waits until all is written that is held here.
pub(super) fn serve_drain(state: &mut State, asker: Asker, context: u64) {
    let stage = staged_for(state, asker, context);
    match stage.map(|stage| (stage.counts(), stage)) {
        Some((counts, stage)) if counts.written < counts.taken => {
            FILES.get_mut(&mut state.tables).stages.waiting.push((asker, stage, counts.taken));
        }
        held => answer(state, asker, held.map(|_| Answer::default())),
    }
}

/// Another process asks how much was staged here.
pub(super) fn serve_counts(state: &mut State, asker: Asker, context: u64) {
    let counts = staged_for(state, asker, context).map(|stage| stage.counts());
    answer(
        state,
        asker,
        counts.map(|Counts { taken, written }| Answer { words: [taken, written], bytes: Vec::new() }),
    );
}

/// Another process reads what is staged here: bytes, and behind them a bit for each: whether it is there.
pub(super) fn serve_peek(state: &mut State, asker: Asker, context: u64, place: u64, len: u64) {
    let most = most_of(state.p2p.most(asker.peer()));
    let Some(stage) = staged_for(state, asker, context).filter(|_| len <= most as u64) else {
        return answer(state, asker, None);
    };
    let to_answer = |peeked: std::io::Result<(Vec<u8>, Vec<u8>)>| {
        peeked.ok().map(|(mut bytes, marks)| {
            bytes.extend(marks);
            Answer { words: [1, 0], bytes }
        })
    };
    if !stage.logs() {
        return answer(state, asker, to_answer(peeked(&stage, place, len as usize)));
    }
    // A log is a file, and a handler does not block.
    let started = engine::run_blocking(
        engine::Lane::Pool,
        move |_| peeked(&stage, place, len as usize),
        move |state: &mut State, peeked| answer(state, asker, to_answer(peeked)),
    );
    if started.is_err() {
        answer(state, asker, None);
    }
}

/// Bytes that fit into a message with their marks.
fn most_of(payload: usize) -> usize {
    (payload / 9 * 8).max(8)
}

/// What a stage holds for some places, and which of these bytes, one bit each.
fn peeked(stage: &Stage, place: u64, len: usize) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let (mut bytes, mut marks) = (vec![0; len], vec![0; len.div_ceil(8)]);
    stage.peek(place, &mut bytes, |run| run.for_each(|at| marks[at / 8] |= 1 << (at % 8)))?;
    Ok((bytes, marks))
}

/// The stage of a rank of a file, for the functions of `alhena.h`.
enum Holder {
    Own(Arc<Stage>),
    Other {
        peer: Peer,
        context: u32,
    },
    /// The file stages nothing.
    None,
}

fn holder(t: &mut Token, fh: abi::File, rank: i32) -> Result<(Holder, Arc<Posix>)> {
    let state = t.lock();
    let file = file_of(&state, fh)?;
    let comm = state.comm(file.comm)?;
    let wrong = Error::new(abi::ERR_RANK, "no process of that rank has the file open");
    let peer = usize::try_from(rank).ok().and_then(|rank| comm.addressed().get(rank)).ok_or(wrong)?;
    let holder = match &file.staged {
        None => Holder::None,
        Some(staged) if comm.rank == rank as u32 => Holder::Own(staged.stage.clone()),
        Some(staged) => Holder::Other { peer: Peer(*peer), context: staged.context },
    };
    Ok((holder, file.storage.clone()))
}

/// `alhena_staged`: bytes that a rank has staged since the file was opened, and those of them that it holds no longer.
pub fn counts(t: &mut Token, fh: abi::File, rank: i32) -> Result<(u64, u64)> {
    let (holder, _) = holder(t, fh, rank)?;
    Ok(match holder {
        Holder::None => (0, 0),
        Holder::Own(stage) => {
            let Counts { taken, written } = stage.counts();
            (taken, written)
        }
        Holder::Other { peer, context } => {
            let answer = ask(t, peer, COUNTS, [u64::from(context), 0, 0])?.ok_or(CLOSED)?;
            (answer.words[0], answer.words[1])
        }
    })
}

const CLOSED: Error =
    Error::new(abi::ERR_FILE, "the process has closed the file, or cannot read what it has staged");

/// `alhena_read_staged`: reads bytes of a file as they will be when what a rank has staged is written; how many there are.
pub fn read(
    t: &mut Token,
    fh: abi::File,
    rank: i32,
    offset: i64,
    into: Address,
    len: usize,
) -> Result<usize> {
    let (holder, storage) = holder(t, fh, rank)?;
    let place = u64::try_from(offset).map_err(|_| Error::new(abi::ERR_ARG, "the offset is negative"))?;
    if !storage.is_readable() {
        return Err(Error::new(abi::ERR_ACCESS, "the system does not let this process read the file"));
    }
    let most = match &holder {
        Holder::Other { peer, .. } => most_of(t.lock().p2p.most(*peer)),
        _ => MOST_AT_A_TIME,
    };
    let memory = objects::memory::of_user(into, len);
    let mut there = 0;
    for at in (0..len).step_by(most) {
        let (from, len) = (place.saturating_add(at as u64), most.min(len - at));
        // Asked first: what is written meanwhile is found in the file then.
        let (bytes, marks) = match &holder {
            Holder::None => (vec![0; len], vec![0; len.div_ceil(8)]),
            Holder::Own(stage) => {
                peeked(stage, from, len).map_err(failed("the system could not read staged data"))?
            }
            Holder::Other { peer, context } => {
                let Answer { mut bytes, .. } =
                    ask(t, *peer, PEEK, [u64::from(*context), from, len as u64])?.ok_or(CLOSED)?;
                bytes.resize(len + len.div_ceil(8), 0);
                let marks = bytes.split_off(len);
                (bytes, marks)
            }
        };
        let mut file = vec![0; len];
        let moved = io::read_fully(&storage.calls(&t.may_block()), &mem::PeerSpace::of(&mut file), from);
        if let Some(error) = moved.error {
            return Err(failed("the system could not read the file")(error));
        }
        let mut end = moved.bytes as usize;
        for i in (0..len).filter(|i| marks[i / 8] & 1 << (i % 8) != 0) {
            (file[i], end) = (bytes[i], end.max(i + 1));
        }
        memory.part(at, end).as_space().write(mem::PeerBytes::of(&file[..end]));
        there = if end > 0 { at + end } else { there };
    }
    Ok(there)
}

/// Bytes that a process reads at a time of what it has staged itself.
const MOST_AT_A_TIME: usize = 1 << 20;
