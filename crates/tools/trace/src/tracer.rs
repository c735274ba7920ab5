//! The tool: what happens at each call.

use std::cell::Cell;
use std::sync::atomic::{
    AtomicBool, AtomicU16, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use interpose::messages::{Follow, Given, Messages, Way};
use interpose::shared::{self, Words};
use interpose::{Call, Stack, Tool, ask, groups, waits};

use crate::clocks;
use crate::events::{self, Event, FIXED, Kind, MAGIC, NONE, at};

/// Names the memory; set by `mpiexec -trace`.
const VARIABLE: &str = "ALHENA_TRACE";
/// Words that a rank must have: those before the ring, and some rows.
const LEAST: usize = FIXED + 1024;

/// The tool.
pub static TRACER: Tracer = Tracer;

/// The tracer of this process.
pub struct Tracer;

static OWN: OnceLock<Words> = OnceLock::new();
/// MPI is initialized, and not finalized: communicators, messages and requests are counted.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// What happens is kept; else it is only counted, so that numbers stay those of the other ranks.
static ON: AtomicBool = AtomicBool::new(false);
static MESSAGES: Mutex<Option<Messages<u32>>> = Mutex::new(None);

/// A call that has begun.
struct Begun {
    site: u32,
    given: Given,
    /// Where this thread was, and since when.
    outer: u64,
}

thread_local! {
    static BEGUN: Stack<Begun> = const { Stack::new() };
    /// This thread's number plus 1.
    static THREAD: Cell<u16> = const { Cell::new(0) };
}

impl Tool for Tracer {
    fn begin(&self) -> bool {
        let Some(words) = shared::of_variable(VARIABLE, LEAST, "-trace") else { return false };
        shared::introduce(words, MAGIC);
        OWN.set(words).is_ok()
    }

    fn reads_statuses(&self) -> bool {
        true
    }

    fn enter(&self, call: &Call<'_>) -> usize {
        let Some(words) = OWN.get() else { return 0 };
        match call.function.name {
            "MPI_Pcontrol" => {
                ON.store(call.number_at(0) != 0, Relaxed);
                return 0;
            }
            "MPI_Finalize" if RUNNING.swap(false, Acquire) => {
                let now = interpose::clock::now();
                if let Some(site) = events::site(words, call.site(), call.number()) {
                    keep(words, Event::call(site, (now, now), 0));
                }
                clocks::end(words, at::LOOKS[1]);
                return 0;
            }
            _ if !RUNNING.load(Relaxed) => return 0,
            _ => {}
        }
        groups::forget(call);
        let Some(site) = events::site(words, call.site(), call.number()) else { return 0 };
        let given = messages().get_or_insert_default().before(call);
        let outer = words[at::CURRENT].load(Relaxed);
        words[at::SINCE].store(interpose::clock::now(), Relaxed);
        words[at::CURRENT].store(if ON.load(Relaxed) { u64::from(site) + 1 } else { 0 }, Relaxed);
        BEGUN.with(|stack| stack.keep(Begun { site, given, outer }))
    }

    fn leave(&self, call: &Call<'_>, word: usize, code: i32) {
        let Some(words) = OWN.get() else { return };
        let Some(begun) = BEGUN.with(|stack| stack.take(word)) else {
            if code == 0 && matches!(call.function.name, "MPI_Init" | "MPI_Init_thread") {
                begin(words);
            }
            return;
        };
        words[at::CURRENT].store(begun.outer, Relaxed);
        let mut event = Event::call(begun.site, (call.started(), call.ended()), call.waited());
        let mut messages = messages();
        let messages = messages.get_or_insert_default();
        if code == 0
            && let Some((comm, number)) = messages.round(call)
        {
            (event.comm, event.number) = (comm, number);
        }
        keep(words, event);
        if code == 0 {
            groups::made(call);
            messages.changed(call, begun.given, &mut Lines { words, site: begun.site });
        }
    }
}

/// Messages and requests as events; what is kept of each is the place of the call that began it.
struct Lines<'w> {
    words: &'w [AtomicU64],
    /// The place of the call that is looked at.
    site: u32,
}

impl Follow for Lines<'_> {
    type Kept = u32;

    fn begin(&mut self, _call: &Call<'_>, _way: Option<&Way>) -> u32 {
        self.site
    }

    fn restart(&mut self, _call: &Call<'_>, site: &mut u32) {
        *site = self.site;
    }

    fn ended(&mut self, way: Option<&Way>, &site: &u32, time: (u64, u64)) {
        let call = Event::call(site, time, 0);
        let Some(way) = way else { return keep(self.words, Event { kind: Kind::Request, ..call }) };
        let kind = if way.is_receive { Kind::Receive } else { Kind::Send };
        let ((comm, peer, tag, _), number) = way.name().unwrap_or(((0, NONE, 0, false), 0));
        keep(self.words, Event { kind, peer, tag, bytes: way.bytes(), comm, number, ..call });
    }
}

/// The library is initialized.
fn begin(words: &[AtomicU64]) {
    // Their numbers come first, at all ranks.
    for comm in [ask::COMM_WORLD, ask::COMM_SELF] {
        groups::of(comm, interpose::Kind::Comm);
    }
    clocks::begin(words, at::LOOKS[0]);
    waits::measure();
    ON.store(true, Relaxed);
    RUNNING.store(true, Release);
}

/// Keeps an event, unless the program has stopped that.
fn keep(words: &[AtomicU64], mut event: Event) {
    if ON.load(Relaxed) {
        event.thread = thread();
        events::add(words, &event);
    }
}

/// The number of this thread: 0 for the first one that calls.
fn thread() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    THREAD.with(|own| {
        if own.get() == 0 {
            own.set(NEXT.fetch_add(1, Relaxed).wrapping_add(1));
        }
        own.get() - 1
    })
}

fn messages() -> MutexGuard<'static, Option<Messages<u32>>> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner)
}
