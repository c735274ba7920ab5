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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use abi::{Error, Result};
use engine::{Guarded, P2p};
use node::{Node, SharedSegment};
use osc::{Announced, Combiner, Control, Cost, Epochs, Exposure, Regions};
use shm::doorbell::Doorbell;

use objects::attr::Attributes;
use objects::domain::Token;
use objects::errhandler::Handler;
use objects::group::Group;
use objects::handle::{self, Kind};
use objects::wait::{wait_actively, wait_actively_until};

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
    pub targets: Box<[Target]>,
    /// Memory of other processes of the node that is mapped for the window.
    #[expect(dead_code, reason = "keeps it mapped")]
    lent: Box<[Arc<SharedSegment>]>,
    pub epochs: Epochs,
    pub exposure: Exposure,
    /// Room for the ranks of a group, used again and again.
    pub spare_ranks: Vec<u32>,
    /// The ranks that this process has posted for last.
    pub exposed_to: Vec<u32>,
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
pub struct Target {
    /// Its address: in this process if the memory is mapped or its own, else in the target.
    pub base: usize,
    /// Bytes.
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

impl Target {
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
    pub fn check_rank(&self, rank: i32) -> Result<u32> {
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
    /// The others.
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
/// that it never will.
fn await_living<R>(
    t: &mut Token,
    win: abi::Win,
    mut ready: impl FnMut(&mut Window, &mut P2p) -> Option<Result<R>>,
    mut check: impl FnMut(&mut Window) -> Result<()>,
) -> Result<R> {
    loop {
        let deadline = Instant::now() + locks::TIMEOUT;
        let outcome =
            wait_actively_until(t, deadline, |state| match WINDOWS.get_mut(&mut state.tables).get_mut(win) {
                Err(error) => Some(Err(error)),
                Ok(window) => ready(window, &mut state.p2p),
            });
        if let Some(outcome) = outcome {
            return outcome;
        }
        check(WINDOWS.get_mut(&mut t.lock().tables).get_mut(win)?)?;
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
