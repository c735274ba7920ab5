//! The ends of a process that cannot go on.

use std::fmt::Arguments;
use std::sync::OnceLock;

pub use engine::note_failed_call;
use pmi::Abort;

/// How the job ends, once the process has joined one.
static ABORT: OnceLock<Abort> = OnceLock::new();

/// The process has joined a job, which `abort` ends. It joins once.
pub fn ends_by(abort: Abort) {
    let _ = ABORT.set(abort);
}

/// Ends the job with a message. Takes no lock and allocates nothing, so that a signal handler may call it.
pub fn abort_with(code: i32, message: Arguments<'_>) -> ! {
    ABORT.get().copied().unwrap_or(Abort::ALONE).run(code, message)
}

/// Ends a process that cannot even start, with the three lines of the failed step.
pub fn give_up(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(1)
}
