//! Windows (MPI-5.0 chapter 12): the table, and what a window is.
//!
//! ```text
//!   create   the processes agree on a handle, exchange sizes and map one segment      (create.rs, hints.rs)
//!   sync     fence, post and start, locks, flush                                      (sync.rs, locks.rs)
//!   access   which memory an operation means, checked at the origin                   (access.rs)
//!   move     put and get                       combine   accumulates                  (movement.rs, combine.rs, words.rs)
//!   at once  what takes no waiting: memory that this process maps (fast.rs), or that the network reaches (plain.rs)
//! ```
//! The light interface (light.rs) uses the same ways by other rules.
//!
//! What needs no handle and no waiting is the crate `osc`. On a node every operation is done when its call returns: it
//! copies from and to memory that both processes map, or has the kernel copy. So a flush is a fence instruction. Ranks
//! of other nodes are reached by messages (far.rs), which their processes serve (serve.rs) by the same locks and atomic
//! operations that the ranks of their node use, or by the network alone where it can do that (remote.rs, changes.rs).
//! The words of a node know its ranks by numbers of their own, their local ranks.
//!
//! # On a node
//!
//! The processes of a window on one node map one segment: a control block of words for each rank, and the memory of the
//! window where the library allocates it. Each operation is done when its call returns, by loads, stores and atomic
//! operations of the processor, or by the kernel's copy where the memory is the program's (`osc::Direct`). So the
//! target is never asked, and request-based operations share one request that is complete. A flush makes progress every
//! 128th time, and yields only to a program that has read and not written: a program at work would lose a time slice.
//!
//! Elements of 1, 2, 4 and 8 bytes at a fitting address in mapped memory are combined by atomic operations, all others
//! on a copy under a lock of the target. Type and address alone decide, so one location is always combined the same
//! way. Where accumulates are long, all elements of a target go under that lock for a while, since a loop over vectors
//! is twenty times as fast (`osc`'s `ways`). Under an exclusive lock loops need none of this. A process that waits long
//! for a lock asks whether a holder has ended, and gets an error then.
//!
//! Memory of `MPI_Alloc_mem` is a part of a block, a sealed memory file whose pages are there before it is given out
//! (`alloc`). A window created of such parts is mapped by the processes of its node, each block once (`lent`), and used
//! as an allocated one; its creation takes one exchange more. All processes of a node map all that is lent there, or
//! none does. A block takes a descriptor for as long as it lives: blocks grow with what the process has, and beyond
//! `osc_alloc_mem_segments` of them memory belongs to the process alone. Forked children have the same memory, where a
//! copy of heap memory would be their own.
//!
//! Other memory of a created window, and memory attached to a dynamic one, is copied by the kernel. Where
//! `btl_vader_single_copy_mechanism` is `xpmem`, puts and gets of one run are copies of attached memory (`node`'s
//! `mapped`, tested on a device of the test). Accumulates stay on the kernel's copies under the target's lock: the
//! processor's atomic operations would need every process to have attached all others' windows, and there was no device
//! to try that on.
//!
//! # Several nodes
//!
//! Each node has such a segment. Ranks of other nodes are served by active messages, and the library's thread answers
//! and grants while the program computes, unless the hint `no_locks` rules locks out. `MPI_Win_lock_all` locks its own
//! node by one addition, and a far rank, shared, at the first operation on it. A process has a few words for each rank
//! of the window, and a node the square of its own ranks for posts. The parameter `osc_shared_memory` treats each rank
//! as a node of its own if it is false.
//!
//! **By the network** (`btl::RemoteMemory`): memory that is registered once for all peers, reads, writes, atomic
//! operations on words of 8 bytes, and a flush. Gemini, libfabric and Portals have it, the latter two without atomic
//! operations. Each process registers its memory when the window is made, by whole pages (`Rcache::pin`), and ends that
//! in `MPI_Win_free`. Puts and gets then are writes and reads, and the target does nothing. Gemini GETs that are not
//! aligned to 4 bytes fetch the words around the data into a registered buffer. What has many short runs, or holes at
//! the origin, goes by messages; so does everything where registrations are used up.
//!
//! Atomic operations of the network serve up to 7 integers of 8 bytes, where the transport declares them atomic to
//! those of the processor; the real Gemini does not promise that, the one in software does. The memory must be
//! allocated by the library, or be that of the only rank of its node: other memory of the program is combined by ranks
//! of its node on copies under a lock, which the network does not see. For that reason a node that offers them combines
//! nothing by loops under a lock outside exclusive locks. Where a message is faster it is used instead
//! (`btl::Remote::quick_atomics`): within a host, the NIC in software has a thread of the owner do atomic operations.
//! Operations on one word that do not commute are never under way together (`rdma::UnderWay`), so posting one again
//! cannot change their order. The parameter `osc_network` switches all of this off.
//!
//! **Addresses and keys.** Allocated memory has the same address in all processes where nothing else is there
//! (`addresses`). The key in a window's handle is the context id of its communicator, on which all processes agree; so
//! the handle is the same number everywhere.
//!
//! **The light interface** (`light`) is a second set of rules over the same windows: bytes, no epochs, error classes
//! instead of handlers. A notice is a counter in the target's control block, or a message behind the data. An active
//! message is a frame of windows. It is kept when it comes, and its handler is called where the library waits with the
//! state unlocked. The answer leaves afterwards, so a flush means that handlers have returned; a sender waits when
//! 1,024 of its messages were not handled.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

mod access;
mod addresses;
pub mod alloc;
pub mod attr;
mod changes;
mod combine;
mod create;
mod dynamic;
mod errhandler;
mod far;
mod far_locks;
mod fast;
mod hints;
#[cfg(test)]
mod hostile;
mod lent;
pub mod light;
mod locks;
mod movement;
mod network;
mod plain;
mod query;
mod remote;
mod serve;
mod sync;
mod words;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use abi::{Error, Result};
use engine::{Guarded, P2p, Reason};
use node::{Node, SharedSegment};
use observe::Need;
use osc::{Announced, Combiner, Control, Cost, Epochs, Exposure, Regions};
use shm::doorbell::Doorbell;

use objects::attr::Attributes;
use objects::domain::Token;
use objects::errhandler::Handler;
use objects::group::Group;
use objects::handle::{self, Kind};
use objects::reason;
use objects::state::State;
use objects::wait::{wait_actively, wait_actively_checked};

pub use combine::{accumulate, compare_and_swap, fetch_and_op, get_accumulate, raccumulate, rget_accumulate};
pub use create::{allocate, create, create_dynamic, free};
pub use dynamic::{attach, detach};
pub use errhandler::{call_errhandler, get_errhandler, set_errhandler};
pub use fast::{
    accumulate_at_once, compare_and_swap_at_once, fetch_and_op_at_once, flush_all_at_once, flush_at_once,
    get_accumulate_at_once, get_at_once, put_at_once,
};
pub use locks::{lock, lock_all, lock_at_once, unlock, unlock_all, unlock_at_once};
pub use movement::{get, put, rget, rput};
pub use query::{get_group, get_info, get_name, set_info, set_name, shared_query};
pub use serve::Serve;
pub use sync::{
    complete, fence, flush, flush_all, flush_local, flush_local_all, post, start, sync, test, wait,
};

/// A window, as one of its processes has it.
pub struct Window {
    /// The library's own communicator of the processes of the window.
    pub comm: abi::Comm,
    pub group: Arc<Group>,
    /// This process's rank.
    pub rank: u32,
    /// The same among the ranks of this node.
    pub local: u32,
    pub facts: Box<Facts>,
    pub node: Option<Arc<Node>>,
    /// The words that the processes of the node share, and their memory of the window where the library has made it.
    pub control: Arc<Control>,
    /// What each local rank sleeps on.
    pub doorbells: Arc<[Option<&'static Doorbell>]>,
    pub targets: Box<[RankMemory]>,
    /// Memory of other processes of the node that is mapped for the window.
    #[expect(dead_code, reason = "keeps it mapped")]
    lent: Box<[Arc<SharedSegment>]>,
    pub epochs: Epochs,
    pub exposure: Exposure,
    /// Room for the ranks of a group, used again and again.
    pub spare_ranks: Vec<u32>,
    /// The ranks that this process has posted for last.
    pub exposed_to: Vec<u32>,
    /// Calls of `MPI_Win_test` that have found the exposure epoch open, since processes were looked for.
    pub fruitless: u32,
    /// Ranks that had ended when `alhena_notices` reported that last.
    pub reported_ends: usize,
    /// Flushes of memory that this process maps.
    pub flushes: u32,
    /// Whether plain stores have gone to mapped memory since the last flush.
    pub stored: bool,
    /// Whether the last atomic operation since flushes last made progress changed its target.
    pub changed: bool,
    /// What long accumulates have cost.
    pub cost: Cost,
    /// What the last accumulate did with each element.
    pub combiner: Option<Combiner>,
    /// Messages of the light interface, by rank; empty before the first one.
    pub traffic: Vec<light::Traffic>,
    pub announced: Announced,
    /// For a window some of whose ranks are reached by messages.
    pub far: Option<far::Far>,
    /// Regions by rank, of a dynamic window.
    pub regions: Box<[Regions]>,
    pub errhandler: Handler,
    pub attributes: Attributes,
    pub name: String,
    pub info: objects::info::Info,
}

/// The memory of a rank.
#[derive(Clone, Copy, Debug)]
pub struct RankMemory {
    /// Its address: in this process if the memory is mapped or its own, else in the target.
    pub base: usize,
    /// Its bytes.
    pub size: u64,
    /// Bytes of a displacement.
    pub unit: u64,
    /// Its local rank, or [`ELSEWHERE`].
    local: u32,
    /// Whether the processes of its node map the memory.
    pub mapped: bool,
}

/// A rank that is reached by messages has no local rank.
const ELSEWHERE: u32 = u32::MAX;

impl RankMemory {
    /// Its local rank.
    #[inline(always)]
    pub fn local(&self) -> Option<u32> {
        (self.local != ELSEWHERE).then_some(self.local)
    }
}

/// A rank of this node.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    pub rank: u32,
    pub local: u32,
}

/// What the predefined attributes of a window point to (MPI-5.0 section 12.2.6).
#[derive(Debug)]
pub struct Facts {
    pub base: usize,
    pub size: abi::Aint,
    pub disp_unit: i32,
    pub flavor: i32,
    pub model: i32,
    /// In bytes, what the memory of every rank has that has some, if the library has made it.
    pub alignment: Option<u64>,
}

impl Window {
    /// Wakes a local rank that sleeps; to be called after a change that it may wait for.
    pub fn ring(&self, local: u32) {
        ring(&self.doorbells, local);
    }

    /// The rank, if it is one of this node.
    #[inline(always)]
    pub fn near(&self, rank: u32) -> Option<Near> {
        let local = self.targets.get(rank as usize)?.local()?;
        Some(Near { rank, local })
    }

    /// This process.
    pub fn own(&self) -> Near {
        Near { rank: self.rank, local: self.local }
    }

    pub fn ranks(&self) -> usize {
        self.targets.len()
    }

    /// # Errors
    /// `MPI_ERR_RANK`
    pub(crate) fn check_rank(&self, rank: i32) -> Result<u32> {
        let found = u32::try_from(rank).ok().filter(|&rank| (rank as usize) < self.ranks());
        found.ok_or(Error::new(abi::ERR_RANK, "the window has no such rank"))
    }
}

/// As [`Window::ring`].
pub fn ring(doorbells: &[Option<&'static Doorbell>], local: u32) {
    if let Some(Some(doorbell)) = doorbells.get(local as usize) {
        node::ring(doorbell);
    }
}

/// All windows, by the number in their handle, which all processes of a window agree on.
pub struct Windows {
    /// The one that was used last, and its handle.
    recent: Option<Box<Window>>,
    recent_handle: abi::Win,
    /// The other windows.
    table: BTreeMap<u32, Box<Window>>,
    /// Locks of any window that this process holds.
    pub held: usize,
    /// Locks of any window that this process acquires for ranks of other nodes.
    pub waiting: usize,
    /// The operation that grants these, once there is a window that ranks of other nodes may lock.
    grants: Option<u32>,
    pub addresses: addresses::Addresses,
    pub mapped: lent::Mapped,
    light: light::Light,
}

/// Those of this process.
pub static WINDOWS: Guarded<Windows> = Guarded::new(Windows::new());

const BAD: Error = Error::new(abi::ERR_WIN, "the handle names no window (never created, or freed)");

impl Windows {
    const fn new() -> Windows {
        Windows {
            recent: None,
            recent_handle: abi::WIN_NULL,
            table: BTreeMap::new(),
            held: 0,
            waiting: 0,
            grants: None,
            addresses: addresses::Addresses::new(),
            mapped: lent::Mapped::new(),
            light: light::Light::new(),
        }
    }

    /// # Errors
    /// `MPI_ERR_WIN`
    #[inline]
    pub fn get(&self, win: abi::Win) -> Result<&Window> {
        if let (Some(window), true) = (&self.recent, self.recent_handle == win) {
            return Ok(window);
        }
        let window = handle::key(Kind::Win, win.0).and_then(|key| self.table.get(&key));
        window.map(Box::as_ref).ok_or(BAD)
    }

    /// # Errors
    /// As [`Windows::get`].
    #[inline]
    pub fn get_mut(&mut self, win: abi::Win) -> Result<&mut Window> {
        if self.recent_handle != win || self.recent.is_none() {
            self.promote(win)?;
        }
        self.recent.as_deref_mut().ok_or(BAD)
    }

    /// The window, if it is the one that was used last.
    #[inline(always)]
    fn last_used(&mut self, win: abi::Win) -> Option<&mut Window> {
        if self.recent_handle == win { self.recent.as_deref_mut() } else { None }
    }

    /// Makes a window the one that was used last.
    #[cold]
    fn promote(&mut self, win: abi::Win) -> Result<()> {
        let key = handle::key(Kind::Win, win.0).ok_or(BAD)?;
        let window = self.table.remove(&key).ok_or(BAD)?;
        let before = std::mem::replace(&mut self.recent_handle, win);
        if let (Some(old), Some(key)) = (self.recent.replace(window), handle::key(Kind::Win, before.0)) {
            self.table.insert(key, old);
        }
        Ok(())
    }

    fn add(&mut self, key: u32, window: Window) {
        self.table.insert(key, Box::new(window));
    }

    fn remove(&mut self, win: abi::Win) -> Option<Box<Window>> {
        if self.recent_handle == win {
            return self.recent.take();
        }
        self.table.remove(&handle::key(Kind::Win, win.0)?)
    }

    /// The window of a number in a message.
    fn numbered(&mut self, number: u64) -> Option<&mut Window> {
        let key = u32::try_from(number).ok()?;
        if handle::key(Kind::Win, self.recent_handle.0) == Some(key) && self.recent.is_some() {
            return self.recent.as_deref_mut();
        }
        self.table.get_mut(&key).map(Box::as_mut)
    }

    /// All windows.
    pub fn iter(&self) -> impl Iterator<Item = &Window> {
        self.recent.iter().chain(self.table.values()).map(Box::as_ref)
    }

    /// All windows, with the numbers that messages have.
    fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Window)> {
        let recent = handle::key(Kind::Win, self.recent_handle.0).zip(self.recent.as_deref_mut());
        let others = self.table.iter_mut().map(|(&key, window)| (key, window.as_mut()));
        recent.into_iter().chain(others).map(|(key, window)| (key.into(), window))
    }
}

/// Waits until `ready` gives a result, or the window is gone; active messages may be sent meanwhile.
fn await_window<R>(
    t: &mut Token,
    win: abi::Win,
    mut ready: impl FnMut(&mut Window, &mut P2p) -> Option<Result<R>>,
) -> Result<R> {
    wait_actively(t, |state| match WINDOWS.get_mut(&mut state.tables).get_mut(win) {
        Err(error) => Some(Err(error)),
        Ok(window) => ready(window, &mut state.p2p),
    })
}

/// As [`await_window`], for what ranks of the window bring about: now and then `check` finds out whether one has ended, so
/// that it never will. What it finds counts if `ready` has no result then either, so it changes nothing.
fn await_living<R>(
    t: &mut Token,
    win: abi::Win,
    why: impl Fn(&State, &Window) -> Reason,
    mut ready: impl FnMut(&mut Window, &mut P2p) -> Option<Result<R>>,
    mut check: impl FnMut(&Window, &mut P2p) -> Result<()>,
) -> Result<R> {
    let failed = Cell::new(None);
    let mut look = |state: &mut State| {
        let State { tables, p2p, .. } = state;
        let checked = WINDOWS.get(tables).get(win).and_then(|window| check(window, p2p));
        let is_found = checked.is_err();
        failed.set(checked.err());
        is_found
    };
    let why = |state: &mut State| match WINDOWS.get(&state.tables).get(win) {
        Ok(window) => why(state, window),
        Err(_) => Reason::outside(),
    };
    wait_actively_checked(t, &mut look, why, |state| match WINDOWS.get_mut(&mut state.tables).get_mut(win) {
        Err(error) => Some(Err(error)),
        Ok(window) => ready(window, &mut state.p2p).or_else(|| failed.take().map(Err)),
    })
}

/// Of what needs no more than progress at other processes, or of which more is not known.
fn by_progress(_: &State, _: &Window) -> Reason {
    Reason::outside()
}

impl Window {
    /// What a call is for that these ranks of the window are to bring about by their programs.
    fn awaits(
        &self,
        state: &State,
        what: (observe::Kind, Need),
        ranks: impl IntoIterator<Item = u32>,
        number: Option<u32>,
    ) -> Reason {
        let context = state.comm(self.comm).map_or(0, |comm| comm.context);
        let peers = ranks.into_iter().map(|rank| self.peer(rank));
        reason::of_peers(state, what, peers, (context, number))
    }

    /// What a call is for that any other process of the window may bring about. Which one that is may change while it waits.
    fn awaits_any(&self, state: &State, kind: observe::Kind) -> Reason {
        match self.ranks() {
            0 | 1 => Reason::outside(),
            ranks => self.awaits(state, (kind, Need::Any), 0..ranks as u32, None),
        }
    }
}

/// Whether `assert` has only bits of `known`.
///
/// # Errors
/// `MPI_ERR_ASSERT`
fn check_assert(assert: i32, known: i32) -> Result<()> {
    if assert & !known == 0 {
        return Ok(());
    }
    Err(Error::new(abi::ERR_ASSERT, "the call does not know this assertion"))
}
