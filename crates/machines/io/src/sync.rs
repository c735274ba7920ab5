//! The mutex and the condition of this crate: those of `std`, or loom's under `--cfg loom`.

#[cfg(not(loom))]
pub use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
pub use loom::sync::{Condvar, Mutex, MutexGuard};
