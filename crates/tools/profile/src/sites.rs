//! Rows of the tables by what they stand for.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use interpose::shared::{Place, Table};
use interpose::{Index, key_of_call};

use crate::tables::{BINS, PAIRS, SITES, at, site};

/// Rows of each table by key: this process's own, since several programs may write into the tables one after the other, and what
/// a reader finds there need not be searched.
static SITE_INDEX: Index<8192> = Index::new();
static BIN_INDEX: Index<4096> = Index::new();
static PAIR_INDEX: Index<8192> = Index::new();

/// The row of the calls of `function` that return to `address`.
#[inline]
pub fn site(words: &[AtomicU64], address: usize, function: usize) -> Option<usize> {
    let key = key_of_call(function, address);
    SITE_INDEX.find_or_make(key, || {
        SITES.row_of(words, &Place::words(words, function, address), |row| {
            for sum in [site::TIME, site::SENT, site::MOVED] {
                row[sum + 2].store(u64::MAX, Relaxed);
            }
        })
    })
}

/// The row of the calls of `function` with these classes of size.
#[inline]
pub fn bin(words: &[AtomicU64], function: usize, comm: u8, size: u8) -> Option<usize> {
    let key = ((function as u64 + 1) << 32) | (u64::from(comm) << 8) | u64::from(size);
    BIN_INDEX.find_or_make(key, || BINS.row_of(words, &[key], |_| {}))
}

/// The row of what is sent to `peer`.
#[inline]
pub fn pair(words: &[AtomicU64], peer: u32) -> Option<usize> {
    let key = u64::from(peer) + 1;
    PAIR_INDEX.find_or_make(key, || PAIRS.row_of(words, &[key], |_| {}))
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
        assert_eq!(interpose::shared::MODULES.len(&words), 1);
    }
}
