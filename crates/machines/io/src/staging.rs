//! Where written data waits until it is in the file; how hints and parameters set that.

use std::path::PathBuf;
use std::sync::Arc;

use mca::Type;

use crate::log::Log;
use crate::stage::Stage;

/// Where written data waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Where {
    /// Nowhere: a write returns when the file system has the data.
    #[default]
    Off,
    /// In memory of the process that writes.
    Memory,
    /// In a file without a name in this folder of the host.
    Folder(PathBuf),
}

impl Where {
    /// Reads `off`, `memory` or a folder's absolute path.
    pub fn parse(text: &str) -> Option<Where> {
        match text.trim() {
            "off" | "disable" | "false" => Some(Where::Off),
            "memory" => Some(Where::Memory),
            path if path.starts_with('/') => Some(Where::Folder(PathBuf::from(path))),
            _ => None,
        }
    }

    /// What [`Where::parse`] reads.
    pub fn word(&self) -> String {
        match self {
            Where::Off => "off".to_owned(),
            Where::Memory => "memory".to_owned(),
            Where::Folder(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// Where written data waits, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staging {
    /// Where data waits.
    pub place: Where,
    /// Bytes at most, of each process and file.
    pub limit: u64,
}

impl Default for Staging {
    fn default() -> Staging {
        Staging { place: Where::Off, limit: 64 << 20 }
    }
}

/// The least limit: less is not worth a thread.
const LEAST: u64 = 64 << 10;
/// The largest limit.
const MOST: u64 = 1 << 40;

impl Staging {
    /// Reads a limit in bytes, with a suffix or without.
    pub(crate) fn parse_limit(text: &str) -> Option<u64> {
        mca::Size::parse(text.trim()).map(|bytes| bytes as u64).filter(|bytes| (LEAST..=MOST).contains(bytes))
    }

    /// Whether data waits at all.
    pub(crate) fn is_on(&self) -> bool {
        self.place != Where::Off
    }

    /// The stage of a file. A folder in which nothing can be written leaves the data in memory; [`Staging::place`] is
    /// [`Where::Memory`] then.
    pub fn stage(&mut self) -> Option<Arc<Stage>> {
        let log = match &self.place {
            Where::Off => return None,
            Where::Memory => None,
            Where::Folder(folder) => Log::create(folder, self.limit).ok(),
        };
        if log.is_none() {
            self.place = Where::Memory;
        }
        Some(Arc::new(Stage::new(self.limit, log)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_limits_are_read() {
        for (text, place) in
            [("off", Where::Off), (" memory ", Where::Memory), ("/tmp", Where::Folder("/tmp".into()))]
        {
            assert_eq!(Where::parse(text), Some(place.clone()));
            assert_eq!(Where::parse(&place.word()), Some(place));
        }
        assert_eq!(Where::parse("tmp"), None);
        assert_eq!(Staging::parse_limit("1M"), Some(1 << 20));
        assert_eq!(Staging::parse_limit("1k"), None);
        let mut nowhere = Staging { place: Where::Folder("/no/such/folder".into()), ..Staging::default() };
        assert!(nowhere.stage().is_some());
        assert_eq!(nowhere.place, Where::Memory);
    }
}
