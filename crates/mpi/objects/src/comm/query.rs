//! Questions about communicators, their names, groups and hints (MPI-5.0 sections 7.4.1, 7.4.4, 7.6.1, 7.8).

use std::ffi::CStr;

use abi::{Error, Result};
use ffi::StrOut;

use crate::domain::Token;

/// `MPI_Comm_size`
pub fn size(t: &mut Token, comm: abi::Comm, size: &mut i32) -> Result<()> {
    *size = t.lock().comm(comm)?.size() as i32;
    Ok(())
}

/// `MPI_Comm_rank`
pub fn rank(t: &mut Token, comm: abi::Comm, rank: &mut i32) -> Result<()> {
    *rank = t.lock().comm(comm)?.rank as i32;
    Ok(())
}

/// `MPI_Comm_test_inter`
pub fn test_inter(t: &mut Token, comm: abi::Comm, flag: &mut i32) -> Result<()> {
    *flag = i32::from(t.lock().comm(comm)?.is_inter());
    Ok(())
}

const NOT_INTER: Error = Error::new(abi::ERR_COMM, "the communicator is not an inter-communicator");

/// `MPI_Comm_remote_size`
pub fn remote_size(t: &mut Token, comm: abi::Comm, size: &mut i32) -> Result<()> {
    *size = t.lock().comm(comm)?.remote.as_ref().ok_or(NOT_INTER)?.size() as i32;
    Ok(())
}

/// `MPI_Comm_group`
pub fn group(t: &mut Token, comm: abi::Comm, group: &mut abi::Group) -> Result<()> {
    let mut state = t.lock();
    let found = state.comm(comm)?.group.clone();
    *group = state.groups.add(found)?;
    Ok(())
}

/// `MPI_Comm_remote_group`
pub fn remote_group(t: &mut Token, comm: abi::Comm, group: &mut abi::Group) -> Result<()> {
    let mut state = t.lock();
    let found = state.comm(comm)?.remote.clone().ok_or(NOT_INTER)?;
    *group = state.groups.add(found)?;
    Ok(())
}

/// `MPI_Comm_compare`
pub fn compare(t: &mut Token, comm1: abi::Comm, comm2: abi::Comm, result: &mut i32) -> Result<()> {
    let state = t.lock();
    let (one, two) = (state.comm(comm1)?, state.comm(comm2)?);
    *result = if comm1 == comm2 {
        abi::IDENT
    } else {
        let locals = one.group.compare(&two.group);
        let all = match (&one.remote, &two.remote) {
            (None, None) => locals,
            (Some(one), Some(two)) => weaker(locals, one.compare(two)),
            _ => abi::UNEQUAL,
        };
        if all == abi::IDENT { abi::CONGRUENT } else { all }
    };
    Ok(())
}

/// Of two comparisons the one that promises less.
fn weaker(one: i32, two: i32) -> i32 {
    match (one, two) {
        (abi::UNEQUAL, _) | (_, abi::UNEQUAL) => abi::UNEQUAL,
        (abi::SIMILAR, _) | (_, abi::SIMILAR) => abi::SIMILAR,
        _ => abi::IDENT,
    }
}

/// `MPI_Comm_set_name`
pub fn set_name(t: &mut Token, comm: abi::Comm, name: &CStr) -> Result<()> {
    t.lock().comms.get_mut(comm)?.name = object_name(name);
    Ok(())
}

/// `MPI_Comm_get_name`; the null handle has a name too (MPI-5.0 section 7.8).
pub fn get_name(t: &mut Token, comm: abi::Comm, mut name: StrOut<'_>) -> Result<()> {
    if comm == abi::COMM_NULL {
        name.set("MPI_COMM_NULL");
        return Ok(());
    }
    name.set(&t.lock().comm(comm)?.name);
    Ok(())
}

/// An object's name, cut to `MPI_MAX_OBJECT_NAME` with its NUL.
pub fn object_name(name: &CStr) -> String {
    let mut text = name.to_string_lossy().into_owned();
    let mut end = text.len().min(abi::MAX_OBJECT_NAME as usize - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// `MPI_Comm_get_info`
pub fn get_info(t: &mut Token, comm: abi::Comm, info: &mut abi::Info) -> Result<()> {
    let mut state = t.lock();
    let hints = state.comm(comm)?.hints.in_force(&state.memory_kinds);
    *info = state.infos.add(hints)?;
    Ok(())
}
