//! The checker: a tool over the wrappers that finds misuse of MPI which no error code tells.
//!
//! ```text
//!   a rank                                          mpiexec, after all ranks have ended
//!     handles    who made what, and was it freed      alhena check reads the memory, folds equal findings
//!     requests   buffers in use, their checksums      over ranks, prints them, and ends with 1
//!     threads    who may call
//!       └── findings: rows in shared memory ──►
//! ```
//!
//! What the library finds by itself (arguments, stale handles, collectives that do not fit) is not here. A finding is
//! certain: where a check would need data that this process does not have, or a type with holes, nothing is reported.

mod buffers;
pub mod findings;
mod handles;
mod requests;
mod site;
mod threads;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use interpose::shared::{self, Words};
use interpose::{Call, Kind, Stack, Tool};

use findings::Findings;

/// Names the memory; set by `mpiexec -check`.
pub const VARIABLE: &str = "ALHENA_CHECK";

/// The tool.
pub static CHECKER: Checker = Checker;

/// The checker of this process.
pub struct Checker;

static WORDS: OnceLock<Words> = OnceLock::new();

/// What is known of this process's objects.
#[derive(Default)]
struct State {
    handles: handles::Handles,
    requests: requests::Requests,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Handles that a call may change, before it.
struct Before {
    handles: Vec<(Kind, usize)>,
    requests: Vec<usize>,
}

thread_local! {
    static BEFORE: Stack<Before> = const { Stack::new() };
}

impl Tool for Checker {
    fn begin(&self) -> bool {
        let Some(words) = shared::of_variable(VARIABLE, findings::WORDS, "-check") else { return false };
        shared::introduce(words, findings::MAGIC);
        WORDS.set(words).is_ok()
    }

    fn enter(&self, call: &Call<'_>) -> usize {
        let Some(findings) = findings() else { return 0 };
        threads::enter(&findings, call);
        let before = Before { handles: handles::before(call), requests: call.requests_in() };
        BEFORE.with(|stack| stack.keep(before))
    }

    fn leave(&self, call: &Call<'_>, word: usize, code: i32) {
        let Some(findings) = findings() else { return };
        threads::leave(call, code);
        let Some(before) = BEFORE.with(|stack| stack.take(word)) else { return };
        if code != abi::SUCCESS {
            return;
        }
        let mut guard = state();
        let state = guard.get_or_insert_default();
        state.requests.changed(&findings, call, &before.requests);
        state.handles.changed(call, &before.handles);
        if call.function.name == "MPI_Finalize" {
            state.requests.left(&findings);
            state.handles.left(&findings);
        }
    }
}

fn findings() -> Option<Findings<'static>> {
    WORDS.get().map(|words| Findings::new(words))
}

fn state() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}
