//! Messages of both their ends: were they received, and as what they were sent?
//!
//! ```text
//!   sender                                   receiver
//!     channel: 3 messages of MPI_INT …         channel: 2 messages of MPI_INT, 1 of MPI_FLOAT …
//!       └──── rows in shared memory ─────► alhena check ◄──────────┘
//! ```
//!
//! Nothing is added to a message: both ends number those of a channel alike ([`interpose::messages`]), and messages in a row that
//! have one type and place are one row. So a program that goes on and on has as many rows as its beginning.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};

use datatype::Summary;
use interpose::messages::{Channel, Follow, Messages, Way};
use interpose::shared::{self, Table};
use interpose::{Call, Kind, ask, groups};

use crate::findings::{CallPlace, Class, FINDINGS, Finding, Findings, MAGIC, WORDS, at};
use crate::site::Site;

/// What it is (see [`SENT`]), communicator, peer above tag, number of the first message, messages, signature 3, times the type, place 2.
pub(crate) const MESSAGES: Table = Table::after(FINDINGS.end(), 12, 1024, at::MESSAGES);

/// Kinds of rows: messages that were sent, that were received, and a communicator of which receives may have wrong numbers.
const SENT: u64 = 1;
const RECEIVED: u64 = 2;
const DOUBTED: u64 = 3;

/// Words of a row.
const KIND: usize = 0;
const COMM: usize = 1;
const ENDS: usize = 2;
const FIRST: usize = 3;
const COUNT: usize = 4;
const TYPE: usize = 5;
const TIMES: usize = 8;
const PLACE: usize = 9;

/// Rows of a channel from which on the place is no reason for another one.
const MANY: usize = 16;

/// What a message is sent or received as: the words of [`Summary`], and how many where that matters; zeros: nothing is known.
type Type = [u64; 4];

/// What is known of this process's messages.
#[derive(Default)]
pub struct Ends {
    messages: Messages<Kept>,
    channels: HashMap<Channel, Rows>,
    doubted: HashSet<u64>,
    /// MPI is initialized, and not finalized.
    is_running: bool,
}

/// What is kept of a message until it has its number.
#[derive(Clone, Copy)]
pub struct Kept {
    site: Site,
    what: Type,
}

/// The last row of a channel, and how many it has; `None`: there was no room for it.
struct Rows {
    last: Option<usize>,
    many: usize,
}

/// The numbering of messages, and where its results go.
struct Recorder<'a> {
    findings: &'a Findings<'a>,
    channels: &'a mut HashMap<Channel, Rows>,
    doubted: &'a mut HashSet<u64>,
}

/// What a call was given.
pub type Given = interpose::messages::Given;

impl Ends {
    /// A call begins; `None`: MPI is not initialized, or is finalized.
    pub fn before(&mut self, call: &Call<'_>) -> Option<Given> {
        if call.function.name == "MPI_Finalize" {
            self.is_running = false;
        }
        groups::forget(call);
        self.is_running.then(|| self.messages.before(call))
    }

    /// MPI is initialized, and not finalized.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// It has ended.
    pub fn after(&mut self, findings: &Findings<'_>, call: &Call<'_>, given: Option<Given>, code: i32) {
        let Ends { messages, channels, doubted, is_running } = self;
        let mut recorder = Recorder { findings, channels, doubted };
        match (call.function.name, given) {
            ("MPI_Init" | "MPI_Init_thread", _) if code == abi::SUCCESS => {
                // Their numbers come first, at all ranks.
                for comm in [ask::COMM_WORLD, ask::COMM_SELF] {
                    groups::of(comm, Kind::Comm);
                }
                *is_running = true;
            }
            ("MPI_Finalize", _) => findings.words()[at::FINALIZED].store(1, Relaxed),
            (_, Some(given)) if code == abi::SUCCESS => {
                groups::made(call);
                messages.changed(call, given, &mut recorder);
            }
            (_, Some(given)) => messages.failed(call, &given, &mut recorder),
            _ => {}
        }
    }
}

impl Follow for Recorder<'_> {
    type Kept = Kept;

    fn begin(&mut self, call: &Call<'_>, way: Option<&Way>) -> Kept {
        let what = way.and_then(|way| way.data).and_then(|(datatype, count)| what(datatype, count));
        Kept { site: Site::of(call), what: what.unwrap_or_default() }
    }

    fn numbered(&mut self, channel: Channel, number: u64, kept: &Kept) {
        let words = self.findings.words();
        let place = self.findings.place(kept.site);
        let rows = self.channels.entry(channel).or_insert(Rows { last: None, many: 0 });
        if let Some(last) = rows.last {
            let row = MESSAGES.row(words, last);
            let is = |at: usize, values: &[u64]| {
                values.iter().zip(&row[at..]).all(|(value, word)| word.load(Relaxed) == *value)
            };
            if is(TYPE, &kept.what) && (rows.many >= MANY || is(PLACE, &place)) {
                row[COUNT].fetch_add(1, Relaxed);
                return;
            }
        } else if rows.many > 0 {
            words[at::NOT_COMPARED].fetch_add(1, Relaxed);
            return;
        }
        let (comm, peer, tag, is_receive) = channel;
        let kind = if is_receive { RECEIVED } else { SENT };
        let ends = u64::from(peer) << 32 | u64::from(tag as u32);
        let all = [kind, comm, ends, number, 1].into_iter().chain(kept.what).chain(place);
        rows.last = MESSAGES.append(words, |row| put(row, all));
        rows.many += 1;
        if rows.last.is_none() {
            words[at::NOT_COMPARED].fetch_add(1, Relaxed);
        }
    }

    fn doubt(&mut self, comm: Option<u64>) {
        let words = self.findings.words();
        let is_kept = comm.is_some_and(|comm| {
            self.doubted.contains(&comm)
                || MESSAGES.append(words, |row| put(row, [DOUBTED, comm].into_iter())).is_some()
        });
        match comm.filter(|_| is_kept) {
            Some(comm) => drop(self.doubted.insert(comm)),
            None => words[at::DOUBTED].store(1, Relaxed),
        }
    }
}

/// Writes the words of a row.
pub(crate) fn put(row: &[AtomicU64], values: impl Iterator<Item = u64>) {
    row.iter().zip(values).for_each(|(word, value)| word.store(value, Relaxed));
}

/// What a message of `count` of a datatype is sent or received as; `None`: nothing, or that is not known.
fn what(datatype: usize, count: i64) -> Option<Type> {
    let words = ask::signature(datatype).filter(|_| count > 0)?;
    // Messages of one basic type differ in their length alone, which a receive does not have to have.
    let is_uniform = Summary::of_words(words)?.is_uniform;
    Some([words[0], words[1], words[2], if is_uniform { 1 } else { count as u64 }])
}

/// Messages in a row of one channel.
#[derive(Debug)]
struct Row {
    numbers: std::ops::Range<u64>,
    what: Option<(Summary, u64)>,
    place: CallPlace,
}

/// The messages of all channels, by communicator, sender, receiver and tag.
type Channels = HashMap<(u64, u32, u32, u32), Vec<Row>>;

/// What the messages of all ranks, compared with each other, show: the rank that has each finding.
pub fn compare(all: &[(u32, Vec<AtomicU64>)]) -> Vec<(u32, Finding)> {
    let (mut sent, mut received) = (Channels::new(), Channels::new());
    let mut doubted = HashSet::new();
    for (rank, words) in all.iter().filter(|(_, words)| is_certain(words)) {
        let modules = shared::modules(words);
        for row in MESSAGES.copied(words) {
            let (peer, tag) = ((row[ENDS] >> 32) as u32, row[ENDS] as u32);
            let (channels, key) = match row[KIND] {
                SENT => (&mut sent, (row[COMM], *rank, peer, tag)),
                RECEIVED => (&mut received, (row[COMM], peer, *rank, tag)),
                _ => {
                    doubted.insert((*rank, row[COMM]));
                    continue;
                }
            };
            let Some(place) = CallPlace::read(&row[PLACE..], &modules) else { continue };
            let summary = Summary::of_words([row[TYPE], row[TYPE + 1], row[TYPE + 2]]);
            let what = summary.map(|summary| (summary, row[TIMES]));
            let numbers = row[FIRST]..row[FIRST].saturating_add(row[COUNT]);
            channels.entry(key).or_default().push(Row { numbers, what, place });
        }
    }
    let is_there = |rank: u32| all.iter().any(|(other, words)| *other == rank && is_whole(words));
    let mut found = Vec::new();
    for (&(comm, from, to, tag), sent) in
        sent.iter().filter(|((comm, _, to, _), _)| !doubted.contains(&(*to, *comm)))
    {
        let received = received.get(&(comm, from, to, tag)).map_or(&[][..], Vec::as_slice);
        found.extend(mismatches(sent, received).map(|finding| (to, finding)));
        if is_there(from) && is_there(to) {
            found.extend(lost(sent, received).map(|finding| (from, finding)));
        }
    }
    found
}

/// Whether the words are those of a rank, with numbers of messages that are right.
fn is_certain(words: &[AtomicU64]) -> bool {
    has_one_program(words) && words[at::DOUBTED].load(Relaxed) == 0
}

/// Whether the words are those of a rank that was one program.
pub(crate) fn has_one_program(words: &[AtomicU64]) -> bool {
    words.len() >= WORDS && words[at::MAGIC].load(Acquire) == MAGIC && words[at::SEVERAL].load(Relaxed) == 0
}

/// Whether all messages of a rank that has finalized MPI are there.
fn is_whole(words: &[AtomicU64]) -> bool {
    let word = |at: usize| words[at].load(Relaxed);
    is_certain(words) && word(at::FINALIZED) != 0 && word(at::NOT_COMPARED) == 0
}

fn mismatches(sent: &[Row], received: &[Row]) -> impl Iterator<Item = Finding> {
    let pairs = sent.iter().flat_map(move |one| received.iter().map(move |other| (one, other)));
    pairs.filter_map(|(one, other)| {
        let common = one.numbers.start.max(other.numbers.start)..one.numbers.end.min(other.numbers.end);
        let ((sent, times), (received, _)) = one.what.zip(other.what).filter(|_| !common.is_empty())?;
        (!sent.fits(times, &received)).then(|| Finding {
            class: Class::MessageType,
            count: common.end - common.start,
            at: other.place.clone(),
            other: Some(one.place.clone()),
            numbers: [sent.words()[2], received.words()[2], 0],
        })
    })
}

fn lost(sent: &[Row], received: &[Row]) -> impl Iterator<Item = Finding> {
    let end = received.iter().map(|row| row.numbers.end).max().unwrap_or(0);
    sent.iter().filter(move |row| row.numbers.end > end).map(move |row| {
        let count = row.numbers.end - row.numbers.start.max(end);
        Finding {
            class: Class::MessageLost,
            count,
            at: row.place.clone(),
            other: None,
            numbers: [count, 0, 0],
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(numbers: std::ops::Range<u64>, basic: datatype::Basic) -> Row {
        let summary = datatype::Datatype::predefined(basic.handle());
        let summary = summary.and_then(|it| it.signature().summary());
        let place = CallPlace { function: 0, module: None, offset: numbers.start };
        Row { numbers, what: summary.map(|summary| (summary, 1)), place }
    }

    #[test]
    fn messages_of_other_types_and_those_without_a_receive_are_found() {
        use datatype::Basic::{Byte, Float, Int, Int32};
        let sent = [row(0..3, Int), row(3..5, Float), row(5..9, Int)];
        let received = [row(0..4, Int32), row(4..6, Float), row(6..7, Byte)];
        let found: Vec<Finding> = mismatches(&sent, &received).collect();
        let places: Vec<(u64, u64, u64)> = found
            .iter()
            .map(|it| (it.at.offset, it.other.as_ref().map_or(9, |it| it.offset), it.count))
            .collect();
        assert_eq!(places, [(0, 3, 1), (4, 5, 1)]);
        let lost: Vec<u64> = lost(&sent, &received).map(|finding| finding.count).collect();
        assert_eq!(lost, [2]);
    }
}
