//! The memory of a rank: words of 64 bits.
//!
//! ```text
//!   │ header 64 │ modules 64 x 48 │ sites 2048 x 2 │ events n x 8, a ring │
//! ```
//!
//! The ring has as many rows as there is room for; the header counts all events that ever were. A reader copies
//! ([`Snapshot::read`]) and believes no index, length or text.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use interpose::shared::{self, MODULES, Table};
pub use interpose::shared::{Module, Place};
use interpose::{Index, key_of_call};

/// The first word of memory that is in use: a name and the version of this layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ALHTRAC1");

/// Words of the header, beside those that all tools have.
pub mod at {
    #![allow(missing_docs, reason = "each has its reason beside it")]
    pub use interpose::shared::at::*;
    pub const SITES: usize = 10;
    /// Events that ever were.
    pub const EVENTS: usize = 11;
    /// The call that the rank is in: its place plus 1, and when it began.
    pub const CURRENT: usize = 12;
    pub const SINCE: usize = 13;
    /// Two looks at rank 0's clock, at the beginning and at the end: see [`super::Look`].
    pub const LOOKS: [usize; 2] = [14, 17];
}

/// See [`Place`].
const SITES: Table = Table::after(MODULES.end(), 2, 2048, at::SITES);

/// Words before the ring.
pub const FIXED: usize = SITES.end();

/// Words of an event.
const WIDTH: usize = 8;

/// No rank.
pub const NONE: u32 = u32::MAX;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A call.
    Call = 1,
    /// A message that was sent: from the call that starts to send it to the one that completes that.
    Send,
    /// A message that was received: from the call that asks for it to the one that has it.
    Receive,
    /// Another operation that goes on between calls.
    Request,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// The thread that called, numbered as they come.
    pub thread: u16,
    /// The place of the call: a row of the sites.
    pub site: u32,
    /// When it began and ended, in nanoseconds of the host's monotonic clock.
    pub time: (u64, u64),
    /// Of a call: for how many nanoseconds it has waited.
    pub waited: u64,
    /// The other process of a message, as a rank of the job; [`NONE`]: it is not in this job.
    pub peer: u32,
    /// The tag of a message.
    pub tag: i32,
    /// Bytes of a message that was sent.
    pub bytes: u64,
    /// Of which communicator a message or a collective is ([`interpose::groups::Group::identity`]); 0: it is neither.
    pub comm: u64,
    /// Which message of this sender, receiver, tag and communicator it is, from 0; or which collective.
    pub number: u64,
}

impl Event {
    /// A call that is no message.
    pub fn call(site: u32, time: (u64, u64), waited: u64) -> Event {
        Event {
            kind: Kind::Call,
            thread: 0,
            site,
            time,
            waited,
            peer: NONE,
            tag: 0,
            bytes: 0,
            comm: 0,
            number: 0,
        }
    }

    fn words(&self) -> [u64; WIDTH] {
        let what = (self.kind as u64) << 56 | u64::from(self.thread) << 32 | u64::from(self.site);
        // A call has no bytes, and a message no wait.
        let amount = if self.kind == Kind::Call { self.waited } else { self.bytes };
        let peer = u64::from(self.peer) << 32 | u64::from(self.tag as u32);
        [what, self.time.0, self.time.1, amount, peer, self.comm, self.number, 0]
    }

    fn read(row: &[u64], sites: usize) -> Option<Event> {
        let kind = match row[0] >> 56 {
            1 => Kind::Call,
            2 => Kind::Send,
            3 => Kind::Receive,
            4 => Kind::Request,
            _ => return None,
        };
        let (waited, bytes) = if kind == Kind::Call { (row[3], 0) } else { (0, row[3]) };
        let event = Event {
            kind,
            thread: (row[0] >> 32) as u16,
            site: row[0] as u32,
            time: (row[1], row[2]),
            waited,
            peer: (row[4] >> 32) as u32,
            tag: row[4] as u32 as i32,
            bytes,
            comm: row[5],
            number: row[6],
        };
        ((event.site as usize) < sites && event.time.0 <= event.time.1).then_some(event)
    }
}

/// A look at rank 0's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// When it was, by the own clock; 0: there was none.
    pub when: u64,
    /// What rank 0's clock showed beyond the own one.
    pub ahead: i64,
    /// It may be wrong by so many nanoseconds in either direction.
    pub uncertainty: u64,
}

impl Look {
    /// Leaves it at word `at` of the header.
    pub fn leave(&self, words: &[AtomicU64], at: usize) {
        let all = [self.when, self.ahead as u64, self.uncertainty];
        all.iter().zip(&words[at..]).for_each(|(value, word)| word.store(*value, Relaxed));
    }

    fn read(words: &[AtomicU64], at: usize) -> Option<Look> {
        let word = |place: usize| words[at + place].load(Relaxed);
        (word(0) != 0).then(|| Look { when: word(0), ahead: word(1) as i64, uncertainty: word(2) })
    }
}

fn rows(words: &[AtomicU64]) -> usize {
    words.len().saturating_sub(FIXED) / WIDTH
}

/// Adds an event; the oldest one makes room.
pub fn add(words: &[AtomicU64], event: &Event) {
    let row = words[at::EVENTS].fetch_add(1, Relaxed) as usize % rows(words);
    let row = &words[FIXED + row * WIDTH..][..WIDTH];
    // A reader finds the old event, none, or the new one, unless the rank ends between two of these stores.
    row[0].store(0, Relaxed);
    let new = event.words();
    row.iter().zip(new).skip(1).for_each(|(word, value)| word.store(value, Relaxed));
    row[0].store(new[0], Release);
}

/// The row of the calls of `function` that return to `address`; `None`: there is no room.
pub fn site(words: &[AtomicU64], address: usize, function: usize) -> Option<u32> {
    static KNOWN: Index<8192> = Index::new();
    let new = || SITES.row_of(words, &Place::words(words, function, address), |_| {});
    KNOWN.find_or_make(key_of_call(function, address), new).map(|row| row as u32)
}

/// A copy of what a rank has left.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The rank in the job.
    pub rank: u32,
    /// Who it is.
    pub names: shared::Names,
    /// Files that places lie in.
    pub modules: Vec<Module>,
    /// Places of calls.
    pub sites: Vec<Place>,
    /// Its last events, the oldest first.
    pub events: Vec<Event>,
    /// Events that made room for later ones.
    pub dropped: u64,
    /// The call that it has not come back from, and when that began.
    pub current: Option<(u32, u64)>,
    /// Looks at rank 0's clock.
    pub looks: Vec<Look>,
}

impl Snapshot {
    /// A copy; `None` where no rank has written any.
    pub fn read(words: &[AtomicU64]) -> Option<Snapshot> {
        if rows(words) == 0 || words[at::MAGIC].load(Acquire) != MAGIC {
            return None;
        }
        let word = |at: usize| words[at].load(Relaxed);
        let modules = shared::modules(words);
        let sites: Vec<Place> =
            SITES.copied(words).iter().map_while(|row| Place::read(row, modules.len())).collect();
        let (all, rows) = (word(at::EVENTS), rows(words) as u64);
        let dropped = all.saturating_sub(rows);
        let row = |number: u64| -> Vec<u64> {
            let row = &words[FIXED + (number % rows) as usize * WIDTH..][..WIDTH];
            row.iter().map(|word| word.load(Relaxed)).collect()
        };
        let current = (word(at::CURRENT) as u32).checked_sub(1).map(|site| (site, word(at::SINCE)));
        Some(Snapshot {
            rank: word(at::RANK) as u32,
            names: shared::names(words),
            events: (dropped..all).filter_map(|number| Event::read(&row(number), sites.len())).collect(),
            dropped,
            current: current.filter(|&(site, _)| (site as usize) < sites.len()),
            looks: at::LOOKS.iter().filter_map(|&at| Look::read(words, at)).collect(),
            modules,
            sites,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(rows: usize) -> Vec<AtomicU64> {
        (0..FIXED + rows * WIDTH).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn the_last_events_come_back_in_their_order() {
        let words = memory(4);
        words[at::MAGIC].store(MAGIC, Relaxed);
        let here = the_last_events_come_back_in_their_order as fn() as usize;
        let site = site(&words, here, 3).expect("there is room");
        for time in 1..=10 {
            let mut event = Event::call(site, (time, time + 1), 7);
            (event.thread, event.peer, event.tag) = (2, time as u32, -5);
            add(&words, &event);
        }
        let read = Snapshot::read(&words).expect("it has the magic word");
        assert_eq!(read.dropped, 6);
        assert_eq!(read.events.iter().map(|event| event.time.0).collect::<Vec<_>>(), [7, 8, 9, 10]);
        let last = read.events[3];
        assert_eq!((last.thread, last.peer, last.tag, last.waited), (2, 10, -5, 7));
        assert_eq!(read.sites[site as usize].function, 3);
    }

    #[test]
    fn rubbish_is_read_without_harm() {
        let words = memory(64);
        let mut state = 1u64;
        for word in &words {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word.store(if state >> 60 < 4 { u64::MAX } else { state >> (state >> 58) }, Relaxed);
        }
        assert!(Snapshot::read(&words).is_none());
        words[at::MAGIC].store(MAGIC, Relaxed);
        let read = Snapshot::read(&words).expect("it has the magic word");
        assert!(read.events.iter().all(|event| (event.site as usize) < read.sites.len()));
    }
}
