//! Sessions (MPI-5.0 section 11.3): MPI without `MPI_Init`, by process sets.

use std::ffi::CStr;
use std::sync::Arc;

use abi::{Error, Result};
use ffi::TextOut;

use crate::facts::FACTS;
use objects::buffer_pool::BufferPool;
use objects::comm::hints;
use objects::domain::Token;
use objects::errhandler::ErrhandlerKind;
use objects::group::Group;
use objects::info::Info;
use objects::sessions::{SETS, Session};
use objects::state::State;

/// `MPI_Session_init`: joins the job if the process has not yet.
pub fn init(
    t: &mut Token,
    info: abi::Info,
    errhandler: abi::Errhandler,
    session: &mut abi::Session,
) -> Result<()> {
    let given = t.lock().infos.hints(info)?;
    let level = match given.get("thread_level") {
        Some("MPI_THREAD_SINGLE") => abi::THREAD_SINGLE,
        Some("MPI_THREAD_FUNNELED") => abi::THREAD_FUNNELED,
        Some("MPI_THREAD_SERIALIZED") => abi::THREAD_SERIALIZED,
        // Sessions of different libraries need not know of each other.
        _ => abi::THREAD_MULTIPLE,
    };
    let provided = crate::env::start(t, level)?;
    let handler = objects::errhandler::initial(t, errhandler, ErrhandlerKind::Session)?;
    let mut info = given;
    info.set("thread_level", level_name(provided));
    let kinds = hints::kinds_for(info.get(hints::KINDS));
    info.set(hints::KINDS, &kinds);
    let mut state = t.lock();
    let sets = sets(&state, None);
    let new = Session { errhandler: handler, buffer: BufferPool::default(), info, sets };
    *session = state.sessions.add(new)?;
    state.errhandlers.acquire(handler);
    let sets = self::sets(&state, Some(*session));
    state.sessions.get_mut(*session)?.sets = sets;
    Ok(())
}

/// The groups of [`SETS`], as they come from a session.
fn sets(state: &State, session: Option<abi::Session>) -> [Arc<Group>; SETS.len()] {
    let me = state.me();
    let world = state.world.as_ref().map_or_else(|| [me].into(), |world| world.group.peers());
    [world, [me].into()].map(|peers| Arc::new(Group::new(peers, me).of_session(session)))
}

pub(crate) fn level_name(level: i32) -> &'static str {
    match level {
        abi::THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        abi::THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        abi::THREAD_MULTIPLE => "MPI_THREAD_MULTIPLE",
        _ => "MPI_THREAD_SINGLE",
    }
}

/// `MPI_Session_finalize`: the last session leaves the job, unless the world model still runs.
pub fn finalize(t: &mut Token, session: &mut abi::Session) -> Result<()> {
    messages::buffer::flush(t, messages::buffer::BufferOwner::Session(*session))?;
    let last = {
        let mut state = t.lock();
        let old = state.sessions.remove(*session)?;
        state.errhandlers.release(old.errhandler);
        state.sessions.is_empty() && (!FACTS.is_initialized() || FACTS.is_finalized())
    };
    *session = abi::SESSION_NULL;
    if last {
        crate::env::leave(t);
    }
    Ok(())
}

/// `MPI_Session_get_info`
pub fn get_info(t: &mut Token, session: abi::Session, info: &mut abi::Info) -> Result<()> {
    let mut state = t.lock();
    let hints = state.sessions.get(session)?.info.clone();
    *info = state.infos.add(hints)?;
    Ok(())
}

/// `MPI_Session_get_num_psets`
pub fn get_num_psets(t: &mut Token, session: abi::Session, info: abi::Info, count: &mut i32) -> Result<()> {
    let state = t.lock();
    state.sessions.get(session)?;
    state.infos.hints(info)?;
    *count = SETS.len() as i32;
    Ok(())
}

/// `MPI_Session_get_nth_pset`
pub fn get_nth_pset(
    t: &mut Token,
    session: abi::Session,
    info: abi::Info,
    n: i32,
    mut name: TextOut<'_>,
) -> Result<()> {
    let state = t.lock();
    state.sessions.get(session)?;
    state.infos.hints(info)?;
    let found = usize::try_from(n).ok().and_then(|n| SETS.get(n));
    name.set(found.ok_or(Error::new(abi::ERR_ARG, "the session has fewer process sets"))?);
    Ok(())
}

fn known(name: &CStr) -> Result<usize> {
    let name = name.to_string_lossy();
    let found = SETS.iter().position(|set| set.eq_ignore_ascii_case(&name));
    found.ok_or(Error::new(abi::ERR_ARG, "the session has no process set of that name"))
}

/// `MPI_Session_get_pset_info`
pub fn get_pset_info(t: &mut Token, session: abi::Session, name: &CStr, info: &mut abi::Info) -> Result<()> {
    let mut state = t.lock();
    state.sessions.get(session)?;
    let size = match known(name)? {
        0 => state.world.as_ref().map_or(1, |world| world.job.size),
        _ => 1,
    };
    let mut facts = Info::default();
    facts.set("mpi_size", &size.to_string());
    *info = state.infos.add(facts)?;
    Ok(())
}

/// `MPI_Group_from_session_pset`
pub fn group_from_pset(
    t: &mut Token,
    session: abi::Session,
    name: &CStr,
    group: &mut abi::Group,
) -> Result<()> {
    let mut state = t.lock();
    let found = Arc::clone(&state.sessions.get(session)?.sets[known(name)?]);
    *group = state.groups.add(found)?;
    Ok(())
}
