//! Views and individual pointers (MPI-5.0 sections 14.3 and 14.4.3).

use std::ffi::CStr;
use std::sync::Arc;

use abi::{Error, Result};
use datatype::Datatype;
use ffi::StrOut;
use io::View;

use super::datarep::Representation;
use super::query::{changed, same};
use super::{FILES, File, failed, file_of, staged};
use collectives::{Mode, barrier};
use objects::domain::Token;
use objects::state::State;

/// `MPI_File_set_view`
pub fn set_view(
    t: &mut Token,
    fh: abi::File,
    disp: i64,
    etype: abi::Datatype,
    filetype: abi::Datatype,
    datarep: &CStr,
    info: abi::Info,
) -> Result<()> {
    file_of(&t.lock(), fh)?;
    super::collective::come_after(t, fh);
    // Only sequential files ask where they are.
    let now = if disp == abi::DISPLACEMENT_CURRENT { super::shared::current(t, fh) } else { Ok(0) };
    let (comm, given) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        (file.comm, Given::of(&state, file, now, disp, etype, filetype, datarep, info))
    };
    // With other aggregators, writes of a byte would not stay in order.
    let regrouped = match &given {
        Ok(given) => file_of(&t.lock(), fh)?.hints != given.hints,
        Err(_) => false,
    };
    if regrouped {
        staged::drain_together(t, fh)?;
    }
    let new = given.and_then(|given| {
        View::check_whole(&given.etype, &given.filetype)?;
        let there = given.representation.of(t, &given.etype)?;
        let filetype = given.representation.of(t, &given.filetype)?;
        let view = View::new(given.displacement, &there, &filetype)?;
        view.check_order(&there, given.writable)?;
        Ok((given, there.extent() as u64, view))
    });
    let words = match &new {
        Ok((given, extent, _)) => [*extent, given.hints.digest(), given.representation.digest()],
        Err(_) => [0; 3],
    };
    let (given, _, view) = same(t, comm, new, &words)?;
    {
        let mut state = t.lock();
        let first = state.comm(comm)?.rank == 0;
        let file = FILES.get_mut(&mut state.tables).get_mut(fh)?;
        (file.displacement, file.etype, file.filetype) = (given.displacement, given.etype, given.filetype);
        (file.hints, file.representation) = (given.hints, given.representation);
        (file.view, file.offset) = (Arc::new(view), 0);
        (file.described, file.views) = (false, None);
        if first {
            file.shared.set(0);
        }
    }
    barrier(t, Mode::Own, comm)
}

/// The arguments of a new view, found right.
struct Given {
    displacement: i64,
    etype: Arc<Datatype>,
    filetype: Arc<Datatype>,
    representation: Representation,
    hints: io::Hints,
    /// The file is opened for writing.
    writable: bool,
}

impl Given {
    fn of(
        state: &State,
        file: &File,
        now: Result<i64>,
        disp: i64,
        etype: abi::Datatype,
        filetype: abi::Datatype,
        datarep: &CStr,
        info: abi::Info,
    ) -> Result<Given> {
        let processes = u64::from(state.comm(file.comm)?.size());
        Ok(Given {
            etype: committed(&state.types, etype)?,
            filetype: committed(&state.types, filetype)?,
            representation: FILES.get(&state.tables).datareps.find(datarep)?,
            displacement: displacement(file, now, disp)?,
            hints: changed(&file.hints, &state.infos.hints(info)?, processes),
            writable: file.amode & abi::MODE_RDONLY == 0,
        })
    }
}

fn committed(types: &objects::datatype::Types, handle: abi::Datatype) -> Result<Arc<Datatype>> {
    let datatype = types.get(handle)?;
    if !datatype.is_committed() && !datatype.is_predefined() {
        return Err(Error::new(abi::ERR_TYPE, "the datatype is not committed"));
    }
    Ok(datatype.clone())
}

/// Where the view begins, in bytes of the file.
fn displacement(file: &File, now: Result<i64>, disp: i64) -> Result<i64> {
    match (disp, file.is_sequential()) {
        (abi::DISPLACEMENT_CURRENT, true) => {
            let position = file.view.position_of(now?)?;
            Ok(file.view.place_of(position) as i64)
        }
        (_, true) => Err(Error::new(
            abi::ERR_ARG,
            "a file opened with MPI_MODE_SEQUENTIAL needs MPI_DISPLACEMENT_CURRENT",
        )),
        (abi::DISPLACEMENT_CURRENT, false) => {
            Err(Error::new(abi::ERR_ARG, "MPI_DISPLACEMENT_CURRENT needs MPI_MODE_SEQUENTIAL"))
        }
        (disp, false) => Ok(disp),
    }
}

/// `MPI_File_get_view`: derived types come as new handles, to be freed.
pub fn get_view(
    t: &mut Token,
    fh: abi::File,
    disp: &mut i64,
    etype: &mut abi::Datatype,
    filetype: &mut abi::Datatype,
    mut datarep: StrOut<'_>,
) -> Result<()> {
    let mut state = t.lock();
    let file = file_of(&state, fh)?;
    let types = (file.etype.clone(), file.filetype.clone());
    *disp = file.displacement;
    datarep.set(file.representation.name());
    *etype = state.types.add(types.0)?;
    *filetype = state.types.add(types.1)?;
    Ok(())
}

/// `MPI_File_seek`
pub fn seek(t: &mut Token, fh: abi::File, offset: i64, whence: i32) -> Result<()> {
    let end = end_for(t, fh, whence)?;
    let mut state = t.lock();
    let file = FILES.get_mut(&mut state.tables).get_mut(fh)?;
    file.refuse_sequential()?;
    file.offset = sought(file, file.offset, offset, whence, end)?;
    Ok(())
}

/// Bytes in the file, if `whence` counts from its end.
pub(super) fn end_for(t: &mut Token, fh: abi::File, whence: i32) -> Result<Option<u64>> {
    if whence != abi::SEEK_END {
        return Ok(None);
    }
    staged::drain(t, fh)?;
    let storage = file_of(&t.lock(), fh)?.storage.clone();
    let size = storage.calls(&t.may_block()).size();
    size.map(Some).map_err(failed("the size of the file is not known"))
}

/// Where a pointer that is at `now` goes; `end`: as [`end_for`] has found it.
pub(super) fn sought(file: &File, now: i64, offset: i64, whence: i32, end: Option<u64>) -> Result<i64> {
    let from = match whence {
        abi::SEEK_SET => 0,
        abi::SEEK_CUR => now,
        abi::SEEK_END => file.view.offset_at(end.unwrap_or(0)),
        _ => return Err(Error::new(abi::ERR_ARG, "there is no such way to seek")),
    };
    let target = from.checked_add(offset).ok_or(Error::new(abi::ERR_ARG, "the offset exceeds 63 bits"))?;
    file.view.position_of(target)?;
    Ok(target)
}

/// `MPI_File_get_position`
pub fn get_position(t: &mut Token, fh: abi::File, offset: &mut i64) -> Result<()> {
    let state = t.lock();
    let file = file_of(&state, fh)?;
    file.refuse_sequential()?;
    *offset = file.offset;
    Ok(())
}

/// `MPI_File_get_byte_offset`
pub fn get_byte_offset(t: &mut Token, fh: abi::File, offset: i64, disp: &mut i64) -> Result<()> {
    let state = t.lock();
    let file = file_of(&state, fh)?;
    let place = file.view.place_of(file.view.position_of(offset)?);
    *disp = i64::try_from(place)
        .map_err(|_| Error::new(abi::ERR_ARG, "the offset lies behind all bytes that a file can have"))?;
    Ok(())
}

/// `MPI_File_get_type_extent`
pub fn get_type_extent(
    t: &mut Token,
    fh: abi::File,
    datatype: abi::Datatype,
    extent: &mut i64,
) -> Result<()> {
    let (representation, datatype) = {
        let state = t.lock();
        (file_of(&state, fh)?.representation.clone(), state.types.get(datatype)?.clone())
    };
    *extent = representation.of(t, &datatype)?.extent();
    Ok(())
}
