//! Info objects: ordered lists of key and value.

use abi::{Error, Result};

use crate::handle::{self, Kind, Objects};

/// Keys and values in the order in which the keys were first set.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Info {
    pub(crate) entries: Vec<(String, String)>,
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

    pub(crate) fn remove(&mut self, key: &str) -> bool {
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
    pub(crate) slab: Objects<Info>,
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

pub(crate) const INVALID: Error = Error::new(abi::ERR_INFO, "the handle names no info object");
