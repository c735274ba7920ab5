//! The files that a rank's addresses lie in: program and shared objects.
//!
//! ```text
//!   │ count │ bytes of paths │ HEADS x [ load bias │ first │ end │ build-id 3 │ path: from, length │ - ] │ paths 4 KiB │
//! ```
//! A module is written before it is counted. What finds no place is not there; its addresses have no name.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::text;

/// Modules of a rank at most.
const HEADS: usize = 48;
const HEAD: usize = 8;
const COUNTS: usize = 2;
const PATHS: usize = 512;

pub const WORDS: usize = COUNTS + HEADS * HEAD + PATHS;

/// A program or shared object as a rank has loaded it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// Its file, as the rank's mount namespace names it.
    pub path: PathBuf,
    /// Its build-id; empty where it has none.
    pub build_id: Vec<u8>,
    /// What the loader has added to the addresses of the file.
    pub bias: u64,
    /// The addresses that it occupies.
    pub range: Range<u64>,
}

/// Where an address lies, whatever process it is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleOffset<'m> {
    /// The file.
    pub module: &'m Module,
    /// The address as the file has it.
    pub offset: u64,
}

/// The modules of a rank.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Modules(Vec<Module>);

impl Modules {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.0.iter()
    }

    /// Where `address` lies; `None`: in none that the rank has written. An object that was loaded where another one was
    /// before is taken for that one; the build-id of the file then tells.
    pub fn place_of(&self, address: u64) -> Option<ModuleOffset<'_>> {
        let module = self.0.iter().find(|module| module.range.contains(&address))?;
        Some(ModuleOffset { module, offset: address.wrapping_sub(module.bias) })
    }
}

/// Writes the module that `address` lies in, unless it is there.
pub fn note(words: &[AtomicU64], address: u64) {
    let count = (words[0].load(Relaxed) as usize).min(HEADS);
    let is_there = (0..count).any(|index| {
        let head = &words[COUNTS + index * HEAD..][..HEAD];
        (head[1].load(Relaxed)..head[2].load(Relaxed)).contains(&address)
    });
    if is_there || count == HEADS {
        return;
    }
    let Some(loaded) = platform::image::module_at(address) else { return };
    let from = words[1].load(Relaxed) as usize;
    let path = loaded.path.as_os_str().as_encoded_bytes();
    // Each path begins with a word of its own.
    let length = path.len().div_ceil(8);
    let paths = &words[COUNTS + HEADS * HEAD..];
    let Some(place) = paths.get(from..from + length) else { return };
    text::write(place, path);
    let head = &words[COUNTS + count * HEAD..][..HEAD];
    head[0].store(loaded.bias, Relaxed);
    head[1].store(loaded.range.start, Relaxed);
    head[2].store(loaded.range.end, Relaxed);
    let mut id = loaded.build_id;
    id.truncate(20);
    let mut id_words = vec![id.len() as u8];
    id_words.extend_from_slice(&id);
    text::write(&head[3..6], &id_words);
    head[6].store((from as u64) << 32 | path.len() as u64, Relaxed);
    words[1].store((from + length) as u64, Relaxed);
    // Release: pairs with the Acquire of a reader, which then sees the module.
    words[0].store(count as u64 + 1, Release);
}

/// The modules in the words.
pub fn all(words: &[AtomicU64]) -> Modules {
    let count = (words[0].load(Acquire) as usize).min(HEADS);
    Modules((0..count).map(|index| read(words, index)).collect())
}

fn read(words: &[AtomicU64], index: usize) -> Module {
    let head = &words[COUNTS + index * HEAD..][..HEAD];
    let id = text::bytes(&head[3..6]);
    let length = usize::from(id[0]).min(20);
    let place = head[6].load(Relaxed);
    let (from, bytes) = ((place >> 32) as usize, (place as u32 as usize).min(PATHS * 8));
    let paths = &words[COUNTS + HEADS * HEAD..];
    let path = paths.get(from..(from + bytes.div_ceil(8)).min(PATHS)).unwrap_or_default();
    let mut path = text::bytes(path);
    path.truncate(bytes);
    Module {
        path: PathBuf::from(String::from_utf8_lossy(&path).into_owned()),
        build_id: id[1..=length].to_vec(),
        bias: head[0].load(Relaxed),
        range: head[1].load(Relaxed)..head[2].load(Relaxed),
    }
}

#[cfg(test)]
mod tests {
    use super::{WORDS, all, note};
    use proptest::prelude::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn an_address_has_the_program_as_its_module() {
        let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let here = an_address_has_the_program_as_its_module as *const () as u64;
        [here, here + 1, 8].into_iter().for_each(|address| note(&words, address));
        let modules = all(&words);
        assert_eq!(modules.iter().count(), 1);
        let place = modules.place_of(here).unwrap();
        assert_eq!(place.module.path, std::env::current_exe().unwrap());
        assert_eq!(place.offset, here - place.module.bias);
        assert!(modules.place_of(8).is_none());
    }

    proptest! {
        #[test]
        fn no_module_is_believed(rubbish in proptest::collection::vec(any::<u64>(), WORDS)) {
            let words: Vec<AtomicU64> = rubbish.into_iter().map(AtomicU64::new).collect();
            let _ = all(&words).place_of(4096);
        }
    }
}
