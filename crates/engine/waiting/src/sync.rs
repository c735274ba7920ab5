//! The atomics and the mutex of this crate: those of `std`, or loom's under `--cfg loom`.

#[cfg(not(loom))]
pub use {
    platform::waiter::give_way,
    std::sync::atomic::{AtomicU32, Ordering, fence},
    std::sync::{Arc, Mutex, MutexGuard},
};

#[cfg(loom)]
pub use loom::{
    sync::atomic::{AtomicU32, Ordering, fence},
    sync::{Arc, Mutex, MutexGuard},
    thread::yield_now as give_way,
};
