//! The tables of a rank: words of 64 bits.
//!
//! ```text
//!   │ header 64 │ modules 64 x 48 │ sites 2048 x 16 │ bins 1024 x 4 │ pairs 4096 x 4 │
//! ```
//!
//! All is zero at first. Each table is filled from its beginning, and its number of rows is in the header. A row is written
//! before it is counted. Addresses mean nothing once a process is gone, so a site is a module and an offset in its file.
//! Calls that find no row are counted in the header ([`at::LOST`]).
//!
//! A reader copies ([`Snapshot::read`]) and believes no index, length or text. Where the owner writes meanwhile, a row may
//! be torn: its numbers need not belong together.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};

pub use interpose::shared::Module;
use interpose::shared::{self, MODULES, Place, Table};

/// The first word of tables that are in use: a name and the version of this layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ALHPROF2");

/// Words of the header, beside those that all tools have.
pub mod at {
    #![allow(missing_docs, reason = "each has its reason beside it")]
    pub use interpose::shared::at::*;
    /// Nanoseconds for which the profile was on, up to `SINCE`.
    pub const APP_TIME: usize = 5;
    /// When it was last put on, in nanoseconds of this host's monotonic clock; 0: it is off.
    pub const SINCE: usize = 6;
    /// When the last call ended.
    pub const LAST: usize = 7;
    /// See [`super::State`].
    pub const STATE: usize = 8;
    pub const SITES: usize = 10;
    pub const BINS: usize = 11;
    pub const PAIRS: usize = 12;
    /// Calls without a row, and their nanoseconds.
    pub const LOST: usize = 13;
    pub const LOST_TIME: usize = 14;
    /// The row of the call that the rank is in, plus 1.
    pub const CURRENT: usize = 15;
    /// The library measures for how long calls wait.
    pub const MEASURED: usize = 16;
}

/// See [`site`].
pub const SITES: Table = Table::after(MODULES.end(), 16, 2048, at::SITES);
/// Function and classes of size, calls, bytes, nanoseconds.
pub const BINS: Table = Table::after(SITES.end(), 4, 1024, at::BINS);
/// Peer, messages, bytes, and bytes of one-sided calls.
pub const PAIRS: Table = Table::after(BINS.end(), 4, 4096, at::PAIRS);

/// Words of a rank's tables.
pub const WORDS: usize = PAIRS.end();
/// Bytes of a rank's tables, in whole pages.
pub const BYTES: usize = (WORDS * 8).next_multiple_of(4096);

/// Words of a row of [`SITES`].
pub mod site {
    #![allow(missing_docs, reason = "each has its reason beside it")]
    // The first two words are a `Place`.
    /// Calls, with sum, least and most of their nanoseconds. The least of a number that no call has is all ones.
    pub const TIME: usize = 2;
    /// Calls that sent something, with sum, least and most of their bytes.
    pub const SENT: usize = 6;
    /// The same of file and one-sided calls.
    pub const MOVED: usize = 10;
    /// Of the nanoseconds, those in which the calls waited, and the most of a call.
    pub const WAITED: usize = 14;
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It has not initialized MPI.
    #[default]
    Before = 0,
    /// It uses MPI.
    Running = 1,
    /// It has called `MPI_Finalize`.
    Finalized = 2,
    /// It has called `MPI_Abort`.
    Aborted = 3,
}

/// A copy of a rank's tables.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The rank in the job.
    pub rank: u32,
    /// Its process.
    pub pid: i32,
    /// Nanoseconds since 1970 when it began.
    pub started: u64,
    /// How far it has come.
    pub state: State,
    /// Nanoseconds for which the profile was on.
    pub app_time: u64,
    /// Calls that found no row, and their nanoseconds.
    pub lost: (u64, u64),
    /// It is known for how long calls waited.
    pub is_measured: bool,
    /// The index of the site in which the rank is; `None`: in no call.
    pub current: Option<usize>,
    /// Its host.
    pub host: String,
    /// Its command line.
    pub command: String,
    /// Files that sites lie in.
    pub modules: Vec<Module>,
    /// Places of calls.
    pub sites: Vec<Site>,
    /// Calls by function and size.
    pub bins: Vec<Bin>,
    /// What was sent to whom.
    pub pairs: Vec<Pair>,
}

/// Number, sum, least and most of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The least of them.
    pub min: u64,
    /// The most of them.
    pub max: u64,
}

/// Calls of a function at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The function's number in [`interpose::FUNCTIONS`].
    pub function: usize,
    /// Index of its module; `None` where it lies in no file.
    pub module: Option<usize>,
    /// The address in the module's file to which the call returns.
    pub offset: u64,
    /// Nanoseconds of its calls.
    pub time: Sum,
    /// Bytes of its messages.
    pub sent: Sum,
    /// Bytes that it read, wrote, put or got.
    pub moved: Sum,
    /// Of the nanoseconds of its calls, those in which they waited, and the most of a call.
    pub waited: (u64, u64),
}

/// Calls of a function with a size of communicator and of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The function's number in [`interpose::FUNCTIONS`].
    pub function: usize,
    /// The communicator has at least two to the power of this processes, and less than twice as many.
    pub comm: u8,
    /// The data have less than two to the power of this bytes, and at least half as many.
    pub size: u8,
    /// Calls.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds.
    pub time: u64,
}

/// What was sent to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The rank in the job.
    pub peer: u32,
    /// Messages.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of one-sided calls.
    pub one_sided: u64,
}

impl Snapshot {
    /// A copy of the tables; `None` where no rank has written any.
    pub fn read(words: &[AtomicU64]) -> Option<Snapshot> {
        if words.len() < WORDS || words[at::MAGIC].load(Acquire) != MAGIC {
            return None;
        }
        let word = |at: usize| words[at].load(Relaxed);
        let header: Vec<u64> = (0..shared::HEADER).map(word).collect();
        let names = shared::names(words);
        let modules = shared::modules(words);
        let sites: Vec<Site> =
            SITES.copied(words).iter().filter_map(|row| read_site(row, modules.len())).collect();
        let since = header[at::SINCE];
        let on = if since == 0 { 0 } else { header[at::LAST].saturating_sub(since) };
        let current = (header[at::CURRENT] as usize).checked_sub(1).filter(|&site| site < sites.len());
        Some(Snapshot {
            rank: header[at::RANK] as u32,
            pid: names.pid,
            started: names.started,
            state: match header[at::STATE] {
                1 => State::Running,
                2 => State::Finalized,
                3 => State::Aborted,
                _ => State::Before,
            },
            app_time: header[at::APP_TIME] + on,
            lost: (header[at::LOST], header[at::LOST_TIME]),
            is_measured: header[at::MEASURED] != 0,
            current,
            host: names.host,
            command: names.command,
            modules,
            sites,
            bins: BINS.copied(words).iter().filter_map(|row| bin(row)).collect(),
            pairs: PAIRS.copied(words).iter().filter_map(|row| pair(row)).collect(),
        })
    }
}

fn read_site(row: &[u64], modules: usize) -> Option<Site> {
    let Place { function, module, offset } = Place::read(row, modules)?;
    let sum = |at: usize| match row[at] {
        0 => Sum::default(),
        count => Sum { count, sum: row[at + 1], min: row[at + 2], max: row[at + 3] },
    };
    Some(Site {
        function,
        module,
        offset,
        time: sum(site::TIME),
        sent: sum(site::SENT),
        moved: sum(site::MOVED),
        waited: (row[site::WAITED], row[site::WAITED + 1]),
    })
}

fn bin(row: &[u64]) -> Option<Bin> {
    let function = (row[0] >> 32).checked_sub(1)? as usize;
    (function < interpose::FUNCTIONS.len()).then_some(Bin {
        function,
        comm: (row[0] >> 8) as u8,
        size: row[0] as u8,
        count: row[1],
        bytes: row[2],
        time: row[3],
    })
}

fn pair(row: &[u64]) -> Option<Pair> {
    let peer = u32::try_from(row[0].checked_sub(1)?).ok()?;
    Some(Pair { peer, count: row[1], bytes: row[2], one_sided: row[3] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: impl Iterator<Item = u64>) -> Vec<AtomicU64> {
        values.map(AtomicU64::new).collect()
    }

    #[test]
    fn memory_that_no_rank_has_written_is_no_profile() {
        assert!(Snapshot::read(&words(std::iter::repeat_n(0, WORDS))).is_none());
        assert!(Snapshot::read(&words(std::iter::once(MAGIC))).is_none());
    }

    #[test]
    fn rubbish_is_read_without_harm() {
        let mut state = 1u64;
        let rubbish = std::iter::from_fn(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some(if state >> 60 < 4 { u64::MAX } else { state >> (state >> 58) })
        });
        let all = words(std::iter::once(MAGIC).chain(rubbish).take(WORDS));
        let read = Snapshot::read(&all).expect("it has the magic word");
        assert!(read.sites.iter().all(|site| site.module.is_none_or(|module| module < read.modules.len())));
    }
}
