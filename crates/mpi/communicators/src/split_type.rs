//! `MPI_Comm_split_type` (MPI-5.0 section 7.4.2): parts by what their processes share.

use abi::{Error, Result};

use super::create::{alike, give_hints, split_by};
use super::sharing;
use collectives::{gather_words, largest};
use objects::domain::Token;
use objects::info::Info;
use objects::resources;
use objects::state::State;

/// `MPI_Comm_split_type`
pub fn split_type(
    t: &mut Token,
    comm: abi::Comm,
    split_type: i32,
    key: i32,
    info: abi::Info,
    new: &mut abi::Comm,
) -> Result<()> {
    alike(t, comm, new, |t| {
        let (color, hints, is_inter) = {
            let state = t.lock();
            let is_inter = state.comm(comm)?.is_inter();
            let hints = state.infos.hints(info)?;
            let color = match split_type {
                abi::COMM_TYPE_SHARED => sharing::colour(&state),
                abi::COMM_TYPE_HW_GUIDED => guided(&state, &hints, false),
                abi::COMM_TYPE_RESOURCE_GUIDED => guided(&state, &hints, true),
                abi::COMM_TYPE_HW_UNGUIDED | abi::UNDEFINED => abi::UNDEFINED,
                _ => return Err(Error::new(abi::ERR_ARG, "no such split type")),
            };
            (color, hints, is_inter)
        };
        let shares = split_type == abi::COMM_TYPE_SHARED
            || split_type != abi::UNDEFINED
                && hints.get(resources::TYPE_KEY) == Some(resources::SHARED_MEMORY);
        let new = match is_inter {
            true => {
                let shared = sharing::colour_between(t, comm, if shares { color } else { abi::UNDEFINED })?;
                split_by(t, comm, shared.unwrap_or(color), key)?
            }
            false if any_unguided(t, comm, split_type)? => unguided(t, comm, split_type, key, info)?,
            false => match split_by(t, comm, color, key)? {
                part if shares && part != abi::COMM_NULL => sharing::narrow(t, part)?,
                part => part,
            },
        };
        give_hints(t, new, &hints)?;
        Ok(new)
    })
}

/// The part that hints ask for (MPI-5.0 section 7.4.2): what shares a type of hardware, or a process set.
fn guided(state: &State, hints: &Info, by_set: bool) -> i32 {
    match (hints.get(resources::TYPE_KEY), hints.get("mpi_pset_name").filter(|_| by_set)) {
        (Some(resources::SHARED_MEMORY), _) => sharing::colour(state),
        (Some(name), _) => resources::colour_of(state, name),
        (None, Some("mpi://WORLD")) => 0,
        (None, Some("mpi://SELF")) => state.me() as i32,
        _ => abi::UNDEFINED,
    }
}

/// Whether the members split by the next smaller part of the hardware. All agree: those that give
/// `MPI_UNDEFINED` cannot know what the others give.
fn any_unguided(t: &mut Token, comm: abi::Comm, split_type: i32) -> Result<bool> {
    Ok(largest(t, comm, u64::from(split_type == abi::COMM_TYPE_HW_UNGUIDED))? == 1)
}

/// Splits by the next smaller part of the hardware, and names the type of that part in `info`.
fn unguided(t: &mut Token, comm: abi::Comm, split_type: i32, key: i32, info: abi::Info) -> Result<abi::Comm> {
    let Some((color, name)) = next_level(t, comm)? else { return Ok(abi::COMM_NULL) };
    if split_type != abi::COMM_TYPE_HW_UNGUIDED {
        return split_by(t, comm, abi::UNDEFINED, key);
    }
    if info != abi::INFO_NULL {
        t.lock().infos.get_mut(info)?.set(resources::TYPE_KEY, &name);
    }
    split_by(t, comm, color, key)
}

/// The colour by which a communicator falls into the largest parts that share hardware and are not all of it, with the
/// type of that hardware; `None` when there are no such parts. Collective.
fn next_level(t: &mut Token, comm: abi::Comm) -> Result<Option<(i32, String)>> {
    let mine = resources::colours(&t.lock());
    let words = mine.map(|colour| u64::from(colour.cast_unsigned()));
    let all = gather_words(t, comm, &words)?;
    let undefined = u64::from(abi::UNDEFINED.cast_unsigned());
    for (level, &colour) in mine.iter().enumerate() {
        let colours = || all.chunks(words.len()).map(|one| one[level]);
        let splits = colours().any(|other| other != words[level]);
        if splits && colours().all(|other| other != undefined) {
            return Ok(Some((colour, resources::name_of(level))));
        }
    }
    Ok(None)
}
