//! Which threads may call, and whether two call at a time (MPI-5.0 section 11.6).

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

use interpose::{Call, ask, thread};

use crate::findings::{Class, Findings};
use crate::site::Site;

/// The thread that has initialized MPI, and the level in force; -1: not initialized.
static MAIN: AtomicU64 = AtomicU64::new(0);
static LEVEL: AtomicI32 = AtomicI32::new(-1);
/// The thread that is in a call, where several must not be.
static INSIDE: AtomicU64 = AtomicU64::new(0);

/// Functions that any thread may call at any time.
fn is_free(call: &Call<'_>) -> bool {
    call.function.anytime
}

/// A call begins.
pub fn enter(findings: &Findings<'_>, call: &Call<'_>) {
    let level = LEVEL.load(Relaxed);
    if !(0..abi::THREAD_MULTIPLE).contains(&level) || is_free(call) {
        return;
    }
    let me = thread();
    if level < abi::THREAD_SERIALIZED {
        if me != MAIN.load(Relaxed) {
            findings.add(Class::ThreadLevel, Site::of(call), None, [level as u64, 0, 0]);
        }
        return;
    }
    let before = INSIDE.swap(me, Relaxed);
    if before != 0 && before != me {
        findings.add(Class::ThreadsAtOnce, Site::of(call), None, [level as u64, 0, 0]);
    }
}

/// It has ended.
pub fn leave(call: &Call<'_>, code: i32) {
    match call.function.name {
        "MPI_Init" | "MPI_Init_thread" if code == abi::SUCCESS => {
            MAIN.store(thread(), Relaxed);
            LEVEL.store(ask::thread_level(), Relaxed);
        }
        "MPI_Finalize" => LEVEL.store(-1, Relaxed),
        _ => {}
    }
    // Another thread's mark stays, and that thread takes it away.
    let _ = INSIDE.compare_exchange(thread(), 0, Relaxed, Relaxed);
}
