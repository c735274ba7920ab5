//! Tables that the lock guards and that stand outside the state: each crate keeps its own in a static.
//!
//! ```
//! use engine::{Guarded, Tables};
//!
//! /// What a crate keeps.
//! static NAMES: Guarded<Vec<String>> = Guarded::new(Vec::new());
//!
//! /// The state has the only `Tables` of the process as one of its fields.
//! struct State {
//!     tables: Tables,
//!     calls: u32,
//! }
//!
//! fn add(state: &mut State, name: &str) {
//!     let State { tables, calls } = state;
//!     NAMES.get_mut(tables).push(name.to_owned());
//!     *calls += 1;
//! }
//!
//! let mut state = State { tables: Tables::claim(), calls: 0 };
//! add(&mut state, "first");
//! assert_eq!(*NAMES.get(&state.tables), ["first"]);
//! ```
//! So the state need not know what crates keep in it. The static's address is known when the library is linked, as that
//! of a field of the state is.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

/// The right to open the tables of the process: a field of the state, so the lock guards what it opens. Each process has
/// one at most.
pub struct Tables {
    /// A shared reference stays on its thread: what it opens need not be `Sync`.
    stays: PhantomData<Cell<()>>,
}

static CLAIMED: AtomicBool = AtomicBool::new(false);

impl Tables {
    /// The right, for the one state of the process.
    ///
    /// # Panics
    /// When the process has another one.
    pub fn claim() -> Tables {
        assert!(!CLAIMED.swap(true, Ordering::Acquire), "a process has one state");
        Tables { stays: PhantomData }
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // Release: the next one sees what was written to the tables by this one.
        CLAIMED.store(false, Ordering::Release);
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

/// A table in a static, which only the holder of [`Tables`] opens.
///
/// Two tables cannot be open for changes at once: what a crate needs together is one table.
///
/// ```compile_fail,E0499
/// # use engine::{Guarded, Tables};
/// static FIRST: Guarded<u32> = Guarded::new(1);
/// static SECOND: Guarded<u32> = Guarded::new(2);
/// let mut tables = Tables::claim();
/// std::mem::swap(FIRST.get_mut(&mut tables), SECOND.get_mut(&mut tables));
/// ```
pub struct Guarded<T>(UnsafeCell<T>);

// SAFETY: one `Tables` exists at a time. It is not `Sync`, so references to the content are made on one thread at a time,
// the one that has it; with it the content moves between threads, for which `T` is `Send`.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// A closed table.
    pub const fn new(value: T) -> Guarded<T> {
        Guarded(UnsafeCell::new(value))
    }

    /// The table, for reading.
    #[inline(always)]
    pub fn get<'t>(&'static self, _tables: &'t Tables) -> &'t T {
        // SAFETY: the only `Tables` is borrowed as long as the result lives, so no exclusive reference to the content exists,
        // which would borrow it exclusively.
        unsafe { &*self.0.get() }
    }

    /// The table, for changes.
    #[inline(always)]
    #[allow(
        clippy::mut_from_ref,
        reason = "the exclusive borrow of the only `Tables` makes the reference the only one"
    )]
    pub fn get_mut<'t>(&'static self, _tables: &'t mut Tables) -> &'t mut T {
        // SAFETY: the only `Tables` is borrowed exclusively as long as the result lives, so no other reference to the content
        // exists, each of which borrows it.
        unsafe { &mut *self.0.get() }
    }
}

impl<T> std::fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guarded").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    static COUNT: Guarded<Vec<u32>> = Guarded::new(Vec::new());

    /// One test, since there is one right in the process.
    #[test]
    fn one_holder_opens_tables() {
        let mut tables = Tables::claim();
        assert!(catch_unwind(Tables::claim).is_err());
        COUNT.get_mut(&mut tables).push(1);

        // The right moves between threads, and what it opens with it.
        let moved = std::thread::spawn(move || {
            COUNT.get_mut(&mut tables).push(2);
            tables
        });
        let tables = moved.join().unwrap();
        assert_eq!(*COUNT.get(&tables), [1, 2]);
        assert!(catch_unwind(Tables::claim).is_err());

        drop(tables);
        assert_eq!(*COUNT.get(&Tables::claim()), [1, 2]);
        assert_eq!(size_of::<Tables>(), 0);
    }
}
