//! Info objects (MPI-5.0 chapter 10): ordered lists of key and value.

use std::ffi::CStr;

use abi::{Error, Result};
use ffi::{StrOut, TextOut};

use crate::domain::Token;
use crate::handle::{self, Kind, Objects};

/// Keys and values in the order in which the keys were first set.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Info {
    entries: Vec<(String, String)>,
}

impl Info {
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    pub fn set(&mut self, key: &str, value: &str) {
        match self.entries.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.entries.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Takes over every entry of `other`.
    pub fn merge(&mut self, other: &Info) {
        other.entries.iter().for_each(|(key, value)| self.set(key, value));
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn remove(&mut self, key: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|(k, _)| k != key);
        self.entries.len() < before
    }
}

impl FromIterator<(String, String)> for Info {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(entries: I) -> Info {
        Info { entries: entries.into_iter().collect() }
    }
}

/// Info objects by handle.
pub struct Infos {
    slab: Objects<Info>,
    /// `MPI_INFO_ENV`; filled by initialisation.
    pub env: Info,
}

impl Infos {
    pub const fn new() -> Infos {
        Infos { slab: Objects::new(), env: Info { entries: Vec::new() } }
    }

    pub fn get(&self, handle: abi::Info) -> Result<&Info> {
        if handle == abi::INFO_ENV {
            return Ok(&self.env);
        }
        handle::key(Kind::Info, handle.0).and_then(|key| self.slab.get(key)).ok_or(INVALID)
    }

    /// As [`Infos::get`], with `MPI_INFO_NULL` as no hints at all.
    pub fn hints(&self, handle: abi::Info) -> Result<Info> {
        if handle == abi::INFO_NULL { Ok(Info::default()) } else { self.get(handle).cloned() }
    }

    pub fn get_mut(&mut self, handle: abi::Info) -> Result<&mut Info> {
        if handle == abi::INFO_ENV {
            return Err(Error::new(abi::ERR_INFO, "MPI_INFO_ENV cannot be changed"));
        }
        handle::key(Kind::Info, handle.0).and_then(|key| self.slab.get_mut(key)).ok_or(INVALID)
    }

    pub fn add(&mut self, info: Info) -> Result<abi::Info> {
        let key = self
            .slab
            .insert(info)
            .map_err(|_| Error::new(abi::ERR_OTHER, "more than 2^20 info objects exist"))?;
        Ok(abi::Info(handle::make(Kind::Info, key)))
    }
}

const INVALID: Error = Error::new(abi::ERR_INFO, "the handle names no info object");

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
