//! Numbers by number: tables that are read at every call.

use core::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Release},
};
use std::sync::{Mutex, PoisonError};

/// Values by key. Open addressing; filled and never emptied, by any thread.
pub struct Index<const N: usize> {
    /// Keys; 0: free.
    keys: [AtomicU64; N],
    /// Values plus 1; 0: the thread that has taken the place is about to write it.
    values: [AtomicUsize; N],
}

/// Places that are tried for a key.
const TRIES: usize = 32;

impl<const N: usize> Index<N> {
    /// One without keys.
    pub const fn new() -> Index<N> {
        Index { keys: [const { AtomicU64::new(0) }; N], values: [const { AtomicUsize::new(0) }; N] }
    }

    fn places(key: u64) -> impl Iterator<Item = usize> {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (0..TRIES).map(move |step| (first + step) % N)
    }

    /// The value of `key`, which must not be 0.
    #[inline]
    pub fn find(&self, key: u64) -> Option<usize> {
        for place in Self::places(key) {
            match self.keys[place].load(Acquire) {
                found if found == key => return self.values[place].load(Acquire).checked_sub(1),
                0 => return None,
                _ => {}
            }
        }
        None
    }

    /// Enters a value, unless the key has one. `false`: the places of this key are taken.
    pub fn insert(&self, key: u64, value: usize) -> bool {
        for place in Self::places(key) {
            match self.keys[place].compare_exchange(0, key, AcqRel, Acquire) {
                Ok(_) => {
                    // Release: what the value stands for was written before.
                    self.values[place].store(value.wrapping_add(1), Release);
                    return true;
                }
                Err(found) if found == key => return true,
                Err(_) => {}
            }
        }
        false
    }

    /// The value of `key`, or the one that `make` gives for it; `None`: there is no room. One thread at a time makes one.
    #[inline]
    pub fn find_or_make(&self, key: u64, make: impl FnOnce() -> Option<usize>) -> Option<usize> {
        self.find(key).or_else(|| self.make(key, make))
    }

    #[cold]
    fn make(&self, key: u64, make: impl FnOnce() -> Option<usize>) -> Option<usize> {
        static MAKING: Mutex<()> = Mutex::new(());
        let _guard = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have made it meanwhile.
        self.find(key).or_else(|| make().filter(|&value| self.insert(key, value)))
    }
}

/// The key of the calls of `function` that return to `address`.
#[inline]
pub fn key_of_call(function: usize, address: usize) -> u64 {
    // Addresses of user space have 47 bits.
    (address as u64 & 0xffff_ffff_ffff) | ((function as u64 + 1) << 48)
}

/// FNV-1a of bytes.
pub fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

impl<const N: usize> Default for Index<N> {
    fn default() -> Self {
        Index::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_finds_what_was_entered_until_it_is_full() {
        static INDEX: Index<64> = Index::new();
        let entered: Vec<u64> = (1..200).filter(|&key| INDEX.insert(key, key as usize * 2)).collect();
        assert!(entered.len() <= 64 && entered.len() > 32);
        assert!(entered.iter().all(|&key| INDEX.find(key) == Some(key as usize * 2)));
        assert_eq!(INDEX.find(1 << 40), None);
        assert!(INDEX.insert(1, 7) && INDEX.find(1) == Some(2));
    }
}
