//! Collective operations of all ranks: do the calls that meet on a communicator belong together (MPI-5.0 section 6.13)?
//!
//! The library compares calls where one has to wait for another (`coll_check`). Here are also those that end by chance, and those that
//! go on in the background: each rank numbers the collectives of a communicator, and what is in a row and alike is one row.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use datatype::{Basic, Summary};
use interpose::shared::{self, Table};
use interpose::{Call, FUNCTIONS, Kind, Shape, ask, groups, thread};

use crate::buffers;
use crate::findings::{CallPlace, Class, Finding, Findings, at};
use crate::messages::{has_one_program, put};
use crate::site::Site;
use crate::windows::ACCESSES;

/// Communicator, number of the first one, how many, root plus 1, operation, items plus 1, type, type that is sent, place 2.
pub(crate) const COLLECTIVES: Table = Table::after(ACCESSES.end(), 10, 1024, at::COLLECTIVES);

/// Words of a row; 0 in those from the root to the types: not compared.
const COMM: usize = 0;
const FIRST: usize = 1;
const COUNT: usize = 2;
const ROOT: usize = 3;
const OP: usize = 4;
const ITEMS: usize = 5;
const TYPE: usize = 6;
const SENT_TYPE: usize = 7;
const PLACE: usize = 8;

/// In place of an operation of the program, which has another handle at each rank.
const OWN_OP: u64 = 1;

/// What is known of this process's collectives.
#[derive(Default)]
pub struct Collectives {
    comms: HashMap<usize, Comm>,
    thread: u64,
}

/// A communicator, by its handle.
#[derive(Default)]
struct Comm {
    /// Calls that have begun, and that have ended well.
    begun: u64,
    ended: u64,
    /// A number is not certain any more.
    is_doubted: bool,
    last: Option<usize>,
}

/// The communicator of a collective operation.
fn comm_of(call: &Call<'_>) -> Option<usize> {
    call.comm().filter(|_| call.function.chapter == 6)
}

impl Collectives {
    /// A call begins.
    pub fn before(&mut self, call: &Call<'_>) {
        if let Some(comm) = comm_of(call) {
            self.comms.entry(comm).or_default().begun += 1;
        }
    }

    /// The communicator is freed, and its handle may come back.
    pub fn freed(&mut self, comm: usize) {
        self.comms.remove(&comm);
    }

    /// It has ended.
    pub fn after(&mut self, findings: &Findings<'_>, call: &Call<'_>, code: i32) {
        let Some(handle) = comm_of(call) else { return };
        let is_other_thread = self.thread != 0 && self.thread != thread();
        self.thread = thread();
        let Some(comm) = self.comms.get_mut(&handle) else { return };
        // An error handler may have thrown through an earlier call.
        comm.is_doubted |= code != abi::SUCCESS
            || comm.begun != comm.ended + 1
            || (is_other_thread && ask::thread_level() == abi::THREAD_MULTIPLE);
        comm.ended += 1;
        let identity = if comm.is_doubted { 0 } else { groups::of(handle, Kind::Comm).identity };
        if identity == 0 {
            return;
        }
        let words = findings.words();
        let place = findings.place(Site::of(call));
        let all: Vec<u64> =
            [identity, comm.ended, 1].into_iter().chain(facts(call, handle)).chain(place).collect();
        let last = comm.last.map(|last| COLLECTIVES.row(words, last));
        match last
            .filter(|row| row[ROOT..].iter().zip(&all[ROOT..]).all(|(word, new)| word.load(Relaxed) == *new))
        {
            Some(row) => drop(row[COUNT].fetch_add(1, Relaxed)),
            None => {
                comm.last = COLLECTIVES.append(words, |row| put(row, all.into_iter()));
                comm.is_doubted = comm.last.is_none();
            }
        }
    }
}

/// Root, operation, items, type, type that is sent: what is equal at all ranks of a right program.
fn facts(call: &Call<'_>, comm: usize) -> [u64; 5] {
    if ask::comm_test_inter(comm) != 0 {
        return [0; 5];
    }
    let number = |name: &str| call.function.place(name).map(|place| call.number_at(place));
    let word = |name: &str| call.function.place(name).map_or(0, |place| call.word(place));
    let root = number("root").map_or(0, |root| root as u64 + 1);
    let op = match word("op") {
        op if op >= crate::handles::FIRST => OWN_OP,
        op => op as u64,
    };
    let is_root = call.is_root() == Some(true);
    let name = buffers::plain(call.function.base());
    let (count, datatype) = match name.as_str() {
        "bcast" | "reduce" | "allreduce" | "scan" | "exscan" => ("count", "datatype"),
        "reduce_scatter_block" => ("recvcount", "datatype"),
        "allgather" | "alltoall" => ("recvcount", "recvtype"),
        "gather" if is_root => ("recvcount", "recvtype"),
        "scatter" if !is_root => ("recvcount", "recvtype"),
        "gather" | "scatter" => ("sendcount", "sendtype"),
        // Each process has data of all others.
        "allgatherv" if is_full(call, "recvcounts", comm) => {
            return [root, op, 0, basic(word("recvtype")), 0];
        }
        "alltoallv"
            if is_full(call, "recvcounts", comm)
                && word("sendbuf") > abi::IN_PLACE
                && is_full(call, "sendcounts", comm) =>
        {
            return [root, op, 0, basic(word("recvtype")), basic(word("sendtype"))];
        }
        _ => return [root, op, 0, 0, 0],
    };
    let (count, datatype) = (number(count).unwrap_or(0), word(datatype));
    let elements = ask::signature(datatype).and_then(Summary::of_words);
    let Some(elements) = elements.filter(|it| !it.has_bytes).map(|it| it.elements) else {
        return [root, op, 0, 0, 0];
    };
    let items = u64::try_from(count).ok().and_then(|count| count.checked_mul(elements)?.checked_add(1));
    [root, op, items.unwrap_or(0), if count > 0 { basic(datatype) } else { 0 }, 0]
}

/// Whether the process has something for, or of, each one.
fn is_full(call: &Call<'_>, counts: &str, comm: usize) -> bool {
    let place = call.function.place(counts).filter(|&at| call.function.arguments[at].shape == Shape::Known);
    place.is_some_and(|place| {
        (0..ask::comm_size(comm).max(0) as usize).all(|index| call.element(place, index) > 0)
    })
}

/// The basic type of a datatype that has one alone, plus 1.
fn basic(datatype: usize) -> u64 {
    let summary = ask::signature(datatype).and_then(Summary::of_words);
    let summary = summary.filter(|it| it.is_uniform && !it.has_bytes);
    summary.map_or(0, |it| it.words()[2] + 1)
}

/// Calls in a row.
#[derive(Clone, Debug)]
struct Row {
    words: Vec<u64>,
    place: CallPlace,
}

/// What differs between the calls that meet: the rank that has each finding.
pub fn compare(all: &[(u32, Vec<AtomicU64>)]) -> Vec<(u32, Finding)> {
    let mut comms: BTreeMap<u64, Vec<(u32, Vec<Row>)>> = BTreeMap::new();
    for (rank, words) in all.iter().filter(|(_, words)| has_one_program(words)) {
        let modules = shared::modules(words);
        for words in COLLECTIVES.copied(words) {
            let Some(place) = CallPlace::read(&words[PLACE..], &modules) else { continue };
            let ranks = comms.entry(words[COMM]).or_default();
            if ranks.last().is_none_or(|(last, _)| last != rank) {
                ranks.push((*rank, Vec::new()));
            }
            ranks
                .last_mut()
                .into_iter()
                .for_each(|(_, rows)| rows.push(Row { words: words.clone(), place: place.clone() }));
        }
    }
    let mut found = Vec::new();
    for ranks in comms.values() {
        let Some(((_, first), others)) = ranks.split_first() else { continue };
        for (rank, rows) in others {
            found.extend(differences(first, rows).into_iter().map(|finding| (*rank, finding)));
        }
    }
    found
}

fn differences(first: &[Row], rows: &[Row]) -> Vec<Finding> {
    let end = |row: &Row| row.words[FIRST].saturating_add(row.words[COUNT]);
    let mut found: Vec<Finding> = Vec::new();
    let (mut one, mut other) = (first.iter().peekable(), rows.iter().peekable());
    while let (Some(&a), Some(&b)) = (one.peek(), other.peek()) {
        let common = a.words[FIRST].max(b.words[FIRST])..end(a).min(end(b));
        if let Some((class, numbers)) = difference(a, b).filter(|_| !common.is_empty()) {
            let count = common.end - common.start;
            found.push(Finding { class, count, at: b.place.clone(), other: Some(a.place.clone()), numbers });
            // Later ones meet others than they should.
            if class == Class::CollectiveOrder {
                break;
            }
        }
        if end(a) <= end(b) {
            one.next().map(drop)
        } else {
            other.next().map(drop)
        };
    }
    found
}

/// The first difference of two calls that meet.
fn difference(one: &Row, other: &Row) -> Option<(Class, [u64; 3])> {
    let base = |row: &Row| FUNCTIONS.get(row.place.function).map(|function| function.base());
    let differ = |at: usize| {
        let (one, other) = (one.words[at], other.words[at]);
        (one != 0 && other != 0 && one != other).then(|| [other.wrapping_sub(1), one.wrapping_sub(1), 0])
    };
    let meaning =
        |word: u64| Basic::ALL.get(word.checked_sub(1)? as usize & 0xff).map(|basic| basic.meaning());
    let types = |of_one: usize, of_other: usize| {
        let (one, other) = (one.words[of_one], other.words[of_other]);
        let (a, b) = meaning(one).zip(meaning(other))?;
        (a != b).then(|| (Class::CollectiveType, [other - 1, one - 1, 0]))
    };
    if base(one) != base(other) {
        return Some((Class::CollectiveOrder, [0; 3]));
    }
    let root = differ(ROOT).map(|numbers| (Class::CollectiveRoot, numbers));
    let op = || differ(OP).map(|_| (Class::CollectiveOperation, [0; 3]));
    let is_exchange = one.words[SENT_TYPE] != 0 && other.words[SENT_TYPE] != 0;
    let exchanged = || types(SENT_TYPE, TYPE).or_else(|| types(TYPE, SENT_TYPE)).filter(|_| is_exchange);
    let items = || differ(ITEMS).map(|numbers| (Class::CollectiveCount, numbers));
    root.or_else(op).or_else(|| if is_exchange { exchanged() } else { types(TYPE, TYPE) }).or_else(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, numbers: core::ops::Range<u64>, facts: [u64; 5]) -> Row {
        let function = FUNCTIONS.iter().position(|function| function.name == name).unwrap();
        let head = [1, numbers.start, numbers.end - numbers.start];
        let words = head.into_iter().chain(facts).chain([0, 0]).collect();
        Row { words, place: CallPlace { function, module: None, offset: numbers.start } }
    }

    #[test]
    fn calls_that_meet_are_compared_in_what_must_be_equal() {
        let int = Basic::Int as u64 + 1;
        let float = Basic::Float as u64 + 1;
        let first =
            [row("MPI_Bcast", 1..5, [1, 0, 3, int, 0]), row("MPI_Iallreduce", 5..7, [0, 33, 9, int, 0])];
        let found = |rows: &[Row]| -> Vec<(Class, u64, u64)> {
            differences(&first, rows).iter().map(|it| (it.class, it.at.offset, it.count)).collect()
        };
        assert_eq!(found(&[row("MPI_Bcast", 1..5, [1, 0, 3, int, 0])]), []);
        assert_eq!(
            found(&[row("MPI_Bcast", 1..3, [2, 0, 3, int, 0]), row("MPI_Bcast", 3..5, [1, 0, 4, int, 0])]),
            [(Class::CollectiveRoot, 1, 2), (Class::CollectiveCount, 3, 2)]
        );
        assert_eq!(found(&[row("MPI_Ibcast", 4..9, [1, 0, 3, float, 0])]), [(Class::CollectiveOrder, 4, 1)]);
        assert_eq!(
            found(&[
                row("MPI_Iallreduce", 5..6, [0, 34, 9, int, 0]),
                row("MPI_Iallreduce", 6..7, [0, 33, 0, float, 0])
            ]),
            [(Class::CollectiveOperation, 5, 1), (Class::CollectiveType, 6, 1)]
        );
        let exchange = |receives, sends| row("MPI_Alltoallv", 1..2, [0, 0, 0, receives, sends]);
        assert_eq!(differences(&[exchange(int, float)], &[exchange(float, int)]).len(), 0);
        assert_eq!(differences(&[exchange(int, int)], &[exchange(float, int)]).len(), 1);
    }
}
