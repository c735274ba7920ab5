//! Making and freeing communicators (MPI-5.0 sections 7.4.2, 7.4.3 and 7.6).
//!
//! All calls agree on context ids by [`agreement`](super::agreement).

use std::ffi::CStr;
use std::sync::Arc;

use abi::{Error, Result};

use super::acquaint::identities;
use super::agreement::{Agreement, Party, Question, WORDS};
use super::retire::{reap_retired, retire};
use collectives::{gather_words, reduce_words};
use objects::attr::{copy_all, delete_all};
use objects::comm::Comm;
use objects::comm::hints::Hints;
use objects::domain::Token;
use objects::errhandler::Handler;
use objects::failures::REVOKED;
use objects::group::Group;
use objects::info::Info;
use objects::state::State;
use tools::{COMM_CREATED, COMM_FREED, raise};

/// What distinguishes the parties over one context: calls that all its processes make in one order, those of a group
/// that a tag distinguishes, and duplicates that are numbered.
const CALL: u64 = 0;
const APART: u64 = 1;
pub(super) const NUMBERED: u64 = 2;

/// `MPI_Comm_dup`: hints stay with the original (MPI-5.0 section 7.4.2).
pub fn dup(t: &mut Token, comm: abi::Comm, new: &mut abi::Comm) -> Result<()> {
    duplicate(t, comm, Hints::default(), new)
}

/// `MPI_Comm_dup_with_info`
pub fn dup_with_info(t: &mut Token, comm: abi::Comm, info: abi::Info, new: &mut abi::Comm) -> Result<()> {
    let hints = {
        let state = t.lock();
        state.comm(comm)?;
        Hints::known(&state.infos.hints(info)?)
    };
    duplicate(t, comm, hints, new)
}

/// A communicator of the same processes for the library's own use: nothing else uses its context. Attributes, hints,
/// topology and error handler stay with the original. The failure of a member revokes it: the others leave what they do in it.
pub fn private_copy(t: &mut Token, comm: abi::Comm) -> Result<abi::Comm> {
    make(t, comm, 1, |t, id| {
        let copy = {
            let state = t.lock();
            let old = state.comm(comm)?;
            let mut copy = Comm::new(id, old.group.clone(), old.rank, Handler::Return);
            copy.hints = Hints::of_whole_group();
            copy
        };
        open(t, copy, Some(comm))
    })
}

/// Makes the duplicate; the null handle stays if an attribute's copy function fails.
fn duplicate(t: &mut Token, comm: abi::Comm, hints: Hints, new: &mut abi::Comm) -> Result<()> {
    let count = t.lock().comm(comm)?.context_ids();
    *new = abi::COMM_NULL;
    alike(t, comm, new, |t| {
        make(t, comm, count, |t, id| {
            let copy = copy_of(t.lock().comm(comm)?, id, hints);
            let copy = open(t, copy, Some(comm))?;
            // Last, so that the other processes, whose functions may succeed, do not wait for this one.
            let attributes = copy_all(t, comm).inspect_err(|_| close(t, copy))?;
            t.lock().comms.get_mut(copy)?.attributes = attributes;
            Ok(copy)
        })
    })
}

/// A communicator like `old` in all but context, hints and attributes.
pub(super) fn copy_of(old: &Comm, id: u32, hints: Hints) -> Comm {
    let mut copy = Comm::new(id, old.group.clone(), old.rank, old.errhandler);
    copy.session = old.session;
    copy.topology = old.topology.clone();
    copy.hints = hints;
    if let Some(remote) = old.remote.clone() {
        copy.make_inter(remote);
    }
    copy
}

/// `MPI_Comm_create`: a communicator of a subgroup; the other ranks get `MPI_COMM_NULL`.
pub fn create(t: &mut Token, comm: abi::Comm, group: abi::Group, new: &mut abi::Comm) -> Result<()> {
    alike(t, comm, new, |t| create_part(t, comm, group))
}

fn create_part(t: &mut Token, comm: abi::Comm, group: abi::Group) -> Result<abi::Comm> {
    let group = {
        let state = t.lock();
        let group = state.groups.get(group)?;
        let old = state.comm(comm)?;
        if group.members().iter().any(|peer| !old.group.members().contains(peer)) {
            return Err(Error::new(abi::ERR_GROUP, "the group is not a subset of the communicator's"));
        }
        group
    };
    let (inter, count) = {
        let state = t.lock();
        let comm = state.comm(comm)?;
        (comm.is_inter(), comm.context_ids())
    };
    make(t, comm, count, |t, id| {
        let remote = if inter { Some(super::inter::swap_groups(t, comm, &group)?) } else { None };
        let faces_someone = remote.as_ref().is_none_or(|remote| remote.size() > 0);
        let Some(rank) = group.rank.filter(|_| faces_someone) else { return Ok(abi::COMM_NULL) };
        let part = {
            let state = t.lock();
            let old = state.comm(comm)?;
            let mut part = Comm::new(id, group, rank, old.errhandler);
            part.session = old.session;
            if let Some(remote) = remote {
                part.make_inter(remote);
            }
            part
        };
        open(t, part, Some(comm))
    })
}

/// `MPI_Comm_create_group`: collective over the group alone.
pub fn create_group(
    t: &mut Token,
    comm: abi::Comm,
    group: abi::Group,
    tag: i32,
    new: &mut abi::Comm,
) -> Result<()> {
    *new = abi::COMM_NULL;
    if tag < 0 {
        return Err(Error::new(abi::ERR_TAG, "the tag is negative"));
    }
    let (group, context, errhandler, session) = {
        let state = t.lock();
        let group = state.groups.get(group)?;
        let old = state.comm(comm)?;
        if old.is_inter() {
            return Err(Error::new(abi::ERR_COMM, "the communicator is an inter-communicator"));
        }
        (group, old.context, old.errhandler, old.session)
    };
    *new = over_group(t, &group, context, tag, errhandler, session)?;
    Ok(())
}

/// A communicator of `group`, made by its members alone: these send in the library's context `context` with tags
/// derived from `tag`, which the program keeps distinct (MPI-5.0 section 7.4.2).
pub(crate) fn over_group(
    t: &mut Token,
    group: &Arc<Group>,
    context: u32,
    tag: i32,
    errhandler: Handler,
    session: Option<abi::Session>,
) -> Result<abi::Comm> {
    let Some(rank) = group.rank else { return Ok(abi::COMM_NULL) };
    let rehearsal = {
        let mut state = t.lock();
        // The others leave, or do not come.
        let is_revoked = |comm: &Comm| comm.context == context & !1 && comm.is_revoked;
        if state.failures.any && state.comms.iter().any(is_revoked) {
            return Err(REVOKED);
        }
        let new = state.comms.add(Comm::new(context >> 1, group.clone(), rank, Handler::Return))?;
        let tag = tag_of_group(&state, group, tag);
        collectives::start_apart(&mut state, new, tag)?;
        new
    };
    let party = Party::of(&[u64::from(context), APART, tag as u64]);
    in_making(t, |t| {
        let id = agree_by(t, party, 1, |t, question| answer(t, rehearsal, question));
        drop_from_table(&mut t.lock(), rehearsal);
        make_under(t, id?, 1, |t, id| {
            let mut comm = Comm::new(id, group.clone(), rank, errhandler);
            comm.session = session;
            open(t, comm, None)
        })
    })
}

/// The tag of a group's messages in a borrowed context. Where the job goes on after failures, and where several jobs are in it, of which
/// one may, the group is a part of it: messages of a making that has failed are no others', since the group of the next one under the
/// program's tag is without the dead.
fn tag_of_group(state: &State, group: &Group, tag: i32) -> i32 {
    let is_own = |&peer: &u32| peer < state.p2p.peers().own_size();
    if !state.failures.survives && group.members().iter().all(is_own) {
        return tag;
    }
    tag ^ (Party::of(&identities(state, group.members())).word() >> 33) as i32
}

/// `MPI_Comm_create_from_group`
pub fn create_from_group(
    t: &mut Token,
    group: abi::Group,
    tag: &CStr,
    info: abi::Info,
    errhandler: abi::Errhandler,
    new: &mut abi::Comm,
) -> Result<()> {
    let (group, hints) = {
        let state = t.lock();
        (state.groups.get(group)?, state.infos.hints(info)?)
    };
    let handler = objects::errhandler::initial(t, errhandler, objects::errhandler::ErrhandlerKind::Comm)?;
    let meeting = t.lock().contexts.meeting() << 1;
    *new = over_group(t, &group, meeting, string_tag(tag), handler, group.session)?;
    give_hints(t, *new, &hints)
}

/// Gives a new communicator the hints that were given for it.
pub(crate) fn give_hints(t: &mut Token, new: abi::Comm, hints: &Info) -> Result<()> {
    if new != abi::COMM_NULL {
        t.lock().comms.get_mut(new)?.hints = Hints::known(hints);
    }
    Ok(())
}

/// `MPI_Comm_set_info`
pub fn set_info(t: &mut Token, comm: abi::Comm, info: abi::Info) -> Result<()> {
    let mut state = t.lock();
    let hints = state.infos.hints(info)?;
    state.comms.get_mut(comm)?.hints.take(&hints);
    collectives::hints_changed(&mut state, comm)
}

/// Makes a communicator of `comm`, whose hints may want all its processes to have it, or none.
pub(super) fn alike(
    t: &mut Token,
    comm: abi::Comm,
    new: &mut abi::Comm,
    make: impl FnOnce(&mut Token) -> Result<abi::Comm>,
) -> Result<()> {
    let agree_on = {
        let state = t.lock();
        state.comm(comm)?.hints.are_errors_uniform(true).then_some(state.agree_on)
    };
    let made = make(t);
    if let Some(agree_on) = agree_on
        && let Err(error) = agree_on(t, comm, made.map(drop))
    {
        if let Ok(mut made) = made
            && made != abi::COMM_NULL
        {
            // Others may have sent messages in its contexts that no call takes.
            t.lock().revoke(made);
            // A callback's error would not replace the one that all have agreed on.
            let _ = let_go(t, &mut made);
        }
        *new = abi::COMM_NULL;
        return Err(error);
    }
    *new = made?;
    Ok(())
}

/// The tag that stands for a string tag (FNV-1a).
pub(super) fn string_tag(tag: &CStr) -> i32 {
    let hash = tag
        .to_bytes()
        .iter()
        .fold(0x811c_9dc5, |hash: u32, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 1) as i32
}

/// `MPI_Comm_split`
pub fn split(t: &mut Token, comm: abi::Comm, color: i32, key: i32, new: &mut abi::Comm) -> Result<()> {
    if color < 0 && color != abi::UNDEFINED {
        return Err(Error::new(abi::ERR_ARG, "the colour is negative and not MPI_UNDEFINED"));
    }
    alike(t, comm, new, |t| split_by(t, comm, color, key))
}

/// Splits by any colour; `MPI_UNDEFINED` takes part and gets nothing.
pub(crate) fn split_by(t: &mut Token, comm: abi::Comm, color: i32, key: i32) -> Result<abi::Comm> {
    let inter = t.lock().comm(comm)?.is_inter();
    if inter {
        return super::inter::split(t, comm, color, key);
    }
    let all = gather_words(t, comm, &[color as u32 as u64, key as u32 as u64])?;
    make(t, comm, 1, |t, id| {
        if color == abi::UNDEFINED {
            return Ok(abi::COMM_NULL);
        }
        let part = {
            let state = t.lock();
            let old = state.comm(comm)?;
            let peers = chosen(&all, color, old.group.members());
            let group = Arc::new(Group::new(peers, state.me()).of_session(old.session));
            let rank = group.rank.unwrap_or(0);
            Comm::new(id, group, rank, old.errhandler)
        };
        open(t, part, Some(comm))
    })
}

/// The members of one colour, ordered by key and then by old rank. `words` holds the colour and key of each.
pub(super) fn chosen(words: &[u64], color: i32, members: &[u32]) -> Arc<[u32]> {
    let mut mine: Vec<(i32, u32)> = words
        .chunks(2)
        .zip(members)
        .filter(|(words, _)| words[0] as u32 as i32 == color)
        .map(|(words, &peer)| (words[1] as u32 as i32, peer))
        .collect();
    mine.sort_by_key(|&(key, _)| key);
    mine.into_iter().map(|(_, peer)| peer).collect()
}

/// `MPI_Comm_free`. Processes of other jobs stay connected, as they do not after `MPI_Comm_disconnect`.
pub fn free(t: &mut Token, comm: &mut abi::Comm) -> Result<()> {
    bind(&mut t.lock(), *comm);
    let_go(t, comm)
}

/// This process does not part any more from the processes of other jobs in a communicator.
fn bind(state: &mut State, comm: abi::Comm) {
    let State { p2p, comms, .. } = state;
    let Some(comm) = comms.find(comm).filter(|_| p2p.others().next().is_some()) else { return };
    for &peer in comm.addressed().iter().chain(comm.group.members()) {
        p2p.bind(btl::Peer(peer));
    }
}

/// Frees a communicator: the attributes' callbacks run first; messages on the way find their requests without the
/// communicator, and requests that need it keep it.
///
/// # Errors
/// `MPI_ERR_COMM`; that of a callback.
pub fn let_go(t: &mut Token, comm: &mut abi::Comm) -> Result<()> {
    if matches!(*comm, abi::COMM_WORLD | abi::COMM_SELF) {
        return Err(Error::new(abi::ERR_COMM, "a predefined communicator cannot be freed"));
    }
    t.lock().comm(*comm)?;
    delete_all(t, *comm)?;
    messages::buffer::flush(t, messages::buffer::BufferOwner::Comm(*comm))?;
    // Those that wait for their turn in its area need it.
    collectives::await_turn(t, *comm);
    let mut state = t.lock();
    reap_retired(&mut state);
    retire(&mut state, *comm)?;
    *comm = abi::COMM_NULL;
    Ok(())
}

/// Makes a communicator under `count` context ids that the members of `comm` agree on.
pub(super) fn make(
    t: &mut Token,
    comm: abi::Comm,
    count: u32,
    body: impl FnOnce(&mut Token, u32) -> Result<abi::Comm>,
) -> Result<abi::Comm> {
    in_making(t, |t| {
        let id = agree(t, comm, count)?;
        make_under(t, id, count, body)
    })
}

/// Where all members of a new communicator agree on its context ids and share what it has. A member that leaves this with an error may be
/// counted by the others among those that share it: its part is given back when the next communicator is made, before others know that.
pub(super) fn in_making<R>(t: &mut Token, make: impl FnOnce(&mut Token) -> R) -> R {
    {
        let mut state = t.lock();
        if state.failures.any && state.makings == 0 {
            state.node.iter().for_each(|node| node.release_areas_not_taken());
        }
        state.makings += 1;
    }
    let made = make(t);
    t.lock().makings -= 1;
    made
}

/// Makes a communicator under reserved ids, which are free again if there is none on this process in the end; but not after a failure,
/// when others may have sent in its contexts.
pub(super) fn make_under(
    t: &mut Token,
    id: u32,
    count: u32,
    body: impl FnOnce(&mut Token, u32) -> Result<abi::Comm>,
) -> Result<abi::Comm> {
    let made = body(t, id);
    if !matches!(made, Ok(new) if new != abi::COMM_NULL) {
        let mut state = t.lock();
        collectives::forget_log(&state, id, count);
        match made.is_ok() || !state.failures.any {
            true => state.contexts.release(id, count),
            false => state.contexts.abandon(id, count),
        }
    }
    made
}

/// A communicator of the library's own with the processes of `comm`, and its context id. It has no area, and tools do
/// not see it.
pub fn inner(t: &mut Token, comm: abi::Comm) -> Result<(abi::Comm, u32)> {
    let id = agree(t, comm, 1)?;
    let mut state = t.lock();
    let (group, rank) = state.comm(comm).map(|comm| (comm.group.clone(), comm.rank))?;
    let inner = state.comms.add(Comm::new(id, group, rank, Handler::Return));
    if inner.is_err() {
        state.contexts.release(id, 1);
    }
    Ok((inner?, id))
}

/// Frees what [`inner`] has made.
pub fn free_inner(t: &mut Token, inner: abi::Comm) {
    let mut state = t.lock();
    if let Some(comm) = drop_from_table(&mut state, inner) {
        collectives::forget_log(&state, comm.context >> 1, 1);
        match state.is_broken(&comm) {
            true => state.contexts.abandon(comm.context >> 1, 1),
            false => state.contexts.release(comm.context >> 1, 1),
        }
    }
}

/// Puts a new communicator into the table and gives it an area if it can have one; as [`collectives::share_area`], to be
/// called by all its processes. Those of `parent`, of which it is made, may have left the call with an error.
pub(super) fn open(t: &mut Token, mut comm: Comm, parent: Option<abi::Comm>) -> Result<abi::Comm> {
    comm.parent = parent;
    let new = add_comm(&mut t.lock(), comm)?;
    let is_group = |&parent: &abi::Comm| t.lock().comm(parent).is_ok_and(|parent| !parent.is_inter());
    let of = parent.filter(is_group);
    let shared = collectives::share_area(t, new, of);
    let is_revoked = {
        let mut state = t.lock();
        let made = state.comms.get_mut(new)?;
        made.parent = None;
        // Another process has the communicator already, and has revoked it: it is there, and calls on it fail.
        made.is_revoked
    };
    if let Err(error) = shared
        && !is_revoked
    {
        close(t, new);
        return Err(error);
    }
    Ok(new)
}

/// Takes a communicator out of the table that the program has not seen.
fn close(t: &mut Token, comm: abi::Comm) {
    remove_comm(&mut t.lock(), comm);
}

/// `count` consecutive context ids that are free in all processes of the communicator, taken for the new one.
fn agree(t: &mut Token, comm: abi::Comm, count: u32) -> Result<u32> {
    let (inter, over) = {
        let state = t.lock();
        let comm = state.comm(comm)?;
        (comm.is_inter(), comm.context)
    };
    let party = Party::of(&[u64::from(over), CALL]);
    match inter {
        true => agree_by(t, party, count, |t, question| super::inter::answer_of_both(t, comm, question)),
        false => agree_by(t, party, count, |t, question| answer(t, comm, question)),
    }
}

/// A question of an agreement, reduced over the ranks.
pub(super) fn answer(t: &mut Token, comm: abi::Comm, question: Question) -> Result<[u64; WORDS]> {
    let mut words = question.words;
    reduce_words(t, comm, &mut words, question.op)?;
    Ok(words)
}

/// As [`agree`], of processes that reduce their questions by `answer`.
pub fn agree_by(
    t: &mut Token,
    party: Party,
    count: u32,
    mut answer: impl FnMut(&mut Token, Question) -> Result<[u64; WORDS]>,
) -> Result<u32> {
    reap_retired(&mut t.lock());
    let mut agreement = Agreement::new(party, count);
    loop {
        let question = agreement.ask(&t.lock().contexts);
        let answer = answer(t, question)?;
        if let Some(id) = agreement.hear(&mut t.lock().contexts, &answer)? {
            return Ok(id);
        }
    }
}

/// Adds a communicator, which becomes one more user of its error handler.
pub fn add_comm(state: &mut State, comm: Comm) -> Result<abi::Comm> {
    let (errhandler, size) = (comm.errhandler, comm.size() as i64);
    let handle = state.comms.add(comm)?;
    state.errhandlers.acquire(errhandler);
    raise(state, COMM_CREATED, [handle.0 as i64, size, 0]);
    revoke_if_late(state, handle);
    Ok(handle)
}

/// Another process may have made the communicator and revoked it before it was here; or a member has failed whose failure revokes it.
pub fn revoke_if_late(state: &mut State, comm: abi::Comm) {
    if !state.failures.any {
        return;
    }
    let Some(found) = state.comms.find(comm) else { return };
    let is_late = found.hints.is_revoked_by_failure(true) && !state.failed_in(found).is_empty();
    if state.failures.take_early(found) || is_late {
        state.revoke(comm);
        collectives::refuse(state, comm);
    }
}

/// Takes a communicator out of the table, with what its collectives keep.
pub fn drop_from_table(state: &mut State, comm: abi::Comm) -> Option<Box<Comm>> {
    let old = state.comms.remove(comm)?;
    collectives::forget(state, &old);
    Some(old)
}

/// Takes a communicator out, whose context ids stay reserved.
pub(super) fn remove_comm(state: &mut State, comm: abi::Comm) -> Option<Box<Comm>> {
    let old = drop_from_table(state, comm)?;
    state.errhandlers.release(old.errhandler);
    collectives::forget_log(state, old.context >> 1, old.context_ids());
    raise(state, COMM_FREED, [comm.0 as i64, old.size() as i64, 0]);
    Some(old)
}
