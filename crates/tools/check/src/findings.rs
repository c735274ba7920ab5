//! What was found, in memory that outlives the rank.
//!
//! ```text
//!   │ header 64 │ modules 64 x 48 │ findings 256 x 16 │ messages 1024 x 12 │ accesses 1024 x 11 │ collectives 1024 x 10 │ variables 512 x 9 │
//! ```

use std::sync::Mutex;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};

use datatype::Summary;
use interpose::shared::{self, MODULES, Module, Place, Table};

use crate::site::Site;

/// The first word of memory that is in use.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ALHCHEK4");

/// Words of the header, beside those that all tools have.
pub mod at {
    #![allow(missing_docs, reason = "each has its reason beside it")]
    pub use interpose::shared::at::*;
    pub const FINDINGS: usize = 10;
    pub const MESSAGES: usize = 11;
    /// The rank has finalized MPI.
    pub const FINALIZED: usize = 12;
    /// Messages that there was no room for.
    pub const NOT_COMPARED: usize = 13;
    /// Numbers of this rank's messages may be wrong.
    pub const DOUBTED: usize = 14;
    pub const ACCESSES: usize = 15;
    /// Programs have run one after the other in the place of this rank.
    pub const SEVERAL: usize = 16;
    /// The system's error by which it has refused watchpoints; 0: none.
    pub const NOT_WATCHED: usize = 17;
    pub const COLLECTIVES: usize = 18;
    pub const TYPED: usize = 19;
}

/// Class plus 1, times, twice: function plus 1 above the module, and offset; three numbers.
pub const FINDINGS: Table = Table::after(MODULES.end(), 16, 256, at::FINDINGS);

/// Words of a rank's findings.
pub const WORDS: usize = crate::typed::TYPED.end();
/// Bytes of a rank's findings, in whole pages.
pub const BYTES: usize = (WORDS * 8).next_multiple_of(4096);

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident $word:literal $text:literal;)*) => {
        /// What a finding is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Class {
            $($(#[$doc])* $name,)*
        }

        impl Class {
            /// Every class.
            pub const ALL: &[Class] = &[$(Class::$name,)*];

            /// Its word.
            pub fn word(self) -> &'static str {
                match self { $(Class::$name => $word,)* }
            }

            /// What is wrong, about the call at the first place; `{other}` is the call at the second one, `{0}` the first number.
            pub fn text(self) -> &'static str {
                match self { $(Class::$name => $text,)* }
            }
        }
    };
}

classes! {
    /// A request that was never completed.
    RequestLeak "request.leak" "makes a request that is never completed: no wait or test has ended it before MPI_Finalize";
    /// A persistent request that was started and never completed.
    StartLeak "request.leak" "starts the request of {other}, which is never completed: no wait or test has ended it before MPI_Finalize";
    /// A persistent request that was never freed.
    PersistentLeak "request.persistent" "makes a persistent request that is never freed";
    /// A matched message that was never received.
    MessageLeak "message.leak" "takes a message out that is never received";
    /// A communicator that was never freed.
    CommunicatorLeak "leak.communicator" "makes a communicator that is never freed";
    /// A group that was never freed.
    GroupLeak "leak.group" "makes a group that is never freed";
    /// A datatype that was never freed.
    DatatypeLeak "leak.datatype" "makes a datatype that is never freed";
    /// An operation that was never freed.
    OperationLeak "leak.operation" "makes an operation that is never freed";
    /// A window that was never freed.
    WindowLeak "leak.window" "makes a window that is never freed";
    /// A file that was never closed.
    FileLeak "leak.file" "opens a file that is never closed";
    /// An info object that was never freed.
    InfoLeak "leak.info" "makes an info object that is never freed";
    /// An error handler that was never freed.
    ErrhandlerLeak "leak.errhandler" "makes an error handler that is never freed";
    /// A session that was never finalized.
    SessionLeak "leak.session" "begins a session that is never finalized";
    /// Two operations use the same memory, and one writes it.
    BufferOverlap "buffer.overlap" "uses {0} bytes of a buffer that {other} still has";
    /// A call's own buffers are the same memory.
    BuffersOverlap "buffer.overlap" "has {0} bytes in two of its buffers, and writes one of them";
    /// A buffer was changed while a message was sent from it.
    BufferChanged "buffer.changed" "reads a buffer that was changed before {other} had completed it";
    /// The program has stored into a buffer that the library reads.
    BufferStored "buffer.changed" "reads a buffer that {other} changes before the operation is complete";
    /// The program has used a buffer that the library writes.
    BufferUsed "buffer.used" "writes a buffer that {other} uses before the operation is complete";
    /// A message was received as another type than it was sent as.
    MessageType "message.type" "receives as {type 1} what {other} sends as {type 0}";
    /// A message was never received.
    MessageLost "message.lost" "sends a message that is never received";
    /// A variable of the program is of another type than MPI was told.
    VariableType "variable.type" "has {type 0} in the variable `{variable}`";
    /// A variable of the program has fewer items than MPI was told.
    VariableLength "variable.length" "has {1} items of {type 0} in {2} bytes of the variable `{variable}`";
    /// Two accesses to a window may happen in any order, and one writes.
    WindowConflict "window.conflict" "accesses {0} bytes of the window of rank {1} that {other} accesses in the same epoch, and their order matters";
    /// A window is freed, or locked, within an epoch of fences that has accesses.
    WindowEpoch "window.epoch" "accesses a window in an epoch of MPI_Win_fence that is not closed when {other} is called";
    /// Different collective operations meet.
    CollectiveOrder "collective.order" "meets {other} on the same communicator: all its processes must call the same operations in the same order";
    /// They have different roots.
    CollectiveRoot "collective.root" "has root {0}, and {other} of the same operation has root {1}";
    /// They reduce by different operations.
    CollectiveOperation "collective.operation" "reduces by another operation than {other} of the same operation";
    /// They have different types.
    CollectiveType "collective.type" "has {type 0} where {other} of the same operation has {type 1}";
    /// They have more or fewer items.
    CollectiveCount "collective.count" "has {0} items where {other} of the same operation has {1}";
    /// A thread calls that may not.
    ThreadLevel "thread.level" "is called by a thread that did not initialize MPI, below MPI_THREAD_SERIALIZED";
    /// Two threads call at a time.
    ThreadsAtOnce "thread.serialized" "is called while another thread is in MPI, at MPI_THREAD_SERIALIZED";
}

/// The findings of this process.
pub struct Findings<'w>(&'w [AtomicU64]);

/// Held while a row is looked for and added.
static ADDING: Mutex<()> = Mutex::new(());

impl<'w> Findings<'w> {
    /// In this memory.
    pub fn new(words: &'w [AtomicU64]) -> Findings<'w> {
        Findings(words)
    }

    /// Adds one; the same class at the same places is one with a count.
    pub(crate) fn add(&self, class: Class, at: Site, other: Option<Site>, numbers: [u64; 3]) {
        let _guard = ADDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = |site: Option<Site>| site.map_or([0, 0], |site| self.place_words(site));
        let key = [place(Some(at)), place(other)].concat();
        let class = class as u64 + 1;
        let is_it = |row: &usize| {
            let row = FINDINGS.row(self.0, *row);
            row[0].load(Relaxed) == class
                && key.iter().zip(&row[2..6]).all(|(has, word)| word.load(Relaxed) == *has)
        };
        if let Some(row) = (0..FINDINGS.len(self.0)).find(is_it) {
            FINDINGS.row(self.0, row)[1].fetch_add(1, Relaxed);
            return;
        }
        FINDINGS.append(self.0, |row| {
            let all = [class, 1].into_iter().chain(key).chain(numbers);
            row.iter().zip(all).for_each(|(word, value)| word.store(value, Relaxed));
        });
    }

    /// The words of all tables.
    pub(crate) fn words(&self) -> &'w [AtomicU64] {
        self.0
    }

    /// The two words of a place.
    pub(crate) fn place(&self, site: Site) -> [u64; 2] {
        let _guard = ADDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.place_words(site)
    }

    fn place_words(&self, site: Site) -> [u64; 2] {
        if site.function != PROGRAM {
            return Place::words(self.0, site.function, site.address);
        }
        let [first, offset] = Place::words(self.0, 0, site.address);
        [first | IS_PROGRAM, offset]
    }
}

/// A finding as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub class: Class,
    /// How often.
    pub count: u64,
    /// The call.
    pub at: CallPlace,
    /// Another one that takes part.
    pub other: Option<CallPlace>,
    /// What belongs to it.
    pub numbers: [u64; 3],
}

/// In place of a function: the program itself, which loads or stores.
pub const PROGRAM: usize = interpose::FUNCTIONS.len();
/// Marks such a place in its first word.
const IS_PROGRAM: u64 = 1 << 63;

/// A place of a call, or of the program's own code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallPlace {
    /// The function's number in [`interpose::FUNCTIONS`]; [`PROGRAM`]: a load or store.
    pub function: usize,
    /// Its file; `None`: it lies in none.
    pub module: Option<Module>,
    /// The address in it to which the call returns.
    pub offset: u64,
}

impl CallPlace {
    /// The place that the first two words of `row` are of.
    pub(crate) fn read(row: &[u64], modules: &[Module]) -> Option<CallPlace> {
        let is_program = row[0] & IS_PROGRAM != 0;
        let Place { function, module, offset } = Place::read(&[row[0] & !IS_PROGRAM, row[1]], modules.len())?;
        let function = if is_program { PROGRAM } else { function };
        Some(CallPlace { function, module: module.map(|module| modules[module].clone()), offset })
    }
}

/// A type for people, by the last of its words ([`Summary::words`]).
pub fn type_name(word: u64) -> String {
    match Summary::of_words([0, 1, word]) {
        Some(Summary { first, is_uniform: true, .. }) => first.name().to_owned(),
        Some(Summary { first, .. }) => format!("a struct that begins with {}", first.name()),
        None => "no type".to_owned(),
    }
}

/// Why loads and stores were not watched; `None`: they were, where there was anything to watch.
pub fn not_watched(words: &[AtomicU64]) -> Option<std::io::Error> {
    let is_there = words.len() >= WORDS && words[0].load(Acquire) == MAGIC;
    let code = if is_there { words[at::NOT_WATCHED].load(Relaxed) } else { 0 };
    (code != 0).then(|| std::io::Error::from_raw_os_error(code as i32))
}

/// What a rank has found; `None` where no rank has written.
pub fn read(words: &[AtomicU64]) -> Option<Vec<Finding>> {
    if words.len() < WORDS || words[0].load(Acquire) != MAGIC {
        return None;
    }
    let modules = shared::modules(words);
    let finding = |row: &Vec<u64>| {
        let place = |at: usize| CallPlace::read(&row[at..], &modules);
        Some(Finding {
            class: *Class::ALL.get(row[0].checked_sub(1)? as usize)?,
            count: row[1],
            at: place(2)?,
            other: place(4),
            numbers: [row[6], row[7], row[8]],
        })
    };
    Some(FINDINGS.copied(words).iter().filter_map(finding).collect())
}
