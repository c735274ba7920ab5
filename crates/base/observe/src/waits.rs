//! What the threads of a rank wait for.
//!
//! ```text
//!   a slot, 128 words:
//!   │ turn │ thread │ since │ need │ parts, runs, frames │ call 4 │ FRAMES addresses │ ORIGINS addresses │ PARTS x 4 │ RUNS │
//!
//!   turn: odd while the owner writes; it goes up by two whenever a thread begins or ends a wait in the slot.
//!   A thread number of 0: the slot is free.
//! ```
//! **Order.** The owner makes the turn odd, writes, and makes it even. A reader takes the words between two reads of an
//! even turn. A rank that had the same turn in two reads has not left that wait in between: a wait ends by freeing its slot.
//!
//! **Collective calls that have begun** and go on whatever the rank waits for have a table of their own ([`Begun`]), written when a
//! wait begins: a rank that sleeps moves none of them.
//!
//! **What does not fit** only ever makes a wait look more hopeful than it is. Of parts that are all needed some may be
//! missing; where any one of several is enough, what is missing is the outside.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

use crate::text;

/// Threads of a rank whose waits are seen; with more, the rank counts as running.
pub const SLOTS: usize = 8;
/// Return addresses that are kept of each.
pub const FRAMES: usize = 16;
/// Places that are kept of each, where what it waits for began.
pub const ORIGINS: usize = 4;

const PARTS: usize = 16;
const PART: usize = 4;
const RUNS: usize = 35;
const CALL: usize = 4;
const FIXED: usize = 5;
/// Collective calls that have begun of which others see what they lack, and runs of the ranks that they lack.
const BEGUN: usize = 32;
const BEGUN_RUNS: usize = 96;
const SLOT: usize = FIXED + CALL + FRAMES + ORIGINS + PARTS * PART + RUNS;

const BEGUN_WORDS: usize = 2 + BEGUN * PART + BEGUN_RUNS;

pub const WORDS: usize = SLOTS * SLOT + BEGUN_WORDS;

/// How many of several are needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Each of them.
    All,
    /// Any one.
    Any,
}

/// What a part of a wait is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A message from the targets.
    Receive,
    /// A receive by the targets, or progress there.
    Send,
    /// The next step of the targets in a collective call, which this rank has begun; with a [`Part::round`], their arrival there, also in
    /// a call that synchronises.
    Collective,
    /// A lock of a window that the targets hold, or their answer about it.
    Lock,
    /// An epoch of a window that the targets begin or end.
    Epoch,
    /// Something else of the targets.
    Other,
}

const KINDS: [Kind; 6] = [Kind::Receive, Kind::Send, Kind::Collective, Kind::Lock, Kind::Epoch, Kind::Other];

/// On whom a part of a wait depends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Targets {
    /// Ranks of the own job, as runs from the first to the last.
    Ranks(Vec<(u32, u32)>),
    /// Anything that is no rank of the job, or is not known: another job, a file's lock, a thread of the program.
    Outside,
}

impl Targets {
    /// One rank.
    pub fn rank(rank: u32) -> Targets {
        Targets::Ranks(vec![(rank, rank)])
    }

    /// These ranks but `own`, in any order.
    pub fn others(ranks: impl IntoIterator<Item = u32>, own: u32) -> Targets {
        let mut ranks: Vec<u32> = ranks.into_iter().filter(|&rank| rank != own).collect();
        ranks.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for rank in ranks {
            match runs.last_mut() {
                Some((_, last)) if rank <= last.saturating_add(1) => *last = rank,
                _ => runs.push((rank, rank)),
            }
        }
        Targets::Ranks(runs)
    }

    /// Each of the ranks below `size`.
    pub fn ranks(&self, size: u32) -> impl Iterator<Item = u32> + '_ {
        let runs: &[(u32, u32)] = if let Targets::Ranks(runs) = self { runs } else { &[] };
        runs.iter().flat_map(move |&(first, last)| first..last.saturating_add(1).min(size))
    }
}

/// One of the things that a wait is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is about.
    pub kind: Kind,
    /// How many of the targets are needed.
    pub need: Need,
    /// Who can bring it about.
    pub targets: Targets,
    /// The tag of a message; `None`: any, or it has none. With the context it names a collective call.
    pub tag: Option<i32>,
    /// A number that communicator or window has in all its processes; 0: not known.
    pub context: u32,
    /// The number of the meeting that all targets are to come to: one that waits for the same one has come.
    pub round: Option<u32>,
}

impl Part {
    /// Something that no rank of the job alone brings about, or of which that is not known.
    pub fn outside() -> Part {
        Part {
            kind: Kind::Other,
            need: Need::All,
            targets: Targets::Outside,
            tag: None,
            context: 0,
            round: None,
        }
    }

    /// Whether both are about the same collective call.
    pub fn is_of_call(&self, other: &Part) -> bool {
        let call = |part: &Part| (part.kind, part.context, part.tag);
        self.kind == Kind::Collective && call(self) == call(other)
    }
}

/// What one thread waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The thread, as the kernel numbers it in the rank's own pid namespace.
    pub thread: i32,
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub since: u64,
    /// The call: `MPI_Recv`.
    pub call: String,
    /// Return addresses, the innermost first.
    pub frames: Vec<u64>,
    /// Return addresses of the calls that began what it waits for, [`ORIGINS`] at most; empty: that is not known, or this call did.
    pub origins: Vec<u64>,
    /// How many of the parts are needed.
    pub need: Need,
    /// What it is for. Empty: it lacks nothing if all are needed, and never ends if any one is.
    pub parts: Vec<Part>,
}

/// A wait as it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Number of the slot.
    pub number: usize,
    /// Turn of the slot: the same as before, and the thread has not left the wait.
    pub turn: u64,
    /// What is waited for.
    pub wait: Wait,
}

/// The collective calls that a rank has begun and that are not over, each with what it lacks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Begun {
    /// The same as before, and the table was not written in between.
    pub turn: u64,
    /// Calls of the kind [`Kind::Collective`].
    pub calls: Vec<Part>,
    /// There are no others.
    pub is_whole: bool,
}

/// Writes the calls that have begun.
pub fn show_begun(words: &[AtomicU64], calls: &[Part]) {
    let words = begun_words(words);
    let (parts, runs) = words[2..].split_at(BEGUN * PART);
    let turn = open(words);
    let (count, taken) = write_parts(parts, runs, calls, Need::All);
    let is_whole = count == calls.len();
    words[1].store((count | taken << 8 | usize::from(is_whole) << 16) as u64, Relaxed);
    // Release: pairs with the Acquire in `begun`.
    words[0].store(turn + 2, Release);
}

/// What [`show_begun`] has written last; `None`: the owner writes just now, or it is nothing that this library has written.
pub fn begun(words: &[AtomicU64]) -> Option<Begun> {
    let words = begun_words(words);
    let turn = words[0].load(Acquire);
    if turn == 0 {
        return Some(Begun { is_whole: true, ..Begun::default() });
    }
    let copy: Vec<u64> = words.iter().map(|word| word.load(Relaxed)).collect();
    fence(Acquire);
    if turn % 2 == 1 || words[0].load(Relaxed) != turn {
        return None;
    }
    let [count, taken, is_whole, ..] = copy[1].to_le_bytes().map(usize::from);
    let (parts, runs) = copy[2..].split_at(BEGUN * PART);
    let runs = runs.get(..taken)?;
    let calls = parts.get(..count * PART)?.chunks_exact(PART).map(|part| parse_part(part, runs));
    Some(Begun { turn, calls: calls.collect::<Option<_>>()?, is_whole: is_whole != 0 })
}

fn begun_words(words: &[AtomicU64]) -> &[AtomicU64] {
    &words[SLOTS * SLOT..][..BEGUN_WORDS]
}

/// Begins a wait in a free slot, whose number it gives; `None`: all are taken.
pub fn begin(words: &[AtomicU64], wait: &Wait) -> Option<usize> {
    let free = (0..SLOTS).find(|&number| slot(words, number)[1].load(Relaxed) == 0)?;
    write(slot(words, free), wait);
    Some(free)
}

/// Ends the wait in a slot.
pub fn end(words: &[AtomicU64], number: usize) {
    let words = slot(words, number);
    let turn = open(words);
    words[1].store(0, Relaxed);
    words[0].store(turn + 2, Release);
}

/// All waits. A slot that is written just now is left out.
pub fn all(words: &[AtomicU64]) -> Vec<Slot> {
    let read = |number| read(slot(words, number)).map(|(turn, wait)| Slot { number, turn, wait });
    (0..SLOTS).filter_map(read).collect()
}

fn slot(words: &[AtomicU64], number: usize) -> &[AtomicU64] {
    &words[number * SLOT..][..SLOT]
}

/// Makes the turn odd; the one it had. Only the owner writes it.
fn open(words: &[AtomicU64]) -> u64 {
    let turn = words[0].load(Relaxed) & !1;
    words[0].store(turn + 1, Relaxed);
    // Pairs with the fence in `read`: a reader that sees one of the new words sees the odd turn.
    fence(Release);
    turn
}

fn write(words: &[AtomicU64], wait: &Wait) {
    let turn = open(words);
    let (head, rest) = words.split_at(FIXED);
    let (call, rest) = rest.split_at(CALL);
    let (frames, rest) = rest.split_at(FRAMES);
    let (origins, rest) = rest.split_at(ORIGINS);
    let (parts, runs) = rest.split_at(PARTS * PART);
    text::write(call, wait.call.as_bytes());
    frames.iter().zip(&wait.frames).for_each(|(word, &frame)| word.store(frame, Relaxed));
    let known = wait.origins.iter().copied().chain(std::iter::repeat(0));
    origins.iter().zip(known).for_each(|(word, origin)| word.store(origin, Relaxed));
    let (count, taken) = write_parts(parts, runs, &wait.parts, wait.need);
    head[1].store(wait.thread.max(1) as u64, Relaxed);
    head[2].store(wait.since, Relaxed);
    head[3].store(wait.need as u64, Relaxed);
    head[4].store((count | taken << 8 | wait.frames.len().min(FRAMES) << 16) as u64, Relaxed);
    // Release: pairs with the Acquire in `read`.
    words[0].store(turn + 2, Release);
}

/// Writes what fits of parts of which so many are needed; the numbers of parts and runs that were written.
fn write_parts(words: &[AtomicU64], places: &[AtomicU64], parts: &[Part], need: Need) -> (usize, usize) {
    let (room, rooms) = (words.len() / PART, places.len());
    let (mut count, mut taken) = (0, 0);
    for part in parts.iter().take(room) {
        // The last place of a choice is for what has none.
        let is_cut = need == Need::Any && count + 1 == room && parts.len() > room;
        let runs = match &part.targets {
            Targets::Ranks(runs) if !is_cut => {
                let fits = runs.len() <= rooms - taken;
                match (fits, part.need) {
                    (true, _) => Some(&runs[..]),
                    (false, Need::All) => Some(&runs[..rooms - taken]),
                    (false, Need::Any) => None,
                }
            }
            _ => None,
        };
        let word = &words[count * PART..][..PART];
        let flags = part.kind as u64
            | (part.need as u64) << 8
            | u64::from(runs.is_none()) << 16
            | u64::from(part.tag.is_some()) << 17
            | u64::from(part.round.is_some()) << 18;
        word[0].store(flags | u64::from(part.context) << 32, Relaxed);
        let (tag, round) = (part.tag.unwrap_or(0) as u32, part.round.unwrap_or(0));
        word[1].store(u64::from(tag) | u64::from(round) << 32, Relaxed);
        let runs = runs.unwrap_or_default();
        word[2].store((taken | runs.len() << 8) as u64, Relaxed);
        for &(first, last) in runs {
            places[taken].store(u64::from(first) << 32 | u64::from(last), Relaxed);
            taken += 1;
        }
        count += 1;
    }
    (count, taken)
}

fn read(words: &[AtomicU64]) -> Option<(u64, Wait)> {
    // Acquire: pairs with the last Release in `write`.
    let turn = words[0].load(Acquire);
    if turn % 2 == 1 || words[1].load(Relaxed) == 0 {
        return None;
    }
    let copy: Vec<u64> = words.iter().map(|word| word.load(Relaxed)).collect();
    fence(Acquire);
    let wait = (words[0].load(Relaxed) == turn).then(|| parse(&copy))??;
    Some((turn, wait))
}

/// What the words of a slot mean; `None`: nothing that this library has written.
fn parse(words: &[u64]) -> Option<Wait> {
    let (head, rest) = words.split_at(FIXED);
    let (call, rest) = rest.split_at(CALL);
    let (frames, rest) = rest.split_at(FRAMES);
    let (origins, rest) = rest.split_at(ORIGINS);
    let (parts, runs) = rest.split_at(PARTS * PART);
    let thread = i32::try_from(head[1]).ok().filter(|&thread| thread > 0)?;
    let [parts_used, runs_used, frames_used, ..] = head[4].to_le_bytes().map(usize::from);
    let runs = runs.get(..runs_used)?;
    let parts = parts.get(..parts_used * PART)?.chunks_exact(PART);
    let call: Vec<AtomicU64> = call.iter().copied().map(AtomicU64::new).collect();
    Some(Wait {
        thread,
        since: head[2],
        call: text::read(&call),
        frames: frames.get(..frames_used)?.to_vec(),
        origins: origins.iter().copied().filter(|&origin| origin != 0).collect(),
        need: need(head[3])?,
        parts: parts.map(|part| parse_part(part, runs)).collect::<Option<_>>()?,
    })
}

fn parse_part(words: &[u64], runs: &[u64]) -> Option<Part> {
    let [kind, needed, flags, ..] = words[0].to_le_bytes();
    let [from, count, ..] = words[2].to_le_bytes().map(usize::from);
    let run = |&word: &u64| ((word >> 32) as u32, word as u32);
    let targets = match flags & 1 {
        0 => Targets::Ranks(runs.get(from..from + count)?.iter().map(run).collect()),
        _ => Targets::Outside,
    };
    Some(Part {
        kind: *KINDS.get(usize::from(kind))?,
        need: need(needed.into())?,
        targets,
        tag: (flags & 2 != 0).then_some(words[1] as u32 as i32),
        context: (words[0] >> 32) as u32,
        round: (flags & 4 != 0).then_some((words[1] >> 32) as u32),
    })
}

fn need(word: u64) -> Option<Need> {
    match word {
        0 => Some(Need::All),
        1 => Some(Need::Any),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn empty() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    fn any_need() -> impl Strategy<Value = Need> {
        any::<bool>().prop_map(|all| if all { Need::All } else { Need::Any })
    }

    fn any_part() -> impl Strategy<Value = Part> {
        let runs = proptest::collection::vec((any::<u32>(), any::<u32>()), 0..12);
        let targets =
            proptest::option::of(runs).prop_map(|runs| runs.map_or(Targets::Outside, Targets::Ranks));
        let numbers = (any::<Option<i32>>(), any::<u32>(), any::<Option<u32>>());
        (0..KINDS.len(), any_need(), targets, numbers).prop_map(
            |(kind, need, targets, (tag, context, round))| Part {
                kind: KINDS[kind],
                need,
                targets,
                tag,
                context,
                round,
            },
        )
    }

    fn any_wait() -> impl Strategy<Value = Wait> {
        let lists =
            (proptest::collection::vec(any::<u64>(), 0..20), proptest::collection::vec(any_part(), 0..24));
        (1.., any::<u64>(), "[A-Za-z_]{0,40}", any_need(), lists).prop_map(
            |(thread, since, call, need, (frames, parts))| Wait {
                thread,
                since,
                call,
                origins: frames.iter().copied().filter(|&frame| frame != 0).take(3).collect(),
                frames,
                need,
                parts,
            },
        )
    }

    /// Whether a wait that is `read` can end whenever one that is `written` can: no rank counts as stuck for what was cut.
    fn is_no_harder(written: &Wait, read: &Wait) -> bool {
        let easier = |(full, cut): (&Part, &Part)| match (&full.targets, &cut.targets) {
            (_, Targets::Outside) => true,
            (Targets::Ranks(full_runs), Targets::Ranks(runs)) => {
                full_runs == runs || full.need == Need::All && full_runs.starts_with(runs)
            }
            _ => false,
        };
        let shared = written.parts.iter().zip(&read.parts).all(easier);
        let is_whole = written.parts.len() == read.parts.len();
        let has_outside = read.parts.iter().any(|part| part.targets == Targets::Outside);
        shared && (is_whole || written.need == Need::All || has_outside)
    }

    proptest! {
        #[test]
        fn a_wait_is_read_as_it_was_written_or_easier(wait in any_wait()) {
            let words = empty();
            let slot = begin(&words, &wait);
            prop_assert_eq!(slot, Some(0));
            let slot = 0;
            let found = all(&words);
            prop_assert_eq!(found.len(), 1);
            let read = &found[0].wait;
            prop_assert!(is_no_harder(&wait, read), "{:?}", read);
            prop_assert_eq!((read.thread, read.since, read.need), (wait.thread, wait.since, wait.need));
            prop_assert!(wait.call.starts_with(&read.call));
            prop_assert!(wait.frames.starts_with(&read.frames));
            end(&words, slot);
            prop_assert!(all(&words).is_empty());
        }

        #[test]
        fn begun_calls_are_read_as_they_were_written_or_easier(calls in proptest::collection::vec(any_part(), 0..40)) {
            let words = empty();
            prop_assert_eq!(begun(&words), Some(Begun { is_whole: true, ..Begun::default() }));
            show_begun(&words, &calls);
            let read = begun(&words).unwrap();
            prop_assert_eq!((read.is_whole, read.calls.len()), (calls.len() <= BEGUN, calls.len().min(BEGUN)));
            let as_wait = |parts: &[Part]| Wait {
                thread: 1, since: 0, call: String::new(), frames: vec![], origins: vec![], need: Need::All, parts: parts.to_vec(),
            };
            prop_assert!(is_no_harder(&as_wait(&calls), &as_wait(&read.calls)), "{:?}", read);
            let names = |calls: &[Part]| {
                calls.iter().take(BEGUN).map(|it| (it.kind, it.tag, it.context, it.round)).collect::<Vec<_>>()
            };
            prop_assert_eq!(names(&read.calls), names(&calls));
            prop_assert!(all(&words).is_empty());
            show_begun(&words, &[]);
            prop_assert!(begun(&words).is_some_and(|now| now.turn != read.turn && now.calls.is_empty()));
        }

        #[test]
        fn no_slot_is_believed(rubbish in proptest::collection::vec(any::<u64>(), SLOT)) {
            let words = empty();
            slot(&words, 3).iter().zip(&rubbish).for_each(|(word, &value)| word.store(value, Relaxed));
            let _ = all(&words);
            begun_words(&words).iter().zip(&rubbish).for_each(|(word, &value)| word.store(value & !1, Relaxed));
            let _ = begun(&words);
            slot(&words, 3)[0].store(2, Relaxed);
            let small = [2, 1, 7, 1, 0x0002_0102];
            slot(&words, 3).iter().zip(small).for_each(|(word, value)| word.store(value, Relaxed));
            for slot in all(&words) {
                slot.wait.parts.iter().for_each(|part| { part.targets.ranks(64).count(); });
            }
        }
    }

    #[test]
    fn a_turn_stays_only_as_long_as_the_wait() {
        let words = empty();
        let mut wait = Wait {
            thread: 7,
            since: 1,
            call: "MPI_Recv".to_owned(),
            frames: vec![4, 5],
            origins: vec![],
            need: Need::All,
            parts: vec![],
        };
        let slot = begin(&words, &wait).unwrap();
        let first = all(&words)[0].turn;
        assert_eq!(all(&words)[0].turn, first);
        end(&words, slot);
        let slot = begin(&words, &wait).unwrap();
        assert_ne!(all(&words)[0].turn, first);
        end(&words, slot);
        let slots: Vec<_> = (0..SLOTS + 2).map(|_| begin(&words, &wait)).collect();
        assert_eq!((all(&words).len(), slots.iter().filter(|slot| slot.is_none()).count()), (SLOTS, 2));
        slots.into_iter().flatten().for_each(|slot| end(&words, slot));
        assert!(all(&words).is_empty());
        wait.thread = 0;
        begin(&words, &wait);
        assert_eq!(all(&words)[0].wait.thread, 1);
    }

    #[test]
    fn waits_are_never_torn() {
        let words = empty();
        let wait = |n: u64| Wait {
            thread: n as i32 + 1,
            since: n,
            call: n.to_string(),
            frames: vec![n; FRAMES],
            origins: vec![],
            need: Need::All,
            parts: vec![Part {
                kind: Kind::Receive,
                need: Need::All,
                targets: Targets::rank(n as u32),
                tag: Some(n as i32),
                context: n as u32,
                round: None,
            }],
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..5_000 {
                    let slot = begin(&words, &wait(n)).unwrap();
                    end(&words, slot);
                }
            });
            scope.spawn(|| {
                for _ in 0..5_000 {
                    for slot in all(&words) {
                        assert_eq!(slot.wait, wait(slot.wait.since));
                    }
                }
            });
        });
    }

    #[test]
    fn runs_of_ranks_leave_out_the_own_one() {
        assert_eq!(Targets::others([3, 0, 1, 2, 5], 1), Targets::Ranks(vec![(0, 0), (2, 3), (5, 5)]));
        assert_eq!(Targets::others([4], 4), Targets::Ranks(vec![]));
        let all = Targets::Ranks(vec![(0, u32::MAX), (5, 4)]);
        assert_eq!(all.ranks(3).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(Targets::Outside.ranks(9).count(), 0);
    }
}
