//! The checker: a tool over the wrappers that finds misuse of MPI which no error code tells.
//!
//! ```text
//!   a rank                                          mpiexec, after all ranks have ended
//!     handles    who made what, and was it freed      alhena check reads the memory, folds equal findings
//!     requests   buffers in use, their checksums      over ranks, prints them, and ends with 1
//!     threads    who may call                         compares both ends of each message
//!     messages   what was sent and received as what    the collectives of each communicator
//!     collectives  which were called, in which order   and the accesses of all ranks to each window
//!     windows    who accesses what in which epoch
//!     watches    what the program loads and stores
//!     typed      what its variables are given as          and what they are, by debug information
//!       └── findings: rows in shared memory ──►
//! ```
//!
//! What the library finds by itself (arguments, stale handles, collectives that do not fit) is not here. A finding is
//! certain: where a check would need data that this process does not have, or a type with holes, nothing is reported.

mod buffers;
pub mod collectives;
pub mod findings;
mod handles;
pub mod messages;
mod requests;
mod site;
mod threads;
pub mod typed;
mod watches;
pub mod windows;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use interpose::shared::{self, Words};
use interpose::{Call, Direction, Kind, Stack, Tool, ask};

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
    ends: messages::Ends,
    windows: windows::Windows,
    collectives: collectives::Collectives,
    typed: typed::Typed,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Handles that a call may change, before it.
struct Before {
    handles: Vec<(Kind, usize)>,
    requests: Vec<usize>,
    /// The library was told where these requests began.
    has_origins: bool,
    given: Option<messages::Given>,
    win: Option<usize>,
}

thread_local! {
    static BEFORE: Stack<Before> = const { Stack::new() };
}

impl Tool for Checker {
    fn begin(&self) -> bool {
        let Some(words) = shared::of_variable(VARIABLE, findings::WORDS, "-check") else { return false };
        let is_second = words[findings::at::MAGIC].load(Relaxed) == findings::MAGIC;
        words[findings::at::SEVERAL].store(is_second.into(), Relaxed);
        shared::introduce(words, findings::MAGIC);
        WORDS.set(words).is_ok()
    }

    fn reads_statuses(&self) -> bool {
        true
    }

    fn delays_sends(&self) -> bool {
        std::env::var_os("ALHENA_CHECK_SENDS").is_some()
    }

    fn enter(&self, call: &Call<'_>) -> usize {
        let seen = watches::stop();
        let Some(findings) = findings() else { return 0 };
        threads::enter(&findings, call);
        let mut guard = state();
        let state = guard.get_or_insert_default();
        seen.into_iter().for_each(|seen| state.seen(&findings, seen));
        let given = state.ends.before(call);
        if state.ends.is_running() {
            state.collectives.before(call);
        }
        let requests = call.requests_in();
        let origins = state.requests.origins(&requests);
        drop(guard);
        if !origins.is_empty() {
            ask::set_call_origins(&origins);
        }
        let win = call
            .function
            .arguments
            .iter()
            .position(|it| it.kind == Kind::Win && it.direction != Direction::Out);
        let before = Before {
            handles: handles::before(call),
            requests,
            has_origins: !origins.is_empty(),
            given,
            win: win.map(|place| call.handle(place)),
        };
        BEFORE.with(|stack| stack.keep(before))
    }

    fn leave(&self, call: &Call<'_>, word: usize, code: i32) {
        let Some(findings) = findings() else { return };
        threads::leave(call, code);
        let Some(before) = BEFORE.with(|stack| stack.take(word)) else { return };
        if before.has_origins {
            ask::set_call_origins(&[]);
        }
        let mut guard = state();
        let state = guard.get_or_insert_default();
        state.left(&findings, call, before, code);
        // A call within another one goes back to the library.
        if word == OUTERMOST && state.ends.is_running() {
            let places = watches::places(state);
            drop(guard);
            watches::start(&findings, places);
        }
    }
}

/// The word of a call that is in no other one.
const OUTERMOST: usize = 1;

impl State {
    /// A call has ended.
    fn left(&mut self, findings: &Findings<'_>, call: &Call<'_>, before: Before, code: i32) {
        self.ends.after(findings, call, before.given, code);
        if self.ends.is_running() {
            self.collectives.after(findings, call, code);
        }
        if code != abi::SUCCESS {
            return self.requests.may_have_ended(&before.requests);
        }
        let is_exposed = |region: &buffers::Region| self.windows.contain(region);
        let items = buffers::items(call);
        self.requests.changed(findings, call, (&before.requests, before.win), &items, is_exposed);
        self.typed.changed(findings, call, &items);
        self.windows.changed(findings, call, before.win, &items);
        if matches!(call.function.name, "MPI_Comm_free" | "MPI_Comm_disconnect") {
            before.handles.iter().for_each(|&(_, comm)| self.collectives.freed(comm));
        }
        self.handles.changed(call, &before.handles);
        if call.function.name == "MPI_Finalize" {
            self.requests.left(findings);
            self.handles.left(findings);
        }
    }
}

fn findings() -> Option<Findings<'static>> {
    WORDS.get().map(|words| Findings::new(words))
}

fn state() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}
