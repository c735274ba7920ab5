//! Accesses to windows: which of two may happen in any order, though one writes (MPI-5.0 section 12.7)?
//!
//! ```text
//!   each rank                                        alhena check, after the job
//!     its accesses, with the epoch of each ────────►   of one target and epoch, those that overlap and conflict
//! ```
//!
//! Two accesses are known to be concurrent if
//! - both lie between the same two fences, which all processes call in one order;
//! - one process makes both, and nothing completes the first one before the second;
//! - both lie in epochs of shared locks, after the same collective of the whole job, and since then neither process has called
//!   anything by which it could have learned that the other one is done.
//!
//! What a program loads and stores is seen at a few places of its windows ([`crate::watches`]), and in the buffers of its calls.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use interpose::groups;
use interpose::shared::{self, Table};
use interpose::{Call, Kind, ask};

use crate::buffers::{self, Items, Region};
use crate::findings::{CallPlace, Class, Finding, Findings, WORDS, at};
use crate::messages::{self, MESSAGES};
use crate::site::Site;

/// Kind, window, target, what is done, first byte or displacement, offset, length, epoch, step, place 2.
pub(crate) const ACCESSES: Table = Table::after(MESSAGES.end(), 11, 1024, at::ACCESSES);

/// Kinds of rows: a window, with its unit where accesses have what they do, and an access.
const WINDOW: u64 = 1;
const ACCESS: u64 = 2;

/// Words of a row.
const KIND: usize = 0;
const NAME: usize = 1;
const TARGET: usize = 2;
const WHAT: usize = 3;
const FIRST: usize = 4;
const OFFSET: usize = 5;
const LENGTH: usize = 6;
const EPOCH: usize = 7;
const STEP: usize = 8;
const PLACE: usize = 9;

/// What an access does. Of one that accumulates, operation and basic type are above that.
const GET: u64 = 1;
const PUT: u64 = 2;
const ACCUMULATE: u64 = 3;
/// A call of the target that reads its window's memory, or writes it.
const READ: u64 = 4;
const WRITE: u64 = 5;
/// A load or store of the target, of some of the bytes; one after which they were others.
const TOUCH: u64 = 6;
const CHANGE: u64 = 7;
/// Such rows at most.
const MOST_TOUCHES: usize = 256;

/// Operations of the standard.
const REPLACE: u64 = abi::REPLACE.0 as u64;
const NO_OP: u64 = abi::NO_OP.0 as u64;

/// Kinds of epochs, above their number: between two fences, and by shared locks after a collective; 0: of another kind.
const FENCED: u64 = 1 << 62;
const SHARED: u64 = 2 << 62;

/// What is known of this process's windows.
#[derive(Default)]
pub struct Windows {
    all: HashMap<usize, Window>,
    /// Windows that each communicator had.
    before: HashMap<u64, u64>,
    /// Collectives of the whole job so far.
    collectives: u64,
    /// Since the last of them, this process may have learned what others did.
    is_informed: bool,
    /// What the program has loaded and stored by itself, and where.
    touches: HashSet<(Epoch, usize, usize, bool)>,
}

/// The time between two changes of what is known of a window: its name, epoch and step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epoch {
    name: u64,
    epoch: u64,
    step: u64,
}

struct Window {
    name: u64,
    memory: Region,
    fences: u64,
    /// How often something has completed accesses.
    step: u64,
    /// Ranks that are locked, and whether for this process alone; `None`: all ranks.
    locked: HashMap<Option<i64>, bool>,
    is_started: bool,
    /// An epoch of fences began, if accesses follow; the process has called nothing since that may separate them from the fence.
    may_be_open: bool,
    /// The last lock.
    lock: Option<Site>,
    /// An access by a lock between two fences, and the lock.
    locked_access: Option<(Site, Site)>,
}

impl Windows {
    /// Whether a region lies in the memory of a window, where others may write.
    pub fn contain(&self, region: &Region) -> bool {
        self.all.values().any(|window| window.memory.common(region) > 0)
    }

    /// A call was successful; `freed`: the window that it was given to free.
    pub fn changed(
        &mut self,
        findings: &Findings<'_>,
        call: &Call<'_>,
        freed: Option<usize>,
        items: &[Items],
    ) {
        let base = call.function.base();
        self.inform(call);
        match base {
            "Win_create" | "Win_allocate" | "Win_allocate_shared" | "Win_create_dynamic" => {
                self.made(findings, call);
            }
            "Win_free" => drop(freed.and_then(|freed| self.all.remove(&freed))),
            "Wait" | "Waitall" | "Waitany" | "Waitsome" | "Test" | "Testall" | "Testany" | "Testsome" => {
                self.all.values_mut().for_each(|window| window.step += 1);
            }
            _ => {}
        }
        let win = call.function.place("win").map(|place| call.handle(place));
        let Some(window) = win.and_then(|win| self.all.get_mut(&win)) else {
            return self.used(findings, call, &buffers::of(items));
        };
        window.synchronized(findings, call);
        if call.function.place("target_disp").is_some() {
            let (collectives, is_informed) = (self.collectives, self.is_informed);
            window.accessed(findings, call, SHARED | collectives, is_informed);
            self.used(findings, call, &buffers::of(items));
        }
    }

    /// Windows of which this process may not use the memory as it likes now.
    pub fn exposed(&self) -> impl Iterator<Item = (Epoch, &Region)> {
        self.all.values().filter_map(|window| Some((self.epoch_of(window)?, &window.memory)))
    }

    /// The epoch of loads and stores of the window's own memory, if it is known.
    fn epoch_of(&self, window: &Window) -> Option<Epoch> {
        let is_locked = !window.locked.is_empty() && window.locked.values().all(|is_alone| !is_alone);
        let epoch = match () {
            () if window.is_fenced() => FENCED | window.fences,
            () if is_locked && !self.is_informed => SHARED | self.collectives,
            () => return None,
        };
        Some(Epoch { name: window.name, epoch, step: window.step })
    }

    /// The program has loaded or stored some of these bytes in this epoch; `is_changed`: they are others now.
    pub fn touched(
        &mut self,
        findings: &Findings<'_>,
        epoch: Epoch,
        bytes: &Region,
        is_changed: bool,
        by: Site,
    ) {
        let window = self.all.values().find(|window| window.name == epoch.name);
        let Some(window) = window.filter(|window| self.epoch_of(window) == Some(epoch)) else { return };
        let first = bytes.begin.wrapping_sub(window.memory.begin) as u64;
        if self.touches.len() < MOST_TOUCHES
            && self.touches.insert((epoch, bytes.begin, by.address, is_changed))
        {
            let what = if is_changed { CHANGE } else { TOUCH };
            let own = ask::comm_rank(ask::COMM_WORLD) as u64;
            let Epoch { name, epoch, step } = epoch;
            let row = [ACCESS, name, own, what, first, 0, bytes.length as u64, epoch, step];
            append(findings, row.into_iter().chain(findings.place(by)));
        }
    }

    /// What the call may have brought to this process.
    fn inform(&mut self, call: &Call<'_>) {
        let base = call.function.base();
        let is_job = |comm: usize| {
            let group = groups::of(comm, Kind::Comm);
            group.identity != 0 && group.size as i32 == ask::comm_size(ask::COMM_WORLD)
        };
        let is_blocking = call.function.chapter == 6 && !base.starts_with('I') && !base.ends_with("_init");
        if (is_blocking || matches!(base, "Win_create" | "Win_allocate" | "Win_create_dynamic"))
            && call.comm().is_some_and(is_job)
        {
            self.collectives += 1;
            self.is_informed = false;
            self.close_fences();
            return;
        }
        let tells_nothing = match call.function.chapter {
            5 | 9 | 10 => true,
            7 => matches!(base, "Comm_rank" | "Comm_size" | "Comm_group") || base.starts_with("Group_"),
            12 => match base {
                "Win_lock" => is_shared_lock(call),
                "Put" | "Get" | "Accumulate" | "Get_accumulate" | "Fetch_and_op" | "Compare_and_swap" => true,
                _ => matches!(base, "Win_lock_all" | "Win_get_attr" | "Win_get_group"),
            },
            _ => false,
        };
        if !tells_nothing {
            self.is_informed = true;
            if call.function.chapter != 12 {
                self.close_fences();
            }
        }
    }

    /// Programs change from fences to locks after a barrier, say, and see the last fence as the end of its epochs.
    fn close_fences(&mut self) {
        self.all.values_mut().for_each(|window| window.may_be_open = false);
    }

    fn made(&mut self, findings: &Findings<'_>, call: &Call<'_>) {
        let (Some(win), Some(comm)) = (call.function.place("win"), call.comm()) else { return };
        let number = |name: &str| call.function.place(name).map(|place| call.number_at(place));
        let base = match call.function.place("baseptr") {
            // The address of the pointer that the library has written.
            Some(place) => call.element(place, 0) as usize,
            None => call.function.place("base").map_or(0, |place| call.word(place)),
        };
        let comm = groups::of(comm, Kind::Comm).identity;
        let before = self.before.entry(comm).or_insert(0);
        *before += 1;
        let name = comm.wrapping_add(before.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let unit = number("disp_unit").unwrap_or(1);
        append(findings, [WINDOW, name, 0, unit as u64].into_iter());
        let length = number("size").unwrap_or(0).max(0) as usize;
        let window = Window {
            name,
            memory: Region { begin: base, length, is_written: true },
            fences: 0,
            step: 0,
            locked: HashMap::new(),
            is_started: false,
            may_be_open: false,
            lock: None,
            locked_access: None,
        };
        self.all.insert(call.handle(win), window);
    }

    /// A call of this process has used memory, maybe that of a window.
    fn used(&self, findings: &Findings<'_>, call: &Call<'_>, regions: &[Region]) {
        for window in self.all.values() {
            let epoch = match call.function.chapter {
                _ if window.is_fenced() => FENCED | window.fences,
                12 if !self.is_informed => SHARED | self.collectives,
                _ => continue,
            };
            for region in regions.iter().filter(|region| region.common(&window.memory) > 0) {
                let first = region.begin.max(window.memory.begin);
                let what = if region.is_written { WRITE } else { READ };
                let at = (first - window.memory.begin) as u64;
                let own = ask::comm_rank(ask::COMM_WORLD) as u64;
                let length = region.common(&window.memory) as u64;
                let row = [ACCESS, window.name, own, what, at, 0, length, epoch, window.step];
                append(findings, row.into_iter().chain(findings.place(Site::of(call))));
            }
        }
    }
}

impl Window {
    /// Accesses belong to an epoch between two fences.
    fn is_fenced(&self) -> bool {
        self.fences > 0 && self.locked.is_empty() && !self.is_started
    }

    /// Epochs of locks and of fences must not overlap (MPI-5.0 section 12.5).
    fn fenced(&mut self, findings: &Findings<'_>, call: &Call<'_>) {
        let assert = call.function.place("assert").map_or(0, |place| call.number_at(place)) as i32;
        if let Some((access, lock)) = self.locked_access.take()
            && assert & abi::MODE_NOPRECEDE == 0
        {
            findings.add(Class::WindowEpoch, access, Some(lock), [0; 3]);
        }
        self.fences += 1;
        self.may_be_open = assert & abi::MODE_NOSUCCEED == 0;
    }

    fn synchronized(&mut self, findings: &Findings<'_>, call: &Call<'_>) {
        if call.function.base().starts_with("Win_lock") {
            self.lock = Some(Site::of(call));
        }
        let rank = call.function.place("rank").map(|place| call.number_at(place));
        match call.function.base() {
            "Win_fence" => self.fenced(findings, call),
            "Win_lock" => drop(self.locked.insert(rank, !is_shared_lock(call))),
            "Win_lock_all" => drop(self.locked.insert(None, false)),
            "Win_unlock" | "Win_unlock_all" => drop(self.locked.remove(&rank)),
            "Win_start" => self.is_started = true,
            "Win_complete" => self.is_started = false,
            base if base.starts_with("Win_flush") => {}
            _ => return,
        }
        self.step += 1;
    }

    /// An access to the memory of a target.
    fn accessed(&mut self, findings: &Findings<'_>, call: &Call<'_>, shared: u64, is_informed: bool) {
        let (function, base) = (call.function, call.function.base());
        let lock = self.lock.filter(|_| self.may_be_open && !self.locked.is_empty());
        self.locked_access = self.locked_access.or(lock.map(|lock| (Site::of(call), lock)));
        let number = |name: &str| function.place(name).map(|place| call.number_at(place));
        let word = |name: &str| function.place(name).map(|place| call.word(place));
        let what = match base {
            "Get" | "Rget" => GET,
            "Put" | "Rput" => PUT,
            _ => ACCUMULATE,
        };
        let win = function.place("win").map(|place| call.handle(place));
        let target = number("target_rank").zip(win);
        let target =
            target.and_then(|(rank, win)| groups::of(win, Kind::Win).in_job(rank).map(|job| (rank, job)));
        let datatype = word("target_datatype").or_else(|| word("datatype"));
        let (Some((rank, target)), Some(datatype)) = (target, datatype) else { return };
        let count = number("target_count").unwrap_or(1);
        let Some((offset, length)) = buffers::piece(datatype, 0, count) else { return };
        let epoch = match self.locked.get(&Some(rank)).or_else(|| self.locked.get(&None)) {
            Some(true) => 0,
            Some(false) if is_informed => 0,
            Some(false) => shared,
            None if self.is_fenced() => FENCED | self.fences,
            None => 0,
        };
        let op = word("op").unwrap_or(abi::REPLACE.0) as u64 & 0xffff;
        let basic = ask::signature(datatype).map_or(0, |words| words[2]) & 0xffff;
        let what = if what == ACCUMULATE { what | op << 16 | basic << 32 } else { what };
        let first = number("target_disp").unwrap_or(0) as u64;
        let row =
            [ACCESS, self.name, target.into(), what, first, offset as u64, length as u64, epoch, self.step];
        append(findings, row.into_iter().chain(findings.place(Site::of(call))));
    }
}

fn is_shared_lock(call: &Call<'_>) -> bool {
    call.function.place("lock_type").is_some_and(|place| call.number_at(place) == i64::from(abi::LOCK_SHARED))
}

fn append(findings: &Findings<'_>, values: impl Iterator<Item = u64>) {
    ACCESSES.append(findings.words(), |row| messages::put(row, values));
}

/// An access as it was made.
#[derive(Clone, Debug)]
struct Access {
    origin: u32,
    target: u32,
    what: u64,
    bytes: Range<i64>,
    epoch: u64,
    step: u64,
    place: CallPlace,
}

/// The conflicts between accesses of all ranks: the rank of the later one in the order of ranks has each.
pub fn compare(all: &[(u32, Vec<AtomicU64>)]) -> Vec<(u32, Finding)> {
    let rows = |words| ACCESSES.copied(words).into_iter();
    let of_kind = |kind: u64| {
        all.iter().filter(|(_, words)| messages::has_one_program(words)).flat_map(move |(rank, words)| {
            rows(words).filter(move |row| row[KIND] == kind).map(move |row| (*rank, row))
        })
    };
    let units: HashMap<(u32, u64), i64> =
        of_kind(WINDOW).map(|(rank, row)| ((rank, row[NAME]), row[WHAT] as i64)).collect();
    let modules: HashMap<u32, _> = all.iter().map(|(rank, words)| (*rank, shared::modules(words))).collect();
    let access = |(origin, row): (u32, Vec<u64>)| {
        let target = row[TARGET] as u32;
        let is_own = matches!(row[WHAT], READ | WRITE | TOUCH | CHANGE);
        let unit = if is_own { 1 } else { *units.get(&(target, row[NAME]))? };
        let first = (row[FIRST] as i64).checked_mul(unit)?.checked_add(row[OFFSET] as i64)?;
        let bytes = first..first.checked_add_unsigned(row[LENGTH])?;
        let place = CallPlace::read(&row[PLACE..], modules.get(&origin)?)?;
        let (what, epoch, step) = (row[WHAT], row[EPOCH], row[STEP]);
        Some((row[NAME], Access { origin, target, what, bytes, epoch, step, place }))
    };
    let mut by_target: HashMap<(u64, u32), Vec<Access>> = HashMap::new();
    for (name, access) in of_kind(ACCESS).filter_map(access) {
        by_target.entry((name, access.target)).or_default().push(access);
    }
    let is_concurrent = |one: &Access, other: &Access| {
        let same = one.epoch == other.epoch;
        match one.origin == other.origin {
            // Those of one process that accumulate are done in the order of their calls (MPI-5.0 section 12.7.2).
            true => same && one.step == other.step && !(one.accumulates() && other.accumulates()),
            false => same && one.epoch != 0,
        }
    };
    // Of ranks that have made more, some are not there.
    let is_whole = all.iter().all(|(_, words)| words.len() >= WORDS && ACCESSES.len(words) < ACCESSES.rows);
    let mut found = Vec::new();
    for accesses in by_target.values() {
        // Bytes that no other process writes were changed by the process itself.
        let changes_itself = |one: &Access| {
            is_whole && !accesses.iter().any(|other| other.is_by_call_that_writes() && one.has_common(other))
        };
        for (index, other) in accesses.iter().enumerate() {
            for one in
                accesses[..index].iter().filter(|one| one.conflicts(other) && is_concurrent(one, other))
            {
                let change = [one, other].into_iter().find(|one| one.what == CHANGE);
                let is_got = [one, other].iter().any(|one| one.what == GET);
                if is_got && change.is_some_and(|change| !changes_itself(change)) {
                    continue;
                }
                let bytes = one.bytes.end.min(other.bytes.end) - one.bytes.start.max(other.bytes.start);
                let numbers = [bytes as u64, other.target.into(), 0];
                let (at, place) = (other.place.clone(), one.place.clone());
                let class = Class::WindowConflict;
                found.push((other.origin, Finding { class, count: 1, at, other: Some(place), numbers }));
            }
        }
    }
    found
}

impl Access {
    fn accumulates(&self) -> bool {
        self.what & 0xff == ACCUMULATE
    }

    /// Whether both use some byte.
    fn has_common(&self, other: &Access) -> bool {
        self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end
    }

    fn is_by_call_that_writes(&self) -> bool {
        !matches!(self.what, GET | READ | TOUCH | CHANGE)
    }

    /// Whether both use some byte, so that the order matters.
    fn conflicts(&self, other: &Access) -> bool {
        let (one, two) = (self.what & 0xff, other.what & 0xff);
        let is_own = |what: u64| matches!(what, READ | WRITE | TOUCH | CHANGE);
        // Which bytes a load or store has used is not known: it has if the other one uses all.
        let has_all_of = |one: &Access, other: &Access| {
            !matches!(other.what, TOUCH | CHANGE)
                || (one.bytes.start <= other.bytes.start && other.bytes.end <= one.bytes.end)
        };
        let is_common = self.has_common(other) && has_all_of(self, other) && has_all_of(other, self);
        if !is_common || (is_own(one) && is_own(two)) {
            return false;
        }
        let op = |what: u64| what >> 16 & 0xffff;
        let reads = |what: u64| {
            matches!(what & 0xff, GET | READ | TOUCH) || what & 0xff == ACCUMULATE && op(what) == NO_OP
        };
        if one != ACCUMULATE || two != ACCUMULATE {
            return !(reads(self.what) && reads(other.what));
        }
        // Examples of the standard replace, compare and add at one place.
        let is_arithmetic = |what: u64| op(what) != NO_OP && op(what) != REPLACE;
        self.what >> 32 != other.what >> 32
            || (is_arithmetic(self.what) && is_arithmetic(other.what) && op(self.what) != op(other.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(origin: u32, what: u64, bytes: Range<i64>, epoch: u64) -> Access {
        let place = CallPlace { function: 0, module: None, offset: 0 };
        Access { origin, target: 0, what, bytes, epoch, step: 0, place }
    }

    #[test]
    fn accesses_that_overlap_conflict_unless_they_only_read_or_do_one_operation() {
        let one = |what| access(1, what, 0..4, FENCED);
        let sum = ACCUMULATE | 33 << 16;
        let product = ACCUMULATE | 34 << 16;
        let replaces = ACCUMULATE | REPLACE << 16;
        let looks = ACCUMULATE | NO_OP << 16;
        for (what, other, conflicts) in [
            (GET, GET, false),
            (GET, READ, false),
            (GET, PUT, true),
            (GET, looks, false),
            (GET, sum, true),
            (PUT, PUT, true),
            (PUT, READ, true),
            (GET, WRITE, true),
            (READ, WRITE, false),
            (sum, sum, false),
            (sum, product, true),
            (sum, replaces, false),
            (sum, sum | 7 << 32, true),
            (PUT, looks, true),
            (GET, TOUCH, false),
            (PUT, TOUCH, true),
            (sum, TOUCH, true),
            (GET, CHANGE, true),
            (CHANGE, TOUCH, false),
        ] {
            assert_eq!(one(what).conflicts(&one(other)), conflicts, "{what:x} {other:x}");
            assert_eq!(one(other).conflicts(&one(what)), conflicts, "{other:x} {what:x}");
        }
        assert!(!one(PUT).conflicts(&access(1, PUT, 4..8, FENCED)));
        // Some of its bytes are not those of a load or store.
        assert!(!one(PUT).conflicts(&access(1, TOUCH, 0..8, FENCED)));
        assert!(access(1, PUT, 0..12, FENCED).conflicts(&access(1, TOUCH, 4..12, FENCED)));
    }
}
