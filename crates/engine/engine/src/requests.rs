//! Requests that are more than one operation of the message layer, and the one registry of what must be advanced.
//!
//! ```text
//!   a call ──► Requests::add ──► a handle of the program
//!                 │ register: it has work
//!                 ▼
//!   progress ──► advance_all ──► Operation::advance ──► Finished: nothing more to do here ──► out of the registry
//! ```
//! The engine does not know what an operation is: schedules, partitioned setups, duplicates of communicators and
//! whatever comes later are entries of one list. An operation is out of its slot while one of its functions runs, so
//! that it may use the whole state.

use std::any::Any;

use abi::{Error, Result};
use mem::Slab;
use observe::Part;
pub use observe::Work;
use pml::{Done, ReqId};

use crate::domain::Token;
use crate::wait::Progress;

/// What a request stands for.
pub trait Operation<S>: Any {
    /// Whether the request is complete, or inactive.
    fn is_over(&mut self, state: &mut S) -> bool;

    /// As [`Operation::is_over`], for a call that waits for it: what ends it may be polled for a while.
    fn is_over_soon(&mut self, state: &mut S) -> bool {
        self.is_over(state)
    }

    /// The result of a complete request.
    fn outcome(&self) -> Done;

    /// Whether the request is active; only those that are started again are ever not.
    fn is_active(&self) -> bool {
        true
    }

    /// `MPI_Start` of an inactive request; `true`: progress must advance it from now on. `key` is its own.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` for operations that are not persistent, and what beginning reports.
    fn start(&mut self, _state: &mut S, _key: u32) -> Result<bool> {
        Err(Error::new(abi::ERR_REQUEST, "the handle names no persistent request"))
    }

    /// Whether the request is inactive, and [`Operation::start`] cannot fail and needs no connection.
    fn starts_at_once(&self) -> bool {
        false
    }

    /// The result of a round that has succeeded; the request is inactive from now on, and nothing follows. `None`: nothing was
    /// taken.
    fn take_success(&mut self) -> Option<Done> {
        None
    }

    /// How a call that waits for this request alone goes on with it, where that is more than waiting for progress.
    fn blocking(&self) -> Option<Blocking<S>> {
        None
    }

    /// The one request of the message layer whose end is the end of this one, if that is all there is to it.
    fn stands_for(&self) -> Option<ReqId> {
        None
    }

    /// Requests of the message layer whose ends this one needs, all of them, as far as other processes bring that about; none: what
    /// it needs is not known.
    fn needs(&self) -> Vec<ReqId> {
        self.stands_for().into_iter().collect()
    }

    /// What it is, for tools; `None`: nothing that could be under way.
    fn work(&self) -> Option<Work> {
        Some(Work::Other)
    }

    /// For a collective call that is under way: its part in it, with what it lacks of others.
    fn lacks(&self, _state: &S) -> Option<Part> {
        None
    }

    /// Goes on with a registered operation. `key` is its own.
    fn advance(&mut self, state: &mut S, _key: u32) -> Advance {
        if self.is_over(state) { Advance::Finished } else { Advance::Idle }
    }

    /// The program takes the result of the complete request.
    fn conclude(&mut self) -> (Done, Fate) {
        (self.outcome(), Fate::Removed)
    }

    /// The operation after [`Operation::conclude`] has reported that it is removed.
    fn recycle(self: Box<Self>, _state: &mut S) {}

    /// `MPI_Cancel`
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` for operations that cannot be cancelled.
    fn cancel(&mut self, _state: &mut S) -> Result<()> {
        Err(Error::new(abi::ERR_REQUEST, "a request of this kind cannot be cancelled"))
    }

    /// `MPI_Request_free`
    fn give_up(&mut self, state: &mut S) -> Afterlife {
        if self.is_over(state) { Afterlife::Gone } else { Afterlife::UntilOver { register: true } }
    }
}

/// Goes on with an operation as a blocking call does, and takes its result; `None`: progress has to.
pub type Blocking<S> = fn(&mut Token<S>, u32) -> Option<(Done, Fate)>;

/// What came of advancing an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// Nothing happened.
    Idle,
    /// Something happened.
    Moved,
    /// Something happened, and progress has nothing more to do for it.
    Finished,
}

/// What becomes of a request when its result is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is gone.
    Removed,
    /// It stays under its handle, inactive.
    Inactive,
    /// The handle is gone from the program, and serves others.
    Shared,
}

/// What becomes of a request that the program frees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Afterlife {
    /// It is gone at once.
    Gone,
    /// It stays until it is over. `register`: progress advances it from now on, if it does not already.
    UntilOver { register: bool },
    /// It stays as it is.
    Stays,
}

/// A state that has requests.
pub trait Requesting: Progress {
    /// The requests of the state.
    fn requests(&mut self) -> &mut Requests<Self>;
}

/// The requests of a process.
pub struct Requests<S> {
    slots: Slab<Slot<S>, 23, 6>,
    /// Keys of the operations that have work.
    registered: Vec<u32>,
    /// One was registered since [`Requests::has_grown`] was asked.
    grown: bool,
}

const FULL: Error = Error::new(abi::ERR_OTHER, "more than 2^23 requests exist");

struct Slot<S> {
    /// `None` while one of its functions runs.
    operation: Option<Box<dyn Operation<S>>>,
    registered: bool,
    /// The program has freed it.
    orphaned: bool,
}

impl<S: 'static> Requests<S> {
    /// A table without requests.
    pub const fn new() -> Requests<S> {
        Requests { slots: Slab::new(), registered: Vec::new(), grown: false }
    }

    /// Stores an operation; its key.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when 2^23 requests exist.
    pub fn add(&mut self, operation: impl Operation<S>) -> Result<u32> {
        self.add_boxed(Box::new(operation))
    }

    /// Whether there is room for one more: to be asked before what cannot be taken back.
    ///
    /// # Errors
    /// As [`Requests::add`].
    pub fn check_room(&self) -> Result<()> {
        if self.slots.is_full() { Err(FULL) } else { Ok(()) }
    }

    /// As [`Requests::add`].
    ///
    /// # Errors
    /// As [`Requests::add`].
    pub fn add_boxed(&mut self, operation: Box<dyn Operation<S>>) -> Result<u32> {
        let slot = Slot { operation: Some(operation), registered: false, orphaned: false };
        self.slots.insert(slot).map_err(|_| FULL)
    }

    /// Progress must advance the operation from now on.
    pub fn register(&mut self, key: u32) {
        if let Some(slot) = self.slots.get_mut(key)
            && !std::mem::replace(&mut slot.registered, true)
        {
            self.registered.push(key);
            self.grown = true;
        }
    }

    /// Whether an operation was registered since this was asked last: a thread that sleeps and polls for others does not
    /// know of it.
    pub fn has_grown(&mut self) -> bool {
        std::mem::take(&mut self.grown)
    }

    /// Whether progress has anything to advance.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        !self.registered.is_empty()
    }

    /// The operations that are there, in no order. The one that runs is not among them.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Operation<S>> {
        self.slots.iter().filter_map(|(_, slot)| slot.operation.as_deref())
    }

    /// The operation behind a key.
    pub fn get(&self, key: u32) -> Option<&dyn Operation<S>> {
        self.slots.get(key)?.operation.as_deref()
    }

    /// As [`Requests::get`], to change it.
    pub fn get_mut(&mut self, key: u32) -> Option<&mut (dyn Operation<S> + 'static)> {
        self.slots.get_mut(key)?.operation.as_deref_mut()
    }

    /// The operation behind a key, if it is a `T`.
    pub fn get_as<T: Operation<S>>(&mut self, key: u32) -> Option<&mut T> {
        (self.get_mut(key)? as &mut dyn Any).downcast_mut()
    }

    /// Takes an operation out for good.
    pub fn remove(&mut self, key: u32) -> Option<Box<dyn Operation<S>>> {
        let slot = self.slots.remove(key)?;
        if slot.registered {
            self.registered.retain(|&registered| registered != key);
        }
        slot.operation
    }

    /// As [`Requests::remove`], if the operation is a `T`.
    pub fn remove_as<T: Operation<S>>(&mut self, key: u32) -> Option<Box<T>> {
        self.get_as::<T>(key)?;
        (self.remove(key)? as Box<dyn Any>).downcast().ok()
    }

    /// The program has freed the request.
    pub fn free(&mut self, key: u32, afterlife: Afterlife) {
        match afterlife {
            Afterlife::Gone => drop(self.remove(key)),
            Afterlife::UntilOver { register } => {
                if let Some(slot) = self.slots.get_mut(key) {
                    slot.orphaned = true;
                }
                if register {
                    self.register(key);
                }
            }
            Afterlife::Stays => {}
        }
    }
}

impl<S: 'static> Default for Requests<S> {
    fn default() -> Requests<S> {
        Requests::new()
    }
}

/// Runs `f` on an operation and the rest of the state; `None`: there is no such request.
pub fn with<S: Requesting, R>(
    state: &mut S,
    key: u32,
    f: impl FnOnce(&mut dyn Operation<S>, &mut S) -> R,
) -> Option<R> {
    let mut operation = state.requests().slots.get_mut(key)?.operation.take()?;
    let result = f(&mut *operation, state);
    if let Some(slot) = state.requests().slots.get_mut(key) {
        slot.operation = Some(operation);
    }
    Some(result)
}

/// As [`with`], if the operation is a `T`.
pub fn with_as<S: Requesting, T: Operation<S>, R>(
    state: &mut S,
    key: u32,
    f: impl FnOnce(&mut T, &mut S) -> R,
) -> Option<R> {
    state.requests().get_as::<T>(key)?;
    with(state, key, |operation, state| {
        let operation = (operation as &mut dyn Any).downcast_mut::<T>();
        operation.map(|operation| f(operation, state))
    })?
}

/// Advances every registered operation once; whether anything happened.
pub fn advance_all<S: Requesting>(state: &mut S) -> bool {
    let (mut happened, mut at) = (false, 0);
    // An operation that ends may let another one begin, at the end of the list.
    while let Some(&key) = state.requests().registered.get(at) {
        let orphaned = state.requests().slots.get(key).is_some_and(|slot| slot.orphaned);
        let turn = with(state, key, |operation, state| match operation.advance(state, key) {
            turn if !orphaned => turn,
            _ if operation.is_over(state) => Advance::Finished,
            turn => {
                if turn == Advance::Idle {
                    Advance::Idle
                } else {
                    Advance::Moved
                }
            }
        });
        happened |= turn.is_some_and(|turn| turn != Advance::Idle);
        if matches!(turn, Some(Advance::Idle | Advance::Moved)) {
            at += 1;
            continue;
        }
        let requests = state.requests();
        requests.registered.remove(at);
        if let Some(slot) = requests.slots.get_mut(key) {
            slot.registered = false;
        }
        if orphaned {
            requests.slots.remove(key);
        }
    }
    if happened {
        state.threads().changed();
    }
    happened
}
