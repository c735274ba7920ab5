//! Which thread may touch the library's state, and how threads wait for each other's work: protocols without the state.
//!
//! ```text
//!   lock      one thread at a time: two words where only one thread calls MPI, a mutex where several may
//!   threads   which threads poll, are parked or sleep on the doorbell; kept under that lock
//!   progress_thread  the thread that makes progress while the program computes
//!   wait      the one loop of a wait: poll, yield, park or sleep, inherit the role of the poller
//! ```
//! Everything is generic over the owner of the state ([`Host`]), so that loom runs these very functions with two
//! threads of a process, a sender of another process and a thread that cancels (`tests/loom.rs`).
//!
//! # How long a thread polls
//!
//! A thread polls for `mpi_spin_us`, or yields a bounded number of times where ranks share processors. Then it
//! announces its sleep, polls once more, and sleeps on a futex word in shared memory, which the next sender changes.
//! The sleeper issues `membarrier`, so senders pay no fence. No timeout hides a lost wake-up. Where ranks share
//! processors, a rank that waits for a message publishes for whose, as a scheduling hint: if its turn is next on its
//! processor, it keeps polling for some microseconds (`shm::hint`, `mpi_hint`).
#![forbid(unsafe_code)]

mod lock;
mod progress_thread;
mod sync;
mod threads;
mod wait;

pub use lock::{Exclusive, Held, Lock, Mode, Twice, in_forked_child};
pub use progress_thread::progress_thread;
pub use threads::{Parked, Threads, Wakes};
pub use wait::{Host, How, LOOK, wait, wait_checked, wait_until};
