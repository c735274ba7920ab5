//! The calls on info objects (MPI-5.0 chapter 10).

use std::ffi::CStr;

use abi::{Error, Result};
use ffi::{StrOut, TextOut};

use crate::domain::Token;
use crate::handle::{self, Kind};
use crate::tables::infos::INVALID;

pub use crate::tables::infos::Info;

/// A key as text, checked for length (MPI-5.0 section 10.1: at most `MPI_MAX_INFO_KEY` with the NUL).
fn key_text(key: &CStr) -> Result<String> {
    let text = trimmed(key);
    if text.is_empty() || text.len() >= abi::MAX_INFO_KEY as usize {
        return Err(Error::new(abi::ERR_INFO_KEY, "the info key is empty or too long"));
    }
    Ok(text)
}

fn trimmed(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

/// `MPI_Info_create`
pub fn create(t: &mut Token, info: &mut abi::Info) -> Result<()> {
    *info = t.lock().infos.add(Info::default())?;
    Ok(())
}

/// `MPI_Info_dup`
pub fn dup(t: &mut Token, info: abi::Info, new: &mut abi::Info) -> Result<()> {
    let mut state = t.lock();
    let copy = state.infos.get(info)?.clone();
    *new = state.infos.add(copy)?;
    Ok(())
}

/// `MPI_Info_free`
pub fn free(t: &mut Token, info: &mut abi::Info) -> Result<()> {
    let mut state = t.lock();
    state.infos.get_mut(*info)?;
    handle::key(Kind::Info, info.0).and_then(|key| state.infos.slab.remove(key)).ok_or(INVALID)?;
    *info = abi::INFO_NULL;
    Ok(())
}

/// `MPI_Info_set`
pub fn set(t: &mut Token, info: abi::Info, key: &CStr, value: &CStr) -> Result<()> {
    let mut state = t.lock();
    let object = state.infos.get_mut(info)?;
    let key = key_text(key)?;
    if value.count_bytes() >= abi::MAX_INFO_VAL as usize {
        return Err(Error::new(abi::ERR_INFO_VALUE, "the info value is too long"));
    }
    object.set(&key, &trimmed(value));
    Ok(())
}

/// `MPI_Info_delete`
pub fn delete(t: &mut Token, info: abi::Info, key: &CStr) -> Result<()> {
    let mut state = t.lock();
    let object = state.infos.get_mut(info)?;
    if !object.remove(&key_text(key)?) {
        return Err(Error::new(abi::ERR_INFO_NOKEY, "the info object has no such key"));
    }
    Ok(())
}

/// `MPI_Info_get` (deprecated)
pub fn get(
    t: &mut Token,
    info: abi::Info,
    key: &CStr,
    _valuelen: i32,
    mut value: StrOut<'_>,
    flag: &mut i32,
) -> Result<()> {
    let state = t.lock();
    let found = state.infos.get(info)?.get(&key_text(key)?);
    *flag = i32::from(found.is_some());
    if let Some(found) = found {
        value.set(found);
    }
    Ok(())
}

/// `MPI_Info_get_string`
pub fn get_string(
    t: &mut Token,
    info: abi::Info,
    key: &CStr,
    mut value: TextOut<'_>,
    flag: &mut i32,
) -> Result<()> {
    let state = t.lock();
    let found = state.infos.get(info)?.get(&key_text(key)?);
    *flag = i32::from(found.is_some());
    if let Some(found) = found {
        value.set(found);
    }
    Ok(())
}

/// `MPI_Info_get_valuelen` (deprecated)
pub fn get_valuelen(
    t: &mut Token,
    info: abi::Info,
    key: &CStr,
    valuelen: &mut i32,
    flag: &mut i32,
) -> Result<()> {
    let state = t.lock();
    let found = state.infos.get(info)?.get(&key_text(key)?);
    *flag = i32::from(found.is_some());
    if let Some(found) = found {
        *valuelen = found.len() as i32;
    }
    Ok(())
}

/// `MPI_Info_get_nkeys`
pub fn get_nkeys(t: &mut Token, info: abi::Info, nkeys: &mut i32) -> Result<()> {
    *nkeys = t.lock().infos.get(info)?.entries.len() as i32;
    Ok(())
}

/// `MPI_Info_get_nthkey`
pub fn get_nthkey(t: &mut Token, info: abi::Info, n: i32, mut key: StrOut<'_>) -> Result<()> {
    let state = t.lock();
    let entries = &state.infos.get(info)?.entries;
    let found = usize::try_from(n).ok().and_then(|n| entries.get(n));
    let (found, _) = found.ok_or(Error::new(abi::ERR_ARG, "the info object has fewer keys"))?;
    key.set(found);
    Ok(())
}
