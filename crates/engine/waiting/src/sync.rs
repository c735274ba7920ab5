//! The atomics and the mutex of this crate: those of `std`, or loom's under `--cfg loom`.

#[cfg(not(loom))]
pub use std::{
    sync::atomic::{AtomicU32, Ordering, fence},
    sync::{Arc, Mutex, MutexGuard},
    thread::yield_now,
};

#[cfg(loom)]
pub use loom::{
    sync::atomic::{AtomicU32, Ordering, fence},
    sync::{Arc, Mutex, MutexGuard},
    thread::yield_now,
};
