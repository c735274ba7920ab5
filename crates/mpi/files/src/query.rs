//! Sizes, modes, hints and synchronisation (MPI-5.0 sections 14.2.4 to 14.2.8, 14.6.1).

use std::sync::atomic::Ordering;

use abi::{Error, Result};

use super::{FILES, agree, elsewhere, failed, file_of, staged};
use collectives::gather_words;
use collectives::{Mode, barrier};
use objects::comm::hints::{KINDS, ONLY_KINDS, are_known_kinds};
use objects::domain::Token;
use objects::info::Info;

/// `MPI_File_get_amode`
pub fn get_amode(t: &mut Token, fh: abi::File, amode: &mut i32) -> Result<()> {
    *amode = file_of(&t.lock(), fh)?.amode;
    Ok(())
}

/// `MPI_File_get_group`
pub fn get_group(t: &mut Token, fh: abi::File, group: &mut abi::Group) -> Result<()> {
    let mut state = t.lock();
    let comm = file_of(&state, fh)?.comm;
    let members = state.comm(comm)?.group.clone();
    *group = state.groups.add(members)?;
    Ok(())
}

/// `MPI_File_get_size`, in bytes.
pub fn get_size(t: &mut Token, fh: abi::File, size: &mut i64) -> Result<()> {
    staged::drain(t, fh)?;
    let storage = file_of(&t.lock(), fh)?.storage.clone();
    let known = storage.calls(&t.may_block()).size();
    *size = known.map_err(failed("the size of the file is not known"))? as i64;
    Ok(())
}

/// `MPI_File_set_size`: by rank 0, when all have come.
pub fn set_size(t: &mut Token, fh: abi::File, size: i64) -> Result<()> {
    resize(t, fh, size, |storage, size| storage.set_size(size))
}

/// `MPI_File_preallocate`
pub fn preallocate(t: &mut Token, fh: abi::File, size: i64) -> Result<()> {
    resize(t, fh, size, |storage, size| storage.allocate(size))
}

fn resize(
    t: &mut Token,
    fh: abi::File,
    size: i64,
    change: impl FnOnce(&io::Calls<'_>, u64) -> std::io::Result<()>,
) -> Result<()> {
    staged::drain_together(t, fh)?;
    let (comm, storage, allowed) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        let allowed = match u64::try_from(size) {
            Err(_) => Err(Error::new(abi::ERR_ARG, "the size is negative")),
            Ok(_) if file.amode & abi::MODE_RDONLY != 0 => {
                Err(Error::new(abi::ERR_READ_ONLY, "the file was opened with MPI_MODE_RDONLY"))
            }
            Ok(size) => file.refuse_sequential().map(|()| size),
        };
        (file.comm, file.storage.clone(), allowed)
    };
    let bytes = same(t, comm, allowed, &[size as u64])?;
    let first = t.lock().comm(comm)?.rank == 0;
    let done = match first {
        true => change(&storage.calls(&t.may_block()), bytes)
            .map_err(failed("the system could not change the size of the file")),
        false => Ok(()),
    };
    agree(t, comm, done)
}

/// Gives `mine` if all processes have a value and send the same `words`; a caller waits for all.
///
/// # Errors
/// What one of them had; `MPI_ERR_NOT_SAME`.
pub(super) fn same<T>(t: &mut Token, comm: abi::Comm, mine: Result<T>, words: &[u64]) -> Result<T> {
    let class = mine.as_ref().err().map_or(0, |error| error.class as u64);
    let own: Vec<u64> = [class].iter().chain(words).copied().collect();
    let all = gather_words(t, comm, &own)?;
    let value = mine?;
    if let Some(rank) = all.chunks(own.len()).find(|rank| rank[0] != 0) {
        return Err(elsewhere(rank[0]));
    }
    if all.chunks(own.len()).any(|rank| rank[1..] != *words) {
        return Err(Error::new(abi::ERR_NOT_SAME, "the processes give different arguments"));
    }
    Ok(value)
}

/// `MPI_File_get_info`: every hint, with the value in force.
pub fn get_info(t: &mut Token, fh: abi::File, info: &mut abi::Info) -> Result<()> {
    let mut state = t.lock();
    let file = file_of(&state, fh)?;
    let mut hints: Info = file.hints.list().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let name = file.path.to_string_lossy();
    if name.len() < abi::MAX_INFO_VAL as usize {
        hints.set("filename", &name);
    }
    if let Some(stripes) = file.grain.stripes {
        hints.set("striping_unit", &stripes.unit.to_string());
        hints.set("striping_factor", &stripes.factor.to_string());
    }
    let processes = state.comm(file.comm)?.size();
    hints.set("nb_proc", &processes.to_string());
    hints.set(KINDS, &state.memory_kinds);
    *info = state.infos.add(hints)?;
    Ok(())
}

/// `MPI_File_set_info`: collective; hints on collective access must be the same everywhere.
pub fn set_info(t: &mut Token, fh: abi::File, info: abi::Info) -> Result<()> {
    super::collective::come_after(t, fh);
    staged::drain_together(t, fh)?;
    let (comm, hints) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        let processes = u64::from(state.comm(file.comm)?.size());
        let hints = state.infos.hints(info).map(|info| changed(&file.hints, &info, processes));
        (file.comm, hints)
    };
    let digest = hints.as_ref().map_or(0, io::Hints::digest);
    let hints = same(t, comm, hints, &[digest])?;
    let mut state = t.lock();
    let file = FILES.get_mut(&mut state.tables).get_mut(fh)?;
    // Others may aggregate from now on.
    (file.hints, file.described, file.views) = (hints, false, None);
    Ok(())
}

/// The hints in force after a call on an open file. Where writes are staged is settled when it is opened.
pub(super) fn changed(old: &io::Hints, info: &Info, processes: u64) -> io::Hints {
    io::Hints { staging: old.staging.clone(), ..added(old, info, processes) }
}

/// The hints that those of an info object add to others.
pub(super) fn added(old: &io::Hints, info: &Info, processes: u64) -> io::Hints {
    let mut hints = old.clone();
    let known = |key: &str, value: &str| key != ONLY_KINDS || are_known_kinds(value);
    let taken = info.iter().filter(|(key, value)| known(key, value));
    taken.for_each(|(key, value)| hints.take(key, value, processes));
    hints
}

/// `MPI_File_sync`
pub fn sync(t: &mut Token, fh: abi::File) -> Result<()> {
    staged::drain_together(t, fh)?;
    let (comm, storage, written) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        (file.comm, file.storage.clone(), file.written.clone())
    };
    let done = match written.swap(false, Ordering::Relaxed) {
        true => storage
            .calls(&t.may_block())
            .sync()
            .map_err(failed("the system could not write the file to its device")),
        false => Ok(()),
    };
    let written = staged::outcome(file_of(&t.lock(), fh)?);
    let done = agree(t, comm, written.and(done));
    storage.calls(&t.may_block()).refresh();
    done
}

/// `MPI_File_set_atomicity`
pub fn set_atomicity(t: &mut Token, fh: abi::File, flag: i32) -> Result<()> {
    super::collective::come_after(t, fh);
    staged::drain_together(t, fh)?;
    let (comm, storage) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        (file.comm, file.storage.clone())
    };
    let able = match flag {
        0 => Ok(()),
        _ => storage.calls(&t.may_block()).try_locks().map_err(|_| {
            Error::new(
                abi::ERR_UNSUPPORTED_OPERATION,
                "the file system has no locks, which atomic mode needs",
            )
        }),
    };
    same(t, comm, able, &[u64::from(flag != 0)])?;
    FILES.get_mut(&mut t.lock().tables).get_mut(fh)?.atomic = flag != 0;
    barrier(t, Mode::Own, comm)
}

/// `MPI_File_get_atomicity`
pub fn get_atomicity(t: &mut Token, fh: abi::File, flag: &mut i32) -> Result<()> {
    *flag = i32::from(file_of(&t.lock(), fh)?.atomic);
    Ok(())
}
