//! Rows of the tables by what they stand for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use interpose::Index;
use interpose::shared::{self, Table};

use crate::tables::{BINS, PAIRS, SITES, at, site};

/// Rows of each table by key: this process's own, since several programs may write into the tables one after the other, and what
/// a reader finds there need not be searched.
static SITE_INDEX: Index<8192> = Index::new();
static BIN_INDEX: Index<4096> = Index::new();
static PAIR_INDEX: Index<8192> = Index::new();

/// Held while a row is added.
static ADDING: Mutex<()> = Mutex::new(());

/// The row of the calls of `function` that return to `address`.
#[inline]
pub fn site(words: &[AtomicU64], address: usize, function: usize) -> Option<usize> {
    // Addresses of user space have 47 bits.
    let key = (address as u64 & 0xffff_ffff_ffff) | ((function as u64 + 1) << 48);
    SITE_INDEX.find(key).or_else(|| add(&SITE_INDEX, key, || new_site(words, address, function)))
}

/// The row of the calls of `function` with these classes of size.
#[inline]
pub fn bin(words: &[AtomicU64], function: usize, comm: u8, size: u8) -> Option<usize> {
    let key = ((function as u64 + 1) << 32) | (u64::from(comm) << 8) | u64::from(size);
    BIN_INDEX.find(key).or_else(|| add(&BIN_INDEX, key, || row_of(words, &BINS, key)))
}

/// The row of what is sent to `peer`.
#[inline]
pub fn pair(words: &[AtomicU64], peer: u32) -> Option<usize> {
    let key = u64::from(peer) + 1;
    PAIR_INDEX.find(key).or_else(|| add(&PAIR_INDEX, key, || row_of(words, &PAIRS, key)))
}

#[cold]
fn add<const N: usize>(index: &Index<N>, key: u64, row: impl FnOnce() -> Option<usize>) -> Option<usize> {
    let _guard = ADDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // Another thread may have added it meanwhile.
    index.find(key).or_else(|| row().filter(|&row| index.insert(key, row)))
}

/// The row whose first word is `key`; a new one where there is none.
fn row_of(words: &[AtomicU64], table: &Table, key: u64) -> Option<usize> {
    let known = (0..table.len(words)).find(|&row| table.row(words, row)[0].load(Relaxed) == key);
    known.or_else(|| table.append(words, |row| row[0].store(key, Relaxed)))
}

fn new_site(words: &[AtomicU64], address: usize, function: usize) -> Option<usize> {
    let (module, offset) = shared::module_of(words, address);
    let key = ((function as u64 + 1) << 32) | module;
    let is_it = |row: &usize| {
        let row = SITES.row(words, *row);
        row[site::KEY].load(Relaxed) == key && row[site::OFFSET].load(Relaxed) == offset
    };
    (0..SITES.len(words)).find(is_it).or_else(|| {
        SITES.append(words, |row| {
            row[site::KEY].store(key, Relaxed);
            row[site::OFFSET].store(offset, Relaxed);
            for sum in [site::TIME, site::SENT, site::MOVED] {
                row[sum + 2].store(u64::MAX, Relaxed);
            }
        })
    })
}

/// Forgets all counts, and keeps places.
pub fn reset(words: &[AtomicU64]) {
    let clear = |table: &Table, from: usize| {
        for row in 0..table.len(words) {
            table.row(words, row)[from..].iter().for_each(|word| word.store(0, Relaxed));
        }
    };
    clear(&SITES, site::TIME);
    for row in 0..SITES.len(words) {
        for sum in [site::TIME, site::SENT, site::MOVED] {
            SITES.row(words, row)[sum + 2].store(u64::MAX, Relaxed);
        }
    }
    clear(&BINS, 1);
    clear(&PAIRS, 1);
    for word in [at::LOST, at::LOST_TIME, at::APP_TIME] {
        words[word].store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_one_row_and_its_module() {
        let words: Vec<AtomicU64> = (0..crate::tables::WORDS).map(|_| AtomicU64::new(0)).collect();
        let here = a_site_has_one_row_and_its_module as fn() as usize;
        let row = site(&words, here, 3).expect("there is room");
        assert_eq!(site(&words, here, 3), Some(row));
        assert_ne!(site(&words, here, 4), Some(row));
        assert_eq!(SITES.len(&words), 2);
        assert_eq!(shared::MODULES.len(&words), 1);
    }
}
