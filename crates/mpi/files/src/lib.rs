//! Files (MPI-5.0 chapter 14): the objects, and what the functions of the standard do with the crate `io`.
//!
//! ```text
//!   open ──► File: a private duplicate of the communicator, the driver, the view, two pointers, the hints
//!              │
//!   data access ──► Transfer: arguments checked, position taken, memory and view joined
//!              ├─ blocking: runs at once, with the state unlocked                              (access)
//!              ├─ nonblocking: moved by a worker, unless it is short                           (access)
//!              └─ collective: an operation over all ranks; one at a time of a file           (collective)
//! ```
//! Writes may end in a stage, from which a thread of the library writes them behind (`staged`).
//!
//! A collective function agrees on its error: all processes return one, whichever failed.
//!
//! # Decisions
//!
//! **Collective access in two phases** (`collective`, `exchange`). All ranks gather seven words each: errors,
//! positions, first and last place. From them all compute the same plan, unless the ranks' parts lie one behind the
//! other, or their pieces are long and the file system is local; then each accesses its own. A rank describes its view
//! once to each aggregator: the pack program as words, which the aggregator builds anew and so checks. From then on
//! messages hold data alone, and the kernels of datatypes place them in the window. Ranks that overlap are placed in
//! their order everywhere. In atomic mode each rank accesses its own bytes, under a lock. Sends of an exchange are
//! synchronous, so small ones are bounded, too.
//!
//! **Bytes with a giver.** A window is never read, changed and written back, since other openings may write into its
//! holes meanwhile (MPI-5.0 section 14.6.1), and no lock keeps out an opening that takes none. What writes has no way
//! to read (`io::Sink`).
//!
//! **What blocks needs a proof** that the thread has the state not locked (`platform::Blocking`). The token gives it
//! while it is borrowed, and workers have it; code of an operation has none, so it hands its calls to a worker
//! (`engine::run_blocking`). Calls on ordinary files of this host end by themselves and share four workers. A file that
//! waits for locks, a device or another host has workers of its own (`engine::Lane`), so one that stands still stops no
//! other. The helper thread advances operations while the program computes, from the first one of a file until that is
//! closed.
//!
//! **Descriptors are not passed on.** Rank 0 creates a file and all others open it. One descriptor for a node by
//! SCM_RIGHTS would save opens, but processes that share an open file description share its locks, too: atomic mode,
//! whose locks belong to the description so that they outlive other closes in the process, would not keep ranks of a
//! node apart. Nor is it faster: opening and closing an existing file takes 1.7 µs (tmpfs; ext4 1.8), sending,
//! receiving and closing its descriptor 2.9 µs. Threads of a process do share a description, so they wait for each
//! other first (`io`'s `held`).
//!
//! **Staged writes** (`staged`, `io::Stage`) are over when a bounded stage has the data, in memory or in a file without
//! a name on a local path. Ranks stage what they write by themselves, aggregators what they have fetched for all; that
//! data comes by the ways that windows use, too: direct reads on a node, messages between hosts. A worker writes
//! entries behind, one at a time and in their order. A thread that needs room, or its data in the file, waits for the
//! entry that is being written or writes the next one itself, so nothing depends on the worker. The order of two writes
//! of a byte must survive, although a process may write it once by itself and once through an aggregator: so windows go
//! to aggregators in turn (`AccessPlan::in_turn`). After a crash each byte is old or new, and data is safe that a sync
//! has covered. `MPI_File_sync` and `MPI_File_close` wait for all and report the first error to all ranks. An analysis asks
//! the rank that holds data first and reads the file then (`alhena_read_staged`): what was written in between is found
//! there. The alternatives were a log per rank that close replays (PnetCDF's burst buffer), which keeps readers out
//! until then, and drains at every change of aggregators, which synchronise all ranks.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

mod access;
mod buffer;
mod collective;
mod datarep;
mod exchange;
mod handle;
mod open;
mod query;
mod questions;
mod shared;
pub mod staged;
mod view;

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use abi::{Error, Result};
use datatype::Datatype;
use engine::Guarded;
use io::{AccessPlan, Choice, Hints, Posix, Stage, Stripes, Tuning, View};

use collectives::largest;
use objects::domain::Token;
use objects::errhandler::Handler;
use objects::handle::{Kind, Objects, key, make};
use objects::state::State;

pub use access::{blocking, nonblocking};
pub use collective::{Call, begin, collective, end, nonblocking_collective};
pub use datarep::{register, register_large};
pub use handle::{call_errhandler, get_errhandler, set_errhandler};
pub use io::Direction;
pub use open::{close, delete, open};
pub use query::*;
pub use shared::{get_position_shared, seek_shared};
pub use view::*;

pub use handle::handler_of;
pub use questions::Serve;

/// Where an access begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pointer {
    /// At an offset that the call gives, in etypes.
    At(i64),
    /// At the process's own pointer, which moves.
    Individual,
    /// At the pointer that all processes share, which moves. In collective calls: in the order of ranks.
    Shared,
}

/// What domains of aggregators are aligned to, as rank 0 has found it: hosts may mount a file system differently.
#[derive(Clone, Copy)]
pub struct Grain {
    /// Bytes of a block, or of a stripe where there are any.
    pub block: u64,
    pub stripes: Option<Stripes>,
}

impl Grain {
    fn of(storage: &Posix) -> Grain {
        Grain { block: storage.block(), stripes: storage.stripes() }
    }

    /// As rank 0 sends it: the block, and over how many targets blocks go in turn, 0 for none.
    fn words(&self) -> [u64; 2] {
        [self.block, self.stripes.map_or(0, |stripes| stripes.factor)]
    }

    fn from_words([block, factor]: [u64; 2]) -> Grain {
        Grain { block, stripes: (factor > 0).then_some(Stripes { unit: block, factor }) }
    }
}

/// An open file.
pub struct File {
    /// The processes that opened it, in a context that nothing else uses.
    pub comm: abi::Comm,
    pub storage: Arc<Posix>,
    pub grain: Grain,
    pub path: PathBuf,
    pub amode: i32,
    pub view: Arc<View>,
    /// What the view was made of, as the program gave it.
    pub etype: Arc<Datatype>,
    pub filetype: Arc<Datatype>,
    pub displacement: i64,
    /// How data are represented in the file.
    pub representation: datarep::Representation,
    /// The individual pointer, in etypes.
    pub offset: i64,
    pub shared: shared::SharedPointer,
    pub atomic: bool,
    pub errhandler: Handler,
    pub hints: Hints,
    /// This process has written since the last synchronisation.
    pub written: Arc<AtomicBool>,
    pub collectives: collective::Collectives,
    /// The aggregators know how the views of all ranks are laid out.
    pub described: bool,
    /// What this process knows of that, as an aggregator.
    pub views: Option<exchange::Views>,
    /// This process reads and writes the memory of all others on its node that have the file open, once that is known.
    pub reaches: Option<bool>,
    /// The library's thread makes progress for it.
    pub helped: bool,
    /// What its last nonblocking access that failed has seen: requests know of the class alone.
    pub failure: Option<Error>,
    /// What is written behind, where writes are staged.
    pub staged: Option<staged::Staged>,
}

impl File {
    /// How independent accesses move their bytes.
    pub fn tuning(&self) -> Tuning {
        let Hints { ds_read, read_window, .. } = self.hints;
        Tuning {
            read_window: if ds_read == Choice::Disable { 0 } else { read_window },
            read_always: ds_read == Choice::Enable,
            locked: self.atomic,
        }
    }

    /// The stage that writes go to, where they do: all processes come to the same answer.
    pub(crate) fn stage_in_use(&self) -> Option<Arc<Stage>> {
        self.staged.as_ref().filter(|_| !self.atomic).map(|staged| staged.stage.clone())
    }

    /// Which process accesses which part of `span` in a collective call, with windows of `window` bytes at most.
    /// `ordered`: a byte has the same process in every call. All processes come to the same plan.
    pub fn plan(&self, span: Range<u64>, processes: u64, window: u64, ordered: bool) -> AccessPlan {
        let aggregators = self.hints.cb_nodes;
        let (block, stripes) = match self.hints.cb_block_size {
            0 => (self.grain.block, self.grain.stripes),
            block => (block, None),
        };
        match stripes {
            Some(stripes) => AccessPlan::by_targets(span, processes, aggregators, window, &stripes),
            None if ordered => {
                AccessPlan::in_turn(span, processes, aggregators, (window - window % block).max(block))
            }
            None => AccessPlan::new(span, processes, aggregators, window, block),
        }
    }

    pub(crate) fn is_sequential(&self) -> bool {
        self.amode & abi::MODE_SEQUENTIAL != 0
    }

    /// Refuses what a file opened with `MPI_MODE_SEQUENTIAL` does not allow.
    pub(crate) fn refuse_sequential(&self) -> Result<()> {
        match self.is_sequential() {
            true => Err(Error::new(
                abi::ERR_UNSUPPORTED_OPERATION,
                "the file was opened with MPI_MODE_SEQUENTIAL",
            )),
            false => Ok(()),
        }
    }
}

/// Files by handle.
pub struct Files {
    slab: Objects<File>,
    /// What files start with: the handler of `MPI_FILE_NULL`.
    pub initial: Handler,
    pub pages: shared::Pages,
    pub questions: questions::Questions,
    pub(crate) stages: staged::Stages,
    pub datareps: datarep::Datareps,
    /// Nonblocking accesses whose data the program must convert.
    pub conversions: VecDeque<u32>,
    /// The path that the call named which fails now and has no file.
    pub unopened: Option<PathBuf>,
}

/// Those of this process.
pub static FILES: Guarded<Files> = Guarded::new(Files::new());

const INVALID: Error = Error::new(abi::ERR_FILE, "the handle names no open file");

impl Files {
    const fn new() -> Files {
        Files {
            slab: Objects::new(),
            initial: Handler::Return,
            pages: shared::Pages::new(),
            questions: questions::Questions::new(),
            stages: staged::Stages::new(),
            datareps: datarep::Datareps::new(),
            conversions: VecDeque::new(),
            unopened: None,
        }
    }

    /// The file that `handle` names.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn get(&self, handle: abi::File) -> Result<&File> {
        key(Kind::File, handle.0).and_then(|key| self.slab.get(key)).ok_or(INVALID)
    }

    /// As [`Files::get`], to change it.
    pub fn get_mut(&mut self, handle: abi::File) -> Result<&mut File> {
        key(Kind::File, handle.0).and_then(|key| self.slab.get_mut(key)).ok_or(INVALID)
    }

    /// What is known of an error on `handle`: of a request, what its access has seen; and the path that it is about.
    pub fn seen(&mut self, handle: abi::File, error: Error) -> (Error, Option<PathBuf>) {
        let unopened = self.unopened.take();
        let Ok(file) = self.get(handle) else { return (error, unopened) };
        let error = of_member(error);
        let failure = file.failure.filter(|failure| failure.class == error.class && error.errno == 0);
        (failure.unwrap_or(error), Some(file.path.clone()))
    }

    fn add(&mut self, file: File) -> Result<abi::File> {
        let key = self
            .slab
            .insert(file)
            .map_err(|_| Error::new(abi::ERR_OTHER, "more than 2^20 files are open"))?;
        Ok(abi::File(make(Kind::File, key)))
    }

    fn remove(&mut self, handle: abi::File) -> Result<File> {
        key(Kind::File, handle.0).and_then(|key| self.slab.remove(key)).ok_or(INVALID)
    }
}

pub(crate) fn file_of(state: &State, handle: abi::File) -> Result<&File> {
    FILES.get(&state.tables).get(handle)
}

/// An error of the system, with what was tried.
pub fn failed(what: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::new(io::class_of(&error), what).of_system(error.raw_os_error().unwrap_or(0))
}

/// All processes of a file's communicator have an error if one of them has.
fn agree<T>(t: &mut Token, comm: abi::Comm, mine: Result<T>) -> Result<T> {
    let class = mine.as_ref().err().map_or(0, |error| error.class as u64);
    match (mine, largest(t, comm, class)?) {
        (Ok(value), 0) => Ok(value),
        (Ok(_), class) => Err(elsewhere(class)),
        (Err(error), _) => Err(error),
    }
}

/// What a program sees of an error of a file's communicator, which only the failure of a member revokes.
fn of_member(error: Error) -> Error {
    if error.class == abi::ERR_REVOKED { MEMBER_FAILED } else { error }
}

const MEMBER_FAILED: Error = Error::new(abi::ERR_PROC_FAILED, "a process that has the file open has failed");

/// The error that another process had.
fn elsewhere(class: u64) -> Error {
    let class = i32::try_from(class).ok().filter(|&class| class > 0).unwrap_or(abi::ERR_OTHER);
    Error::new(class, "the operation failed on another process")
}
