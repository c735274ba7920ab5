//! Starting a call after its processes have voted, where they have something to settle first: once for a communicator, or
//! once for a kind of call.

use abi::{Address, Result};
use btl::Peer;
use coll::Coll;
use coll::tuned::Query;
use node::{NodeArea, SegmentTicket};

use super::arguments::{Arguments, Recv};
use super::fast_path::take_planned;
use super::launch::{Ready, go, set_up};
use super::mode::{Mode, Start};
use super::state::Turns;
use super::{kept, localities};
use objects::domain::Token;
use objects::memory::exposed;
use objects::state::State;

/// Takes the arguments of a call by `fill`, starts it and sees to its completion by `mode`; a blocking one ends alike on all processes
/// where the communicator's hints want that.
pub(super) fn launch(
    t: &mut Token,
    mode: Mode<'_>,
    coll: Coll,
    comm: abi::Comm,
    fill: impl FnOnce(&mut Arguments<'_>) -> Result<()>,
) -> Result<()> {
    let agree_on = match mode {
        Mode::Blocking => {
            let state = t.lock();
            state.comm(comm)?.hints.are_errors_uniform(false).then_some(state.agree_on)
        }
        _ => None,
    };
    let own = launch_alone(t, mode, coll, comm, fill);
    agree_on.map_or(own, |agree_on| agree_on(t, comm, own))
}

fn launch_alone(
    t: &mut Token,
    mode: Mode<'_>,
    coll: Coll,
    comm: abi::Comm,
    fill: impl FnOnce(&mut Arguments<'_>) -> Result<()>,
) -> Result<()> {
    // Taken first, so that a call that fails leaves none behind.
    let planned = match mode {
        Mode::Persistent(_) => take_planned(&mut t.lock(), comm),
        _ => None,
    };
    let Ready { mut running, mut start, area, direct, online } = set_up(t, &mode, coll, comm, fill)?;
    if area && make_area(t, comm)? {
        start = running.choose_again(&mut t.lock(), start)?;
    }
    if direct {
        vote_on_direct(t, comm)?;
        start = running.choose_again(&mut t.lock(), start)?;
    }
    if online {
        let query = running.signature().map(|signature| *signature.query());
        if let Some(query) = query
            && vote_on_times(t, comm, &query)?
        {
            running.choose(&mut t.lock(), start)?;
        }
    }
    if start == Start::InOwnArea && running.wants_area() {
        let most = t.lock().params.tuned.area_memory;
        match own_area(t, comm, most)? {
            Some(area) => running.keep_area(area),
            None => running.choose(&mut t.lock(), Start::Persistent)?,
        }
    }
    go(t, mode, running, planned)
}

/// A call of the library itself within another one's start: it needs no vote.
fn ask(
    t: &mut Token,
    coll: Coll,
    comm: abi::Comm,
    fill: impl FnOnce(&mut Arguments<'_>) -> Result<()>,
) -> Result<()> {
    let Ready { running, .. } = set_up(t, &Mode::Own, coll, comm, fill)?;
    go(t, Mode::Own, running, None)
}

const IN_PLACE: Address = Address(abi::IN_PLACE);

/// Words of every rank, reduced one by one; the result replaces them.
fn reduce(t: &mut Token, comm: abi::Comm, words: &mut [u64], op: abi::Op) -> Result<()> {
    let (count, words) = (words.len() as i64, exposed(words));
    ask(t, Coll::Allreduce, comm, |a| a.everywhere(IN_PLACE, words, count, abi::UINT64_T, op))
}

/// A word of every rank, in rank order.
fn gather(t: &mut Token, comm: abi::Comm, word: u64) -> Result<Vec<u64>> {
    let mut all = {
        let state = t.lock();
        let comm = state.comm(comm)?;
        let mut all = vec![0; comm.size() as usize];
        all[comm.rank as usize] = word;
        all
    };
    let words = exposed(&mut all);
    ask(t, Coll::Allgather, comm, |a| {
        a.in_place(IN_PLACE);
        a.buffer(Recv, words, 1, abi::UINT64_T)
    })?;
    Ok(all)
}

/// Whether all processes of a communicator can read each other's memory, and what they are bound to: asked by all of them
/// together, once.
fn vote_on_direct(t: &mut Token, comm: abi::Comm) -> Result<()> {
    let able = {
        let mut state = t.lock();
        let me = state.me();
        let State { tables, comms, node, .. } = &mut *state;
        let found = comms.get_mut(comm)?;
        // Until the vote is over nothing is read directly, the vote itself included.
        kept::of(tables, found).direct = Some(false);
        node.as_ref().is_some_and(|node| {
            found.addressed().iter().all(|&peer| peer == me || node.can_read(btl::Peer(peer)))
        })
    };
    let mut all_able = [u64::from(able)];
    reduce(t, comm, &mut all_able, abi::MIN)?;
    let own = localities::own(&mut t.lock(), comm)?;
    let (near, localities) = match own {
        Some(own) => localities::of_words(gather(t, comm, localities::word(own))?),
        None => Default::default(),
    };
    let mut state = t.lock();
    let kept = kept::find(&mut state, comm)?;
    (kept.direct, kept.near, kept.localities) = (Some(all_able == [1]), near, localities);
    kept.fast_paths.forget();
    Ok(())
}

/// Votes on a kind of call if that is due: all processes of the communicator come here in the same call. Whether there was
/// a vote.
fn vote_on_times(t: &mut Token, comm: abi::Comm, query: &Query) -> Result<bool> {
    let Some(mut times) = kept::find(&mut t.lock(), comm)?.online.ballot(query) else {
        return Ok(false);
    };
    reduce(t, comm, &mut times, abi::MAX)?;
    let mut state = t.lock();
    let kept = kept::find(&mut state, comm)?;
    kept.online.settle(query, &times);
    kept.forget_choices();
    Ok(true)
}

/// Makes an area for a communicator in memory of its own; whether there is memory for it. Half of that memory is for persistent calls.
fn make_area(t: &mut Token, comm: abi::Comm) -> Result<bool> {
    kept::find(&mut t.lock(), comm)?.wants_area = false;
    let most = t.lock().params.tuned.area_memory / 2;
    let Some(area) = own_area(t, comm, most)? else { return Ok(false) };
    let mut state = t.lock();
    let kept = kept::find(&mut state, comm)?;
    kept.area = Some(area);
    kept.turns = Turns::of(&kept.area);
    kept.fast_paths.forget();
    Ok(true)
}

/// An area in memory of its own, for the rounds of one persistent collective, which come in an order of their own, or for a communicator:
/// all its processes are here in the same call. `most`: bytes of all such areas of a process. `None`: one of them has no memory for it.
fn own_area(t: &mut Token, comm: abi::Comm, most: u64) -> Result<Option<Box<NodeArea>>> {
    let (node, members, me, leads) = {
        let state = t.lock();
        let found = state.comm(comm)?;
        let Some(node) = state.node.clone() else { return Ok(None) };
        let members: Vec<Peer> = found.addressed().iter().map(|&peer| Peer(peer)).collect();
        (node, members, Peer(state.me()), found.rank == 0)
    };
    let made = if leads { node.create_area(&members, me, most) } else { None };
    // All others add nothing.
    let mut words = made.as_ref().map_or([0; 4], |(_, ticket)| ticket.words());
    reduce(t, comm, &mut words, abi::SUM)?;
    if words == [0; 4] {
        return Ok(None);
    }
    let joined = match made {
        Some((area, _)) => Some(area),
        None => SegmentTicket::from_words(words)
            .and_then(|ticket| node.join_area(members[0], &ticket, &members, me)),
    };
    let mut all_have = [u64::from(joined.is_some())];
    reduce(t, comm, &mut all_have, abi::MIN)?;
    Ok(joined.filter(|_| all_have == [1]).map(|mut area| {
        area.close();
        Box::new(area)
    }))
}
