//! Events: what happened inside, reported to callbacks (MPI-5.0 section 15.3.8).
//!
//! ```text
//!   something happens (library locked)      a call waits, or a test polls (library unlocked)
//!     raise ──► queue, up to QUEUE long ──►   deliver ──► each registration's callback
//!                   full: counted                     └─► its dropped handler
//! ```
//!
//! Callbacks run outside of the lock, so they may call anything; nothing is raised while no callback is registered.

use std::collections::VecDeque;

use abi::{Address, Result, TEventInstance, TEventRegistration};
use engine::Guarded;
use ffi::{TEventDroppedFunction, TEventFunction};
use mem::Slab;

use super::{NO_HANDLE, at};
use objects::domain::Token;
use objects::info::Info;
use pml::Notice;

use objects::state::State;

/// A kind of event. Each field has a name, and is an `int` or an `MPI_Count`.
pub(super) struct Kind {
    pub name: &'static str,
    pub description: &'static str,
    pub fields: &'static [(&'static str, abi::Datatype)],
}

/// The events that exist; the index of one is its number.
pub(super) static KINDS: [Kind; 3] = [
    Kind {
        name: "pml_ob1_unexpected_message",
        description: "A message arrived before its receive",
        fields: &[("source", abi::INT), ("tag", abi::INT), ("bytes", abi::COUNT)],
    },
    Kind {
        name: "mpi_communicator_created",
        description: "A communicator was made",
        fields: &[("handle", abi::INT), ("size", abi::INT)],
    },
    Kind {
        name: "mpi_communicator_freed",
        description: "A communicator was freed",
        fields: &[("handle", abi::INT), ("size", abi::INT)],
    },
];

/// Indices into [`KINDS`].
pub(crate) const UNEXPECTED: usize = 0;
pub const COMM_CREATED: usize = 1;
pub const COMM_FREED: usize = 2;

/// Most events that wait for their delivery.
const QUEUE: usize = 1024;
const MOST_FIELDS: usize = 3;

/// One event.
#[derive(Clone, Copy)]
pub(super) struct Instance {
    pub kind: usize,
    /// Nanoseconds of the library's clock.
    pub time: i64,
    pub values: [i64; MOST_FIELDS],
}

/// A tool's interest in one kind of event.
pub(super) struct Registration {
    pub kind: usize,
    pub info: Info,
    /// By safety level, with the callback's own data.
    pub callbacks: Vec<(i32, TEventFunction, Address)>,
    pub on_dropped: Option<TEventDroppedFunction>,
    /// Events lost since the last delivery.
    dropped: i64,
}

/// All registrations, and the events on their way to them.
pub(super) struct Events {
    pub(super) registrations: Slab<Registration, 16, 15>,
    /// Events that callbacks look at just now.
    pub(super) shown: Slab<Instance, 10, 20>,
    queue: VecDeque<Instance>,
    /// Kinds that some registration has a callback for, one bit each.
    wanted: u32,
}

pub(super) static EVENTS: Guarded<Events> = Guarded::new(Events {
    registrations: Slab::new(),
    shown: Slab::new(),
    queue: VecDeque::new(),
    wanted: 0,
});

impl Events {
    /// Whether a registration wants this kind.
    #[inline]
    fn wants(&self, kind: usize) -> bool {
        self.wanted & 1 << kind != 0
    }

    /// Keeps an event until callbacks can be called; `values`: its fields, in the order of its kind.
    fn raise(&mut self, kind: usize, values: [i64; MOST_FIELDS]) {
        if !self.wants(kind) {
            return;
        }
        if self.queue.len() < QUEUE {
            self.queue.push_back(Instance { kind, time: now(), values });
            return;
        }
        for (_, registration) in self.registrations.iter_mut().filter(|(_, one)| one.kind == kind) {
            registration.dropped += 1;
        }
    }

    pub(super) fn registration(&mut self, handle: TEventRegistration) -> Result<(u32, &mut Registration)> {
        let key = key(handle.0)?;
        self.registrations.get_mut(key).map(|found| (key, found)).ok_or(NO_HANDLE)
    }

    pub(super) fn instance(&self, handle: TEventInstance) -> Result<&Instance> {
        self.shown.get(key(handle.0)?).ok_or(NO_HANDLE)
    }

    /// Settles which kinds are wanted, after registrations changed.
    fn settle(&mut self) {
        let listening = self.registrations.iter().filter(|(_, one)| !one.callbacks.is_empty());
        self.wanted = listening.fold(0, |wanted, (_, one)| wanted | 1 << one.kind);
        let wanted = self.wanted;
        self.queue.retain(|instance| wanted & 1 << instance.kind != 0);
    }

    /// Whether a registration has a callback.
    fn are_wanted(&self) -> bool {
        self.wanted != 0
    }

    /// The next event, and its receivers: registration, callback and its data.
    fn next(&mut self) -> Option<(Instance, Vec<Interested>)> {
        let instance = self.queue.pop_front()?;
        let interested = self.registrations.iter().filter(|(_, one)| one.kind == instance.kind);
        // The least level that is safe enough; here the caller's thread is outside of the library, which needs none.
        let calls = interested.filter_map(|(key, one)| {
            let (_, callback, data) = one.callbacks.iter().min_by_key(|(safety, ..)| *safety)?;
            Some((key, *callback, *data))
        });
        Some((instance, calls.collect()))
    }

    /// Registrations that lost events, with their handlers.
    fn losses(&mut self) -> Vec<(u32, i64, TEventDroppedFunction, Address)> {
        let lost = self.registrations.iter_mut().filter(|(_, one)| one.dropped > 0);
        lost.filter_map(|(key, one)| {
            let count = std::mem::take(&mut one.dropped);
            let data = one.callbacks.first().map_or(Address(0), |(_, _, data)| *data);
            Some((key, count, one.on_dropped?, data))
        })
        .collect()
    }
}

/// A registration with its callback and the callback's own data.
type Interested = (u32, TEventFunction, Address);

impl Registration {
    pub fn new(kind: usize, info: Info) -> Registration {
        Registration { kind, info, callbacks: Vec::new(), on_dropped: None, dropped: 0 }
    }
}

/// Handles are keys plus one.
fn key(handle: usize) -> Result<u32> {
    handle.checked_sub(1).and_then(|key| u32::try_from(key).ok()).ok_or(NO_HANDLE)
}

pub(super) fn handle_of(key: u32) -> usize {
    key as usize + 1
}

/// The clock of all events.
pub(super) fn now() -> i64 {
    (platform::clock::seconds() * 1e9) as i64
}

/// Keeps an event until callbacks can be called; `values`: its fields, in the order of its kind.
pub fn raise(state: &mut State, kind: usize, values: [i64; MOST_FIELDS]) {
    EVENTS.get_mut(&mut state.tables).raise(kind, values);
}

/// Raises the events of the message layer that were logged since the last time.
fn collect_notices(state: &mut State) {
    while let Some(Notice { envelope, bytes }) = state.p2p.next_notice() {
        let values = [i64::from(envelope.source), i64::from(envelope.tag), bytes as i64];
        raise(state, UNEXPECTED, values);
    }
}

/// Settles what is watched for, after registrations changed.
pub(super) fn settle(state: &mut State) {
    let events = EVENTS.get_mut(&mut state.tables);
    events.settle();
    state.after_wait = events.are_wanted().then_some(deliver);
    state.p2p.note_unexpected(events.wants(UNEXPECTED));
}

/// Calls the callbacks of all events so far. Takes the token: they may call MPI.
#[cold]
fn deliver(t: &mut Token) {
    collect_notices(&mut t.lock());
    let safety = abi::T_CB_REQUIRE_NONE;
    loop {
        let Some((instance, calls)) = EVENTS.get_mut(&mut t.lock().tables).next() else { break };
        // A callback that makes so many others wait sees no more of them.
        let Ok(shown) = EVENTS.get_mut(&mut t.lock().tables).shown.insert(instance) else { break };
        for (registration, callback, data) in calls {
            let (instance, registration) = (handle_of(shown), handle_of(registration));
            callback.call(TEventInstance(instance), TEventRegistration(registration), safety, data);
        }
        EVENTS.get_mut(&mut t.lock().tables).shown.remove(shown);
    }
    let losses = EVENTS.get_mut(&mut t.lock().tables).losses();
    for (registration, count, handler, data) in losses {
        handler.call(count, TEventRegistration(handle_of(registration)), 0, safety, data);
    }
}

/// The kind behind an index.
pub(super) fn kind(index: i32) -> Result<&'static Kind> {
    at(&KINDS, index)
}
