//! What a rank shows of itself while a tool looks: counts, and the messages and requests that are not done.
//!
//! ```text
//!   │ ASK │ ANSWERED │ at │ counts: FIGURES │ blocked: threads and their beginnings, total │ of each kind, and of lines: how many │ lines: LINES x 4 │
//! ```
//! **Asking.** ASK is the one word that a rank does not write: a reader puts a number there, another one each time, and 0 when it
//! looks no more ([`OWN`] where the rank measures its waits for itself). The rank answers where it makes progress, and where it has slept for long; a rank that computes does not.
//! Without a question nothing of this is written but where a wait is shown ([`crate::QUIET`]).
//!
//! **Lines** are cut after [`LINES`]; the numbers beside them are not.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// Lines of a rank at most.
pub const LINES: usize = 120;

const HEAD: usize = 3;
const FIGURES: usize = 3;
const BLOCKED: usize = 2;
const COUNTS: usize = ENTRIES.len() + 1;
const LINE: usize = 4;

pub const WORDS: usize = HEAD + FIGURES + BLOCKED + COUNTS + LINES * LINE;

/// What a rank has counted since it began.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Messages sent.
    pub messages: u64,
    /// Bytes of payload that its transports have moved for it.
    pub bytes: u64,
    /// Bytes of memory that the payload of messages without a receive takes now.
    pub unexpected_bytes: u64,
}

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A receive that waits for its message.
    Posted,
    /// A message that waits for its receive.
    Unexpected,
    /// A send that waits for its receive, or for room.
    Send,
    /// A message that is being transferred, either way.
    Transfer,
    /// A request of another kind: see [`Work`].
    Request,
}

/// What a request stands for that is no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Something else of the library.
    Other,
    /// A collective call.
    Collective,
    /// A communicator that is being made.
    Communicator,
    /// An operation on a window, or locks that others want.
    Window,
    /// An access to a file.
    File,
    /// A message in partitions.
    Partitions,
    /// A request that the program completes (`MPI_Grequest_start`).
    Program,
    /// An agreement about failures.
    Agreement,
    /// The messages of a buffer of `MPI_Bsend`.
    Buffer,
}

const WORKS: [Work; 9] = [
    Work::Other,
    Work::Collective,
    Work::Communicator,
    Work::Window,
    Work::File,
    Work::Partitions,
    Work::Program,
    Work::Agreement,
    Work::Buffer,
];

/// The kinds of lines, in the order in which they are shown.
pub const ENTRIES: [Entry; 5] =
    [Entry::Posted, Entry::Unexpected, Entry::Send, Entry::Transfer, Entry::Request];

/// A message or request that is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// What it is.
    pub entry: Entry,
    /// What a request stands for.
    pub work: Work,
    /// Rank of the other process in the job; `None`: any, or none of the job. Of a request the first one that it lacks something of.
    pub rank: Option<u32>,
    /// The tag; `None`: any, or there is none.
    pub tag: Option<i32>,
    /// Context of the communicator; 0: not known.
    pub context: u32,
    /// Bytes of the message or of the buffer. Of a request how many ranks it lacks something of.
    pub bytes: u64,
}

/// All that a rank shows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The question that it has answered; 0: none yet.
    pub answered: u64,
    /// When it wrote that, in nanoseconds of `CLOCK_MONOTONIC`; 0: never.
    pub at: u64,
    /// Its counts.
    pub figures: Figures,
    /// How many there are of each of [`ENTRIES`].
    pub counts: [u64; ENTRIES.len()],
    /// Some of them, in the order of [`ENTRIES`].
    pub lines: Vec<Line>,
}

/// The question that stands where no reader asks one, in a rank that measures its own waits.
pub const OWN: u64 = !CALL;

/// The owner: puts that question, and has answered it.
pub fn ask_oneself(words: &[AtomicU64]) {
    // A reader may ask already.
    let unless_asked = |word: u64| (word & !CALL == 0).then_some(word | OWN);
    if words[0].fetch_update(Relaxed, Relaxed, unless_asked).is_ok() {
        words[1].store(OWN, Relaxed);
    }
}

/// The word of the readers: the question of a tool, and whether the launcher calls.
pub fn ask(words: &[AtomicU64]) -> &AtomicU64 {
    &words[0]
}

/// The launcher has sent something that the rank should read. Lies beside a tool's question.
const CALL: u64 = 1 << 63;

/// A tool: its question, or that it has none.
pub fn set_question(words: &[AtomicU64], question: u64) {
    let with = |word: u64| Some(word & CALL | question & !CALL);
    // Release: pairs with the owner's load in `write`. The function never refuses.
    let _ = words[0].fetch_update(Release, Relaxed, with);
}

/// The launcher calls.
pub fn call(words: &[AtomicU64]) {
    // Release: pairs with `take_call`.
    words[0].fetch_or(CALL, Release);
}

/// The owner: whether the launcher has called since it was last asked.
pub fn take_call(words: &[AtomicU64]) -> bool {
    words[0].load(Relaxed) & CALL != 0 && words[0].fetch_and(!CALL, Acquire) & CALL != 0
}

/// The owner: the last question that was answered.
pub fn answered(words: &[AtomicU64]) -> u64 {
    words[1].load(Relaxed)
}

/// The owner: writes what it has; one thread at a time. `at`: now. `each` passes all lines on; those without room are counted alone.
pub fn write(words: &[AtomicU64], at: u64, figures: &Figures, each: impl FnOnce(&mut dyn FnMut(Line))) {
    let asked = words[0].load(Acquire) & !CALL;
    let [head, numbers, _, counts, places] = parts(words);
    // A reader that sees one of the new words sees that nothing is answered.
    head[2].store(0, Relaxed);
    fence(Release);
    let Figures { messages, bytes, unexpected_bytes } = *figures;
    put(numbers, [messages, bytes, unexpected_bytes]);
    let (mut all, mut places) = ([0; ENTRIES.len()], places.chunks_exact(LINE));
    each(&mut |line| {
        all[line.entry as usize] += 1;
        if let Some(place) = places.next() {
            write_line(place, &line);
        }
    });
    put(counts, all.into_iter().chain([(LINES - places.len()) as u64]));
    head[1].store(asked, Relaxed);
    // Release: pairs with the Acquire in `read`.
    head[2].store(at.max(1), Release);
}

fn put(words: &[AtomicU64], values: impl IntoIterator<Item = u64>) {
    words.iter().zip(values).for_each(|(word, value)| word.store(value, Relaxed));
}

/// What the owner has written last; `None`: nothing, or it writes just now.
pub fn read(words: &[AtomicU64]) -> Option<Shown> {
    // Acquire: pairs with the last Release in `write`.
    let at = words[2].load(Acquire);
    let copy: Vec<u64> = words.iter().map(|word| word.load(Relaxed)).collect();
    fence(Acquire);
    if at == 0 || words[2].load(Relaxed) != at {
        return None;
    }
    let [head, numbers, _, counts, places] = parts(&copy);
    let (&[messages, bytes, unexpected_bytes], [counts @ .., used]) = (numbers, counts) else { return None };
    let used = usize::try_from(*used).unwrap_or(LINES);
    let mut lines: Vec<Line> = places.chunks_exact(LINE).take(used).filter_map(read_line).collect();
    lines.sort_by_key(|line| line.entry as usize);
    Some(Shown {
        answered: head[1],
        at,
        figures: Figures { messages, bytes, unexpected_bytes },
        counts: counts.try_into().ok()?,
        lines,
    })
}

/// Head, figures, times of waiting, counts and lines.
fn parts<T>(words: &[T]) -> [&[T]; 5] {
    let (head, rest) = words.split_at(HEAD);
    let (figures, rest) = rest.split_at(FIGURES);
    let (blocked, rest) = rest.split_at(BLOCKED);
    let (counts, lines) = rest.split_at(COUNTS);
    [head, figures, blocked, counts, lines]
}

fn write_line(words: &[AtomicU64], line: &Line) {
    let flags = line.entry as u64
        | u64::from(line.rank.is_some()) << 8
        | u64::from(line.tag.is_some()) << 9
        | (line.work as u64) << 16
        | u64::from(line.context) << 32;
    words[0].store(flags, Relaxed);
    words[1].store(line.rank.unwrap_or(0).into(), Relaxed);
    words[2].store(line.tag.unwrap_or(0) as u32 as u64, Relaxed);
    words[3].store(line.bytes, Relaxed);
}

fn read_line(words: &[u64]) -> Option<Line> {
    let &[flags, rank, tag, bytes] = words else { return None };
    Some(Line {
        entry: *ENTRIES.get((flags & 0xff) as usize)?,
        work: *WORKS.get((flags >> 16 & 0xff) as usize)?,
        rank: (flags & 1 << 8 != 0).then_some(rank as u32),
        tag: (flags & 1 << 9 != 0).then_some(tag as u32 as i32),
        context: (flags >> 32) as u32,
        bytes,
    })
}

/// Bits that count the threads that wait; above them are their beginnings in microseconds, added up without their carry.
const THREADS: u32 = 16;

/// One thread, and when it began. In one word, so that a reader has as many threads as beginnings.
fn since_word(since: u64) -> u64 {
    1 + ((since / 1000) << THREADS)
}

/// The owner, any thread: it begins to wait at `now`.
pub fn begin_blocked(words: &[AtomicU64], now: u64) {
    let [waiting, _] = blocked(words);
    waiting.fetch_add(since_word(now), Relaxed);
}

/// The owner, the thread that began to wait at `since`: it goes on at `now`.
pub fn end_blocked(words: &[AtomicU64], since: u64, now: u64) {
    let [waiting, total] = blocked(words);
    total.fetch_add(now.saturating_sub(since), Relaxed);
    // Release: pairs with the Acquire in `blocked_until`; a reader that no longer finds the thread finds its time in the total.
    waiting.fetch_sub(since_word(since), Release);
}

/// How many threads wait at `now`, and nanoseconds for which threads have waited while tools looked. A wait that ends meanwhile
/// may count twice this time.
pub fn blocked_until(words: &[AtomicU64], now: u64) -> (u64, u64) {
    let [waiting, total] = blocked(words);
    // Acquire: what the total lacks is still among the waiting.
    let waiting = waiting.load(Acquire);
    let threads = waiting & ((1 << THREADS) - 1);
    let lasted = (now / 1000).wrapping_mul(threads).wrapping_sub(waiting >> THREADS) << THREADS >> THREADS;
    // What a reader's clock read before the last thread began is no time.
    let lasted = if lasted >> (63 - THREADS) == 0 { lasted } else { 0 };
    (threads, total.load(Relaxed).wrapping_add(lasted * 1000))
}

fn blocked(words: &[AtomicU64]) -> [&AtomicU64; BLOCKED] {
    let [_, _, [first, second], ..] = parts(words) else { unreachable!("the words are as many") };
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    fn line(number: u32) -> Line {
        let entry = ENTRIES[number as usize % ENTRIES.len()];
        Line {
            entry,
            work: WORKS[number as usize % WORKS.len()],
            rank: (!number.is_multiple_of(3)).then_some(number),
            tag: Some(-(number as i32)),
            context: number,
            bytes: 8,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let words = empty();
        assert_eq!(read(&words), None);
        ask(&words).store(7, Relaxed);
        let figures = Figures { messages: 1, bytes: 2, unexpected_bytes: 5 };
        write(&words, 99, &figures, |shown| (0..5).map(line).for_each(shown));
        let shown = read(&words).unwrap();
        assert_eq!((shown.answered, shown.at, shown.figures, shown.counts), (7, 99, figures, [1; 5]));
        assert_eq!(shown.lines, (0..5).map(line).collect::<Vec<_>>());
        assert_eq!(answered(&words), 7);
    }

    #[test]
    fn a_call_of_the_launcher_and_the_question_of_a_tool_lie_beside_each_other() {
        let words = empty();
        assert!(!take_call(&words));
        call(&words);
        set_question(&words, 7);
        set_question(&words, 0);
        assert!(take_call(&words) && !take_call(&words));
        set_question(&words, 9);
        call(&words);
        write(&words, 1, &Figures::default(), |_| {});
        assert_eq!(answered(&words), 9);
        assert!(take_call(&words));
        assert_eq!(ask(&words).load(Relaxed), 9);
    }

    #[test]
    fn lines_are_cut_and_counted() {
        let words = empty();
        write(&words, 1, &Figures::default(), |shown| (0..1000).map(line).for_each(shown));
        let shown = read(&words).unwrap();
        assert_eq!((shown.lines.len(), shown.counts), (LINES, [200; 5]));
    }

    #[test]
    fn no_word_is_believed() {
        let words = empty();
        words.iter().for_each(|word| word.store(u64::MAX, Relaxed));
        assert_eq!(read(&words).unwrap().lines, []);
        blocked_until(&words, u64::MAX);
    }

    #[test]
    fn waits_of_several_threads_add_up() {
        let words = empty();
        begin_blocked(&words, 100_000);
        begin_blocked(&words, 110_000);
        assert_eq!(blocked_until(&words, 120_000), (2, 30_000));
        end_blocked(&words, 100_000, 130_000);
        assert_eq!(blocked_until(&words, 140_000), (1, 60_000));
        end_blocked(&words, 110_000, 140_000);
        assert_eq!(blocked_until(&words, 200_000), (0, 60_000));
        // The beginnings are added up without their carry, and a reader's clock may be behind.
        let late = u64::MAX / 3;
        (0..5).for_each(|_| begin_blocked(&words, late));
        assert_eq!(blocked_until(&words, late + 2_000), (5, 60_000 + 10_000));
        assert_eq!(blocked_until(&words, late - 2_000), (5, 60_000));
    }

    #[test]
    fn threads_and_beginnings_are_read_together() {
        let words = empty();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for now in (1_000_000_000..).step_by(1000).take(20_000) {
                    begin_blocked(&words, now);
                    end_blocked(&words, now, now + 1000);
                }
                over.store(true, Release);
            });
            while !over.load(Acquire) {
                let (threads, waited) = blocked_until(&words, 1_020_001_000);
                // All of the waits, and the longest twice.
                assert!(threads <= 1 && waited <= 20_000 * 1000 + 20_001_000, "{waited}");
            }
        });
        assert_eq!(blocked_until(&words, 0), (0, 20_000 * 1000));
    }
}
