//! The tool: what happens at each call.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use interpose::shared::{self, Words};
use interpose::{Call, FUNCTIONS, Kind, Shape, Tool, ask, clock, groups, waits};

use crate::classes::{self, Class, Moves};
use crate::persistent::{self, Sends};
use crate::sites;
use crate::tables::{BINS, MAGIC, PAIRS, SITES, State, WORDS, at, site};

/// Names the memory; set by `mpiexec -profile`.
const VARIABLE: &str = "ALHENA_PROFILE";

/// The tool.
pub static PROFILER: Profiler = Profiler;

/// The profiler of this process.
pub struct Profiler;

static OWN: OnceLock<Words> = OnceLock::new();
/// Calls are counted.
static ON: AtomicBool = AtomicBool::new(false);
/// Several threads may call at a time.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// What a function means to the profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Role {
    /// It is counted.
    Counted = 1,
    /// Counted, and it may free handles that something is known of.
    Frees,
    /// Counted, and it starts requests.
    Starts,
    /// After it calls are counted.
    Begins,
    /// Before it the counting ends.
    Ends,
    /// It does not return.
    Aborts,
    /// The program's word to tools.
    Controls,
    /// Not counted.
    Ignored,
}

/// The role of function `number`.
#[inline]
fn role(number: usize) -> Role {
    static ROLES: [AtomicU8; FUNCTIONS.len()] = [const { AtomicU8::new(0) }; FUNCTIONS.len()];
    const ALL: [Role; 8] = [
        Role::Counted,
        Role::Frees,
        Role::Starts,
        Role::Begins,
        Role::Ends,
        Role::Aborts,
        Role::Controls,
        Role::Ignored,
    ];
    match ROLES[number].load(Relaxed) {
        0 => {
            let role = role_of(FUNCTIONS[number].name);
            ROLES[number].store(role as u8, Relaxed);
            role
        }
        known => ALL[known as usize - 1],
    }
}

fn role_of(name: &str) -> Role {
    match name {
        "MPI_Init" | "MPI_Init_thread" | "MPI_Session_init" => Role::Begins,
        "MPI_Finalize" => Role::Ends,
        "MPI_Abort" => Role::Aborts,
        "MPI_Pcontrol" => Role::Controls,
        "MPI_Initialized" | "MPI_Finalized" | "MPI_Session_finalize" => Role::Ignored,
        "MPI_Comm_free" | "MPI_Comm_disconnect" | "MPI_Win_free" | "MPI_Request_free" => Role::Frees,
        "MPI_Start" | "MPI_Startall" => Role::Starts,
        _ => Role::Counted,
    }
}

/// The word of a call that found no row.
const LOST: usize = 1;

impl Tool for Profiler {
    fn begin(&self) -> bool {
        let Some(words) = shared::of_variable(VARIABLE, WORDS, "-profile") else { return false };
        shared::introduce(words, MAGIC);
        OWN.set(words).is_ok()
    }

    fn enter(&self, call: &Call<'_>) -> usize {
        let Some(words) = OWN.get() else { return 0 };
        let role = role(call.number());
        if role == Role::Frees {
            persistent::forget(call);
        }
        match role {
            Role::Ends => end(words, State::Finalized),
            Role::Aborts => {
                words[at::LAST].store(clock::now(), Relaxed);
                words[at::STATE].store(State::Aborted as u64, Relaxed);
            }
            Role::Controls => control(words, call.number_at(0)),
            Role::Begins | Role::Ignored => {}
            _ if ON.load(Relaxed) => {
                let Some(row) = sites::site(words, call.site(), call.number()) else { return LOST };
                words[at::CURRENT].store(row as u64 + 1, Relaxed);
                return row + 2;
            }
            _ => {}
        }
        0
    }

    fn leave(&self, call: &Call<'_>, word: usize, code: i32) {
        let Some(words) = OWN.get() else { return };
        if word == 0 {
            if code == 0 && role(call.number()) == Role::Begins {
                begin(words);
            }
            return;
        }
        let took = call.ended().saturating_sub(call.started());
        words[at::LAST].store(call.ended(), Relaxed);
        let Some(row) = word.checked_sub(2) else {
            add(&words[at::LOST], 1);
            return add(&words[at::LOST_TIME], took);
        };
        words[at::CURRENT].store(0, Relaxed);
        let row = SITES.row(words, row);
        count(&row[site::TIME..], took);
        wait(&row[site::WAITED..], call.waited());
        if code == 0 {
            match role(call.number()) {
                Role::Starts => started(words, row, call, took),
                _ => moved(words, row, call, took),
            }
        }
    }
}

/// The library is initialized.
fn begin(words: &[AtomicU64]) {
    if words[at::STATE].load(Relaxed) == State::Running as u64 && ON.load(Relaxed) {
        return;
    }
    SEVERAL.store(ask::thread_level() >= abi::THREAD_MULTIPLE, Relaxed);
    words[at::MEASURED].store(waits::measure().into(), Relaxed);
    words[at::STATE].store(State::Running as u64, Relaxed);
    put_on(words);
}

fn put_on(words: &[AtomicU64]) {
    if !ON.swap(true, Relaxed) {
        let now = clock::now();
        words[at::LAST].store(now, Relaxed);
        words[at::SINCE].store(now, Relaxed);
    }
}

fn put_off(words: &[AtomicU64]) {
    if ON.swap(false, Relaxed) {
        let since = words[at::SINCE].swap(0, Relaxed);
        words[at::APP_TIME].fetch_add(clock::now().saturating_sub(since), Relaxed);
    }
}

fn end(words: &[AtomicU64], state: State) {
    put_off(words);
    words[at::STATE].store(state as u64, Relaxed);
}

/// `MPI_Pcontrol`, as mpiP understands it: 0 off, 1 on, 2 begin anew.
fn control(words: &[AtomicU64], level: i64) {
    match level {
        0 => put_off(words),
        1 => put_on(words),
        2 => {
            sites::reset(words);
            if ON.load(Relaxed) {
                words[at::SINCE].store(clock::now(), Relaxed);
            }
        }
        _ => {}
    }
}

/// Adds to a word of the tables.
#[inline]
fn add(word: &AtomicU64, more: u64) {
    match SEVERAL.load(Relaxed) {
        true => drop(word.fetch_add(more, Relaxed)),
        // One thread writes: a plain addition.
        false => word.store(word.load(Relaxed).wrapping_add(more), Relaxed),
    }
}

/// Adds one value to number, sum, least and most.
#[inline]
fn count(sum: &[AtomicU64], value: u64) {
    add(&sum[0], 1);
    add(&sum[1], value);
    if value < sum[2].load(Relaxed) {
        sum[2].fetch_min(value, Relaxed);
    }
    if value > sum[3].load(Relaxed) {
        sum[3].fetch_max(value, Relaxed);
    }
}

/// Adds to sum and most of the nanoseconds in which calls waited.
#[inline]
fn wait(sum: &[AtomicU64], waited: u64) {
    add(&sum[0], waited);
    if waited > sum[1].load(Relaxed) {
        sum[1].fetch_max(waited, Relaxed);
    }
}

/// A call was successful: what it moved.
fn moved(words: &[AtomicU64], row: &[AtomicU64], call: &Call<'_>, took: u64) {
    let class = classes::of(call.number());
    if class.moves == Moves::Nothing {
        return;
    }
    let bytes = bytes(call, class);
    let group = class.group.map(|place| groups::of(call.word(place), call.function.arguments[place].kind));
    let peer = || group.as_ref()?.in_job(call.number_at(class.peer?));
    if class.persistent {
        if let Some(request) = call.function.place("request") {
            persistent::keep(call.handle(request), Sends { bytes, peer: peer() });
        }
        return;
    }
    let is_send = class.moves == Moves::Sends;
    count(&row[if is_send { site::SENT } else { site::MOVED }..], bytes);
    let size = group.as_ref().map_or(1, |group| group.size);
    into_bin(words, call.number(), size, bytes, took);
    if let Some(peer) = peer() {
        into_pair(words, peer, bytes, is_send);
    }
}

/// Requests were started: what they send.
fn started(words: &[AtomicU64], row: &[AtomicU64], call: &Call<'_>, took: u64) {
    let place = usize::from(call.function.name == "MPI_Startall");
    for index in 0..call.length(place) {
        let Some(sends) = persistent::kept(call.element(place, index) as usize) else { continue };
        count(&row[site::SENT..], sends.bytes);
        into_bin(words, call.number(), 1, sends.bytes, if index == 0 { took } else { 0 });
        if let Some(peer) = sends.peer {
            into_pair(words, peer, sends.bytes, true);
        }
    }
}

/// The class of a size: the least power of two above it.
fn class_of(size: u64) -> u8 {
    (64 - size.leading_zeros()) as u8
}

fn into_bin(words: &[AtomicU64], function: usize, ranks: u32, bytes: u64, took: u64) {
    let comm = ranks.max(1).ilog2() as u8;
    if let Some(row) = sites::bin(words, function, comm, class_of(bytes)) {
        let row = BINS.row(words, row);
        add(&row[1], 1);
        add(&row[2], bytes);
        add(&row[3], took);
    }
}

fn into_pair(words: &[AtomicU64], peer: u32, bytes: u64, is_send: bool) {
    if let Some(row) = sites::pair(words, peer) {
        let row = PAIRS.row(words, row);
        if is_send {
            add(&row[1], 1);
            add(&row[2], bytes);
        } else {
            add(&row[3], bytes);
        }
    }
}

/// The bytes that a call has moved, by its arguments.
fn bytes(call: &Call<'_>, class: &Class) -> u64 {
    let in_place = class.buffer.is_some_and(|buffer| call.word(buffer) == abi::IN_PLACE);
    let Some(datatype) = class.datatype else { return 0 };
    let total = match (class.in_place, class.count) {
        (Some((count, datatype)), _) if in_place => {
            call.number_at(count) * ask::type_size(call.word(datatype))
        }
        // The counts of the call that gives nothing mean nothing.
        (None, Some(count)) if in_place && call.function.arguments[count].shape == Shape::Known => 0,
        (_, None) => ask::type_size(call.word(datatype)),
        (_, Some(count)) => match call.function.arguments[count].shape {
            Shape::Known => of_arrays(call, class, count, datatype),
            _ if class.collective && !is_significant(call) => 0,
            _ => call.number_at(count) * ask::type_size(call.word(datatype)),
        },
    };
    let parts = class.partitions.map_or(1, |place| call.number_at(place));
    total.max(0) as u64 * parts.max(0) as u64
}

/// Whether the library looks at what a scatter sends: at the root alone.
fn is_significant(call: &Call<'_>) -> bool {
    !call.function.base().contains("catter") || call.is_root() != Some(false)
}

/// The sum of a count for each rank, or for each neighbour.
fn of_arrays(call: &Call<'_>, class: &Class, count: usize, datatype: usize) -> i64 {
    let Some(comm) = call.comm().filter(|_| is_significant(call) && call.word(count) != 0) else {
        return 0;
    };
    let blocks = match call.function.chapter {
        8 => ask::destinations(comm),
        _ if ask::comm_test_inter(comm) != 0 => groups::of(comm, Kind::Comm).size as usize,
        _ => ask::comm_size(comm).max(0) as usize,
    };
    let one_type = call.function.arguments[datatype].is_value();
    let sizes = (0..blocks).map(|block| match one_type {
        true => call.element(count, block),
        false => call.element(count, block) * ask::type_size(call.element(datatype, block) as usize),
    });
    let sum: i64 = sizes.sum();
    debug_assert!(class.moves == Moves::Sends);
    if one_type { sum * ask::type_size(call.word(datatype)) } else { sum }
}
