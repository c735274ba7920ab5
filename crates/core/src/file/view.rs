//! Views and individual pointers (MPI-5.0 sections 14.3 and 14.4.3).

use std::ffi::CStr;
use std::sync::Arc;

use abi::{Error, Result};
use datatype::Datatype;
use ffi::StrOut;
use io::View;

use super::query::{added, same};
use super::{File, failed};
use crate::coll::{Mode, barrier};
use crate::domain::Token;

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
    let (comm, new) = {
        let state = t.lock();
        let file = state.file(fh)?;
        let processes = u64::from(state.comm(file.comm)?.size());
        let types =
            committed(&state.types, etype).and_then(|etype| Ok((etype, committed(&state.types, filetype)?)));
        let new = types.and_then(|(etype, filetype)| {
            native(datarep)?;
            let disp = displacement(file, disp)?;
            let view = View::new(disp, &etype, &filetype)?;
            let hints = added(&file.hints, &state.infos.hints(info)?, processes);
            Ok((disp, etype, filetype, view, hints))
        });
        (file.comm, new)
    };
    let (extent, digest) = new.as_ref().map_or((0, 0), |new| (new.1.extent() as u64, new.4.digest()));
    let (disp, etype, filetype, view, hints) = same(t, comm, new, &[extent, digest])?;
    {
        let mut state = t.lock();
        let first = state.comm(comm)?.rank == 0;
        let file = state.files.get_mut(fh)?;
        (file.displacement, file.etype, file.filetype) = (disp, etype, filetype);
        (file.view, file.hints, file.offset) = (Arc::new(view), hints, 0);
        if first {
            file.shared.set(0);
        }
    }
    barrier(t, Mode::Blocking, comm)
}

fn committed(types: &crate::datatype::Types, handle: abi::Datatype) -> Result<Arc<Datatype>> {
    let datatype = types.get(handle)?;
    if !datatype.is_committed() && !datatype.is_predefined() {
        return Err(Error::new(abi::ERR_TYPE, "the datatype is not committed"));
    }
    Ok(datatype.clone())
}

fn native(datarep: &CStr) -> Result<()> {
    match datarep.to_bytes() {
        b"native" | b"internal" => Ok(()),
        _ => Err(Error::new(abi::ERR_UNSUPPORTED_DATAREP, "the data representation is not known")),
    }
}

/// Where the view begins, in bytes of the file.
fn displacement(file: &File, disp: i64) -> Result<i64> {
    match (disp, file.is_sequential()) {
        (abi::DISPLACEMENT_CURRENT, true) => {
            let position = file.view.position_of(file.shared.get()?)?;
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
    let file = state.file(fh)?;
    let types = (file.etype.clone(), file.filetype.clone());
    *disp = file.displacement;
    datarep.set("native");
    *etype = state.types.add(types.0)?;
    *filetype = state.types.add(types.1)?;
    Ok(())
}

/// `MPI_File_seek`
pub fn seek(t: &mut Token, fh: abi::File, offset: i64, whence: i32) -> Result<()> {
    let mut state = t.lock();
    let file = state.files.get_mut(fh)?;
    file.refuse_sequential()?;
    file.offset = sought(file, file.offset, offset, whence)?;
    Ok(())
}

/// Where a pointer that is at `now` goes.
pub(super) fn sought(file: &File, now: i64, offset: i64, whence: i32) -> Result<i64> {
    let from = match whence {
        abi::SEEK_SET => 0,
        abi::SEEK_CUR => now,
        abi::SEEK_END => {
            let size = file.storage.size().map_err(failed("the size of the file is not known"))?;
            file.view.offset_at(size)
        }
        _ => return Err(Error::new(abi::ERR_ARG, "there is no such way to seek")),
    };
    let target = from.checked_add(offset).ok_or(Error::new(abi::ERR_ARG, "the offset exceeds 63 bits"))?;
    file.view.position_of(target)?;
    Ok(target)
}

/// `MPI_File_get_position`
pub fn get_position(t: &mut Token, fh: abi::File, offset: &mut i64) -> Result<()> {
    let state = t.lock();
    let file = state.file(fh)?;
    file.refuse_sequential()?;
    *offset = file.offset;
    Ok(())
}

/// `MPI_File_get_byte_offset`
pub fn get_byte_offset(t: &mut Token, fh: abi::File, offset: i64, disp: &mut i64) -> Result<()> {
    let state = t.lock();
    let file = state.file(fh)?;
    *disp = file.view.place_of(file.view.position_of(offset)?) as i64;
    Ok(())
}

/// `MPI_File_get_type_extent`
pub fn get_type_extent(
    t: &mut Token,
    fh: abi::File,
    datatype: abi::Datatype,
    extent: &mut i64,
) -> Result<()> {
    let state = t.lock();
    state.file(fh)?;
    *extent = state.types.get(datatype)?.extent();
    Ok(())
}
