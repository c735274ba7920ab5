//! Packing into and out of the caller's memory (MPI-5.0 sections 5.2 and 5.3). The packed form of `MPI_Pack` is the
//! bytes in pack order, that of `MPI_Pack_external` is external32.

use std::ffi::CStr;

use abi::{Address, Comm, Count, Datatype, Error, Result};
use ffi::CountMut;
use mem::UserMem;

use crate::domain::Token;
use crate::memory::of_user;

/// `MPI_Pack`
pub fn pack(
    t: &mut Token,
    inbuf: Address,
    incount: Count,
    datatype: Datatype,
    outbuf: Address,
    outsize: Count,
    mut position: CountMut<'_>,
    comm: Comm,
) -> Result<()> {
    let state = t.lock();
    state.comm(comm)?;
    let items = state.types.items(inbuf, incount, datatype)?;
    let out = window(outbuf, outsize, position.get())?;
    if items.len > out.len() {
        return Err(Error::new(abi::ERR_TRUNCATE, "the packed data exceed the output buffer"));
    }
    crate::memory::pack(&items, inbuf, out)?;
    position.set(position.get() + items.len as Count);
    Ok(())
}

/// `MPI_Unpack`
pub fn unpack(
    t: &mut Token,
    inbuf: Address,
    insize: Count,
    mut position: CountMut<'_>,
    outbuf: Address,
    outcount: Count,
    datatype: Datatype,
    comm: Comm,
) -> Result<()> {
    let state = t.lock();
    state.comm(comm)?;
    let items = state.types.items(outbuf, outcount, datatype)?;
    let packed = window(inbuf, insize, position.get())?;
    if items.len > packed.len() {
        return Err(Error::new(abi::ERR_TRUNCATE, "the input buffer holds less than is to be unpacked"));
    }
    crate::memory::unpack(packed, &items, outbuf)?;
    position.set(position.get() + items.len as Count);
    Ok(())
}

/// What is left of a packing buffer of `size` bytes at `position`.
fn window(buf: Address, size: Count, position: Count) -> Result<UserMem> {
    let size =
        usize::try_from(size).map_err(|_| Error::new(abi::ERR_ARG, "the size of the buffer is negative"))?;
    let position = usize::try_from(position).ok().filter(|position| *position <= size);
    let position = position.ok_or(Error::new(abi::ERR_ARG, "the position lies outside the buffer"))?;
    if buf.0 == 0 && size > 0 {
        return Err(Error::new(abi::ERR_BUFFER, "the packing buffer is NULL"));
    }
    Ok(of_user(buf, size).part(position, size - position))
}

/// `MPI_Pack_size`: exact, as nothing is added to the data.
pub fn pack_size(
    t: &mut Token,
    incount: Count,
    datatype: Datatype,
    comm: Comm,
    mut size: CountMut<'_>,
) -> Result<()> {
    let state = t.lock();
    state.comm(comm)?;
    let count = items(incount)?;
    size.set(datatype::total_size(state.types.get(datatype)?.size(), count)? as Count);
    Ok(())
}

fn items(count: Count) -> Result<u64> {
    u64::try_from(count).map_err(|_| Error::new(abi::ERR_COUNT, "the count is negative"))
}

/// `MPI_Pack_external`
pub fn pack_external(
    t: &mut Token,
    datarep: &CStr,
    inbuf: Address,
    incount: Count,
    datatype: Datatype,
    outbuf: Address,
    outsize: Count,
    position: &mut Count,
) -> Result<()> {
    external32(datarep)?;
    let state = t.lock();
    let out = window(outbuf, outsize, *position)?;
    let datatype = state.types.get(datatype)?;
    *position += crate::memory::pack_external(datatype, items(incount)?, inbuf, out)? as Count;
    Ok(())
}

/// `MPI_Unpack_external`
pub fn unpack_external(
    t: &mut Token,
    datarep: &CStr,
    inbuf: Address,
    insize: Count,
    position: &mut Count,
    outbuf: Address,
    outcount: Count,
    datatype: Datatype,
) -> Result<()> {
    external32(datarep)?;
    let state = t.lock();
    let packed = window(inbuf, insize, *position)?;
    let datatype = state.types.get(datatype)?;
    *position += crate::memory::unpack_external(packed, datatype, items(outcount)?, outbuf)? as Count;
    Ok(())
}

/// `MPI_Pack_external_size`
pub fn pack_external_size(
    t: &mut Token,
    datarep: &CStr,
    incount: Count,
    datatype: Datatype,
    size: &mut Count,
) -> Result<()> {
    external32(datarep)?;
    *size = datatype::external_size(t.lock().types.get(datatype)?, items(incount)?)? as Count;
    Ok(())
}

/// The only representation that can be packed to.
fn external32(datarep: &CStr) -> Result<()> {
    match datarep.to_bytes() {
        b"external32" => Ok(()),
        _ => Err(Error::new(abi::ERR_ARG, "the data representation is not external32")),
    }
}
