//! The observation memory of a node: what ranks leave in it, their launcher reads at any time, also after they died.
//!
//! ```text
//!   mpiexec's process on the node                        a rank of the node
//!     makes the file before the ranks begin                gets the descriptor with its job record (pmi)
//!     holds it as long as the job lives ──── one file ──── maps it, and writes into its own section only
//!     copies sections out, whatever the ranks do           never reads another one's section
//!
//!   section of one rank, words of 64 bits:
//!   │ header 40 │ modules: HEADS x 8, paths │ waits: SLOTS x 128, calls that have begun │ live: counts, LINES x 4 │
//! ```
//!
//! # Contract
//!
//! - The file is made, allocated and sealed by the process that starts the ranks. It has a section for each rank, all of one
//!   length, and is all zero at first. A job without such a process (a singleton, another launcher) has none.
//! - Section `p` belongs to the rank at place `p` of the node (`pmi::Job::local_index`). Only that process writes it, but for one
//!   word, by which a reader asks for more ([`Section::ask`]). Where
//!   several of its threads write, they exclude each other: header, modules and waits are written under the lock of the
//!   library's state.
//! - A reader copies and checks. It gets torn rows where the owner writes meanwhile; a [`Wait`] is never torn, since its
//!   slot has a turn that is odd while it is written. No index, length or text of a section is believed.
//! - Addresses mean nothing once a process is gone. So the rank writes the module of each address that it leaves:
//!   [`Section::note_address`] does that once for each module, and is cheap afterwards. A reader turns an address into module and
//!   offset by [`Modules::place_of`]; names are found outside the library.
//! - The file stays mapped until the process ends. A forked child does not have it, and must not touch it.
//! - Programs may begin one after the other in the place of a rank (`sh -c "./a; ./b"`): each set of programs gets a file of its own.
//!
//! Nothing of this is on the way of a message. What a wait writes, it writes after it has waited for [`QUIET`], or because it was
//! asked.
#![forbid(unsafe_code)]

pub mod live;
mod modules;
mod text;
mod waits;

use std::cell::Cell;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use platform::memory_file::MemoryFile;
use shm::{MapError, SharedMemory};

pub use live::{Figures, Line, Shown, Work};
pub use modules::{Module, ModuleOffset, Modules};
pub use waits::{Begun, FRAMES, Kind, Need, ORIGINS, Part, SLOTS, Slot, Targets, Wait};

/// After this time a wait writes what it waits for: long beside any message, short beside any user's patience.
pub const QUIET: Duration = Duration::from_millis(1000);

const HEADER: usize = 40;
const SECTION: usize = HEADER + modules::WORDS + waits::WORDS + live::WORDS;

/// Words of the header.
mod at {
    pub const STATE: usize = 0;
    pub const PID: usize = 1;
    pub const RANK: usize = 2;
    pub const LEVEL: usize = 3;
    pub const UNSEEN: usize = 4;
    pub const DEADLOCK_AFTER: usize = 5;
    pub const DEADLOCK_ENDS: usize = 6;
    /// The rank measures its own waits, whether a reader looks or not.
    pub const MEASURES: usize = 7;
    /// The number of addresses of [`super::Section::note_failure`], and the addresses.
    pub const FAILED: usize = 15;
    /// Where what that call is about began, as far as that is known.
    pub const ORIGINS: usize = 32;
}

/// The mapped file.
#[derive(Debug)]
pub struct Area {
    memory: SharedMemory,
    ranks: usize,
}

impl Area {
    /// Bytes of the file for so many ranks.
    pub const fn bytes(ranks: usize) -> u64 {
        (ranks * SECTION * size_of::<u64>()) as u64
    }

    /// A new file for so many ranks of a node, allocated and sealed.
    ///
    /// # Errors
    /// The system's: no memory.
    pub fn create(ranks: usize) -> std::io::Result<MemoryFile> {
        let file = MemoryFile::create(Area::bytes(ranks))?;
        file.allocate()?;
        Ok(file)
    }

    /// Maps a file for so many ranks.
    ///
    /// # Errors
    /// [`MapError`]; a file of another layout is `TooShort`.
    pub fn map(file: &MemoryFile, ranks: usize) -> Result<Arc<Area>, MapError> {
        let (have, need) = (file.bytes, Area::bytes(ranks));
        if have != need || ranks == 0 {
            return Err(MapError::TooShort { have, need });
        }
        Ok(Arc::new(Area { memory: SharedMemory::map(file)?, ranks }))
    }

    /// The section of the rank at `place` of the node; `None`: there are not so many.
    pub fn section(self: &Arc<Area>, place: usize) -> Option<Section> {
        (place < self.ranks).then(|| Section { area: self.clone(), place })
    }
}

/// What the rank of a section does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It has not called `MPI_Init`, or calls it now.
    Before,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Running,
    /// After `MPI_Finalize`.
    Finalized,
}

/// The section of one rank.
#[derive(Clone, Debug)]
pub struct Section {
    area: Arc<Area>,
    place: usize,
}

impl Section {
    /// Its place on the node.
    pub fn place(&self) -> usize {
        self.place
    }

    /// The owner: who it is. `level`: the thread level in force, as the ABI numbers it.
    pub fn announce(&self, rank: u32, level: i32) {
        self.header(at::RANK).store(rank.into(), Relaxed);
        self.header(at::LEVEL).store(level as u64, Relaxed);
        // Release: pairs with the Acquire in `pid`.
        self.header(at::PID).store(std::process::id().into(), Release);
    }

    /// The owner: when waits count as long, in milliseconds, and whether a dead-lock ends the job. Waits are shown from then on.
    pub fn find_deadlocks(&self, after: Duration, ends: bool) {
        self.header(at::DEADLOCK_ENDS).store(ends.into(), Relaxed);
        // Release: pairs with the Acquire in `deadlocks`.
        self.header(at::DEADLOCK_AFTER).store(after.as_millis() as u64, Release);
    }

    /// What [`Section::find_deadlocks`] has set; `None`: dead-locks are not looked for.
    pub fn deadlocks(&self) -> Option<(Duration, bool)> {
        let after = self.header(at::DEADLOCK_AFTER).load(Acquire);
        let ends = self.header(at::DEADLOCK_ENDS).load(Relaxed) != 0;
        (after != 0).then(|| (Duration::from_millis(after), ends))
    }

    /// The owner: what it does.
    pub fn set_state(&self, state: State) {
        // Release: pairs with the Acquire in `state`; what the rank has announced before is seen then.
        self.header(at::STATE).store(state as u64, Release);
    }

    /// What it does.
    pub fn state(&self) -> State {
        match self.header(at::STATE).load(Acquire) {
            1 => State::Running,
            2 => State::Finalized,
            _ => State::Before,
        }
    }

    /// Its process id in its own pid namespace; 0: it has not announced itself. Rank and level are there once this is.
    pub fn pid(&self) -> i32 {
        self.header(at::PID).load(Acquire) as i32
    }

    /// Its rank in the job.
    pub fn rank(&self) -> u32 {
        self.header(at::RANK).load(Relaxed) as u32
    }

    /// The thread level in force, as the ABI numbers it.
    pub fn level(&self) -> i32 {
        self.header(at::LEVEL).load(Relaxed) as i32
    }

    /// The owner: writes the module that `address` lies in, unless it is there. It asks the loader, which takes its lock:
    /// not to be called from a signal handler. To be called by one thread at a time.
    pub fn note_address(&self, address: u64) {
        modules::note(self.module_words(), address);
    }

    /// The owner: a call of MPI has failed, which ends the job; the way to it, the innermost address first, and where what it is about
    /// began. The modules are written already.
    pub fn note_failure(&self, frames: &[u64], origins: &[u64]) {
        let places = &self.words()[at::ORIGINS..][..ORIGINS];
        places.iter().zip(origins).for_each(|(word, &origin)| word.store(origin, Relaxed));
        let words = &self.words()[at::FAILED..at::ORIGINS];
        words[1..].iter().zip(frames).for_each(|(word, &frame)| word.store(frame, Relaxed));
        words[0].store(frames.len().min(FRAMES) as u64, Release);
    }

    /// What [`Section::note_failure`] has written, the way and the origins; empty: no call has failed.
    pub fn failed_call(&self) -> [Vec<u64>; 2] {
        let words = &self.words()[at::FAILED..at::ORIGINS];
        let count = usize::try_from(words[0].load(Acquire)).unwrap_or(0);
        let frames = words[1..].iter().take(count).map(|word| word.load(Relaxed));
        let origins = self.words()[at::ORIGINS..][..ORIGINS].iter().map(|word| word.load(Relaxed));
        [frames.collect(), origins.filter(|&origin| origin != 0).collect()]
    }

    /// The modules that the rank has written.
    pub fn modules(&self) -> Modules {
        modules::all(self.module_words())
    }

    /// The owner: a thread waits. Gives the slot, to be given back when the wait ends; `None`: all are taken, and the rank
    /// counts as running until [`Section::end_wait`] gets that `None`.
    pub fn begin_wait(&self, wait: &Wait) -> Option<usize> {
        let slot = waits::begin(self.wait_words(), wait);
        if slot.is_none() {
            self.count_unseen(1);
        }
        slot
    }

    /// The owner: the wait of that slot is over.
    pub fn end_wait(&self, slot: Option<usize>) {
        match slot {
            Some(number) => waits::end(self.wait_words(), number),
            None => self.count_unseen(u64::MAX),
        }
    }

    fn count_unseen(&self, change: u64) {
        let unseen = self.header(at::UNSEEN);
        unseen.store(unseen.load(Relaxed).wrapping_add(change), Release);
    }

    /// How many threads wait without a slot.
    pub fn unseen(&self) -> u64 {
        self.header(at::UNSEEN).load(Acquire)
    }

    /// What the rank's threads wait for. A slot that is written just now is left out.
    pub fn waits(&self) -> Vec<Slot> {
        waits::all(self.wait_words())
    }

    /// The owner, before a wait begins: the collective calls that have begun, which go on meanwhile, with what each lacks.
    pub fn show_begun(&self, calls: &[Part]) {
        waits::show_begun(self.wait_words(), calls);
    }

    /// What [`Section::show_begun`] has written last; `None`: the rank writes it just now.
    pub fn begun(&self) -> Option<Begun> {
        waits::begun(self.wait_words())
    }

    /// A reader: asks the rank for what it has now. `question` is another one each time, and not 0.
    pub fn ask(&self, question: u64) {
        live::set_question(self.live_words(), question);
    }

    /// The launcher: it has sent the rank something, which that reads when it makes progress.
    pub fn call(&self) {
        live::call(self.live_words());
    }

    /// A reader: no answer is wanted any more.
    pub fn ask_no_more(&self) {
        let measures = self.header(at::MEASURES).load(Relaxed) != 0;
        self.ask(if measures { live::OWN } else { 0 });
    }

    /// The owner: from now on its waits are measured whether a reader looks or not; see [`waited`].
    pub fn measure_waits(&self) {
        self.header(at::MEASURES).store(1, Relaxed);
        live::ask_oneself(self.live_words());
    }

    /// What the rank has shown last; `None`: nothing, or it writes just now.
    pub fn shown(&self) -> Option<Shown> {
        live::read(self.live_words())
    }

    /// The owner, one thread at a time: what it has now. `each` passes all lines on.
    pub fn show(&self, figures: &Figures, each: impl FnOnce(&mut dyn FnMut(Line))) {
        live::write(self.live_words(), platform::clock::nanoseconds(), figures, each);
    }

    /// How many threads of the rank wait, and nanoseconds for which its threads have waited while tools looked, both at `now`.
    pub fn blocked(&self, now: u64) -> (u64, u64) {
        live::blocked_until(self.live_words(), now)
    }

    fn words(&self) -> &[AtomicU64] {
        &self.area.memory.words(SECTION * self.area.ranks)[self.place * SECTION..][..SECTION]
    }

    fn header(&self, word: usize) -> &AtomicU64 {
        &self.words()[word]
    }

    fn module_words(&self) -> &[AtomicU64] {
        &self.words()[HEADER..][..modules::WORDS]
    }

    fn wait_words(&self) -> &[AtomicU64] {
        &self.words()[HEADER + modules::WORDS..][..waits::WORDS]
    }

    fn live_words(&self) -> &[AtomicU64] {
        &self.words()[HEADER + modules::WORDS + waits::WORDS..][..live::WORDS]
    }
}

static OWN: OnceLock<Section> = OnceLock::new();
/// The words by which the own process shows what it has.
static LIVE: OnceLock<&[AtomicU64]> = OnceLock::new();

/// The section of this process, once `MPI_Init` has joined the job; `None`: it has none.
pub fn own() -> Option<&'static Section> {
    OWN.get()
}

/// Makes `section` that of this process. The first one stays.
pub fn set_own(section: Section) -> &'static Section {
    let own = OWN.get_or_init(|| section);
    LIVE.get_or_init(|| own.live_words());
    own
}

/// Whether a reader has asked this process for what it has now, and has no answer yet. A few instructions.
#[inline]
pub fn is_asked() -> bool {
    LIVE.get().is_some_and(|words| {
        let question = live::ask(words).load(Relaxed);
        question != 0 && question != live::answered(words)
    })
}

thread_local! {
    static WAITED: Cell<u64> = const { Cell::new(0) };
}

/// Nanoseconds for which the calling thread has waited in calls while waits were measured ([`Section::measure_waits`], or a reader
/// looked). Of a wait in which the program was called, that has waited itself, each nanosecond counts once.
pub fn waited() -> u64 {
    WAITED.get()
}

thread_local! {
    static CALL_ORIGINS: Cell<[u64; ORIGINS]> = const { Cell::new([0; ORIGINS]) };
}

/// A tool that follows requests: the calls that began what the next call of this thread waits for return to these addresses. None: it
/// is not known.
pub fn set_call_origins(addresses: &[u64]) {
    let mut origins = [0; ORIGINS];
    origins.iter_mut().zip(addresses).for_each(|(origin, &address)| *origin = address);
    CALL_ORIGINS.set(origins);
}

/// What [`set_call_origins`] has set for this thread.
pub fn call_origins() -> Vec<u64> {
    CALL_ORIGINS.get().into_iter().filter(|&origin| origin != 0).collect()
}

/// Whether the launcher has called this process since it was last asked.
pub fn take_call() -> bool {
    LIVE.get().is_some_and(|words| live::take_call(words))
}

/// A thread of this process that waits while waits are measured; its time counts until this is dropped.
#[derive(Debug)]
pub struct Blocked {
    words: &'static [AtomicU64],
    since: u64,
    waited: u64,
}

impl Blocked {
    /// The calling thread begins to wait; `None`: no reader looks, and waits are not measured.
    #[inline]
    pub fn begin() -> Option<Blocked> {
        let words = LIVE.get().filter(|words| live::ask(words).load(Relaxed) != 0)?;
        let since = platform::clock::nanoseconds();
        live::begin_blocked(words, since);
        Some(Blocked { words, since, waited: waited() })
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let now = platform::clock::nanoseconds();
        live::end_blocked(self.words, self.since, now);
        WAITED.set(self.waited + now.saturating_sub(self.since));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area_of_one() -> Arc<Area> {
        Area::map(&Area::create(1).unwrap(), 1).unwrap()
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        for ranks in [1, 2, 7, 128] {
            let file = |bytes| MemoryFile::create(bytes).unwrap();
            assert!(Area::map(&file(Area::bytes(ranks)), ranks).is_ok());
            for bytes in [Area::bytes(ranks) - 1, Area::bytes(ranks) + 1, Area::bytes(ranks) + 8, 8] {
                assert!(matches!(Area::map(&file(bytes), ranks), Err(MapError::TooShort { .. })));
            }
        }
        assert!(matches!(Area::map(&Area::create(1).unwrap(), 0), Err(MapError::TooShort { .. })));
    }

    #[test]
    fn sections_are_apart() {
        assert!(area_of_one().section(1).is_none());
        let file = Area::create(3).unwrap();
        let area = Area::map(&file, 3).unwrap();
        let sections: Vec<Section> = (0..3).map(|place| area.section(place).unwrap()).collect();
        for section in &sections {
            section.announce(section.place() as u32 + 10, 0);
            section.set_state(State::Running);
            section.live_words().iter().for_each(|word| word.store(u64::MAX, Relaxed));
        }
        for section in &sections {
            assert_eq!((section.rank(), section.level()), (section.place() as u32 + 10, 0));
            assert_eq!(section.state(), State::Running);
            assert_eq!(section.pid() as u32, std::process::id());
            assert!(section.waits().is_empty() && section.modules().is_empty());
        }
        assert!(Area::map(&file, 4).is_err());
    }

    #[test]
    fn waits_within_a_wait_count_once() {
        let section = set_own(area_of_one().section(0).unwrap());
        assert!(Blocked::begin().is_none());
        section.measure_waits();
        assert!(!is_asked());
        let outer = Blocked::begin().expect("waits are measured");
        drop(Blocked::begin());
        let inner = waited();
        let since = outer.since;
        drop(outer);
        assert!(waited() >= inner && waited() <= platform::clock::nanoseconds() - since);
        // A reader comes and goes: the rank answers, and goes on measuring.
        section.ask(5);
        assert!(is_asked());
        section.ask_no_more();
        section.show(&Figures::default(), |_| {});
        assert!(!is_asked() && Blocked::begin().is_some());
    }

    #[test]
    fn a_thread_without_a_slot_is_counted() {
        let section = area_of_one().section(0).unwrap();
        let wait = Wait {
            thread: 1,
            since: 0,
            call: String::new(),
            frames: vec![],
            origins: vec![],
            need: Need::All,
            parts: vec![],
        };
        let slots: Vec<_> = (0..SLOTS + 2).map(|_| section.begin_wait(&wait)).collect();
        assert_eq!((section.waits().len(), section.unseen()), (SLOTS, 2));
        slots.into_iter().for_each(|slot| section.end_wait(slot));
        assert_eq!((section.waits().len(), section.unseen()), (0, 0));
        section.note_address(Area::create as *const () as u64);
        assert!(!section.modules().is_empty());
        section.note_failure(&[7; 40], &[8]);
        assert_eq!(section.failed_call(), [vec![7; FRAMES], vec![8]]);
        set_call_origins(&[0, 3, 4, 5, 6, 7]);
        assert_eq!(call_origins(), [3, 4, 5]);
        set_call_origins(&[]);
        assert_eq!(call_origins(), []);
    }
}
