//! What any thread may ask at any time, also while another one is inside MPI (MPI-5.0 section 11.4.1): words that are
//! read without the lock of the state.

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// The facts of this process. They change under the lock of the state.
pub(crate) static FACTS: Facts = Facts {
    initialized: AtomicBool::new(false),
    finalized: AtomicBool::new(false),
    level: AtomicI32::new(abi::THREAD_SINGLE),
    main: AtomicUsize::new(0),
};

/// See [`FACTS`].
pub struct Facts {
    /// `MPI_Init` has returned, or is about to.
    initialized: AtomicBool,
    /// `MPI_Finalize` has done its work.
    finalized: AtomicBool,
    /// The thread level that was provided.
    level: AtomicI32,
    /// The thread that initialised MPI, as `platform::thread` names it.
    main: AtomicUsize,
}

impl Facts {
    /// Whether `MPI_Init` was called. A thread that reads that it was also sees that the library runs.
    pub fn is_initialized(&self) -> bool {
        self.initialized.load(Acquire)
    }

    /// Whether `MPI_Finalize` was called.
    pub fn is_finalized(&self) -> bool {
        self.finalized.load(Acquire)
    }

    /// The thread level in force.
    pub fn level(&self) -> i32 {
        self.level.load(Relaxed)
    }

    /// Whether the calling thread is the one that initialised MPI.
    pub fn is_main_thread(&self) -> bool {
        self.main.load(Relaxed) == platform::thread::current()
    }

    /// `MPI_Init` was called.
    pub fn initialize(&self) {
        self.initialized.store(true, Release);
    }

    /// `MPI_Finalize` was called.
    pub fn finalize(&self) {
        self.finalized.store(true, Release);
    }

    /// The calling thread has joined the job.
    pub fn join(&self) {
        self.main.store(platform::thread::current(), Relaxed);
    }

    /// Raises the thread level, which other threads may rely on; the one in force.
    pub fn raise_level(&self, level: i32) -> i32 {
        self.level.fetch_max(level, Relaxed).max(level)
    }
}
