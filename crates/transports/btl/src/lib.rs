//! The contract of a byte transfer layer.
//!
//! A BTL moves bytes to and from peers. It knows nothing of communicators, tags or requests: the layer above
//! (a PML such as `ob1`) puts a short header of its own before each message and reads it on the other side.
//! Everything is pulled: the owner asks for the next arrival, the next event; a BTL never calls back. So the
//! protocol code above needs no lock, clock or global, and the same code runs over real transports, over the
//! aggregate of several (`bml`) and over simulated ones on virtual time.
//!
//! # Who takes what arrives
//!
//! Message layers, windows, files and connections share the transports of a process. The first byte of a frame's header
//! and the highest byte of a cookie name a [`Class`]. Transports carry both and read neither. One owner calls [`poll`]
//! as a [`Hub`], which hands each arrival and each end of a get or put to the handler of its class and counts what
//! has no handler ([`Strays`]). A lost peer concerns all classes. The frames of all classes but the message layer's, which
//! has flow control of its own, are bounded by [`Credits`].
//!
//! # What a transport promises
//!
//! * **Delivery.** A message whose [`Btl::send`] returned `Ok` arrives once, whole and unchanged, unless an
//!   [`Event::PeerLost`] for its peer is reported. Messages to one peer may overtake each other when a
//!   transport has several paths; the layer above numbers what must stay in order.
//! * **Copies.** `send` has taken header and payload when it returns `Ok`; the caller's memory is free at once.
//! * **Back-pressure.** `send` may answer [`Busy`]: nothing was taken. The caller keeps the message, goes on,
//!   and tries again after a later [`Btl::next_arrival`] or [`Btl::next_event`] call. Room ends a sleep ([`Btl::arm`]).
//! * **Zero copy.** [`Btl::expose`] makes memory reachable for one peer's [`Btl::get`] or [`Btl::put`]. The
//!   memory must stay valid until [`Btl::conceal`]. A get or put is over when its [`Event::Done`] or
//!   [`Event::Failed`] was reported, and not before.
//! * **Distrust.** What an [`Arrival`] shows can still be written by the peer; read each word once, check it,
//!   then use it. The transport itself checks lengths and offsets against its mapping before it makes a view.
//! * **Progress.** Work is done inside calls of this trait only. A transport that needs a helper thread documents
//!   it and stops it when the rank enters MPI.
//! * **Waiting.** [`Btl::arm`] announces that the owner is about to sleep; see there.
//! * **Leaving.** A process that sent its goodbyes ([`Farewells`]) and owes its peers nothing any more ([`Btl::owes`])
//!   may end: all that it sent arrives. [`Event::PeerLost`] for a peer whose goodbye came means that it has ended; any
//!   other is a loss.
//! * **Windows.** [`RemoteMemory`] is optional, too: memory registered once for all peers, and atomic operations on it.
//! * **Opening.** [`Join`]: a transport that processes of several hosts use puts its card before the job's fence and reads
//!   the others' after it.
//! * **Ways.** [`Ways`]: a table of transports shows them one by one to a layer that chooses among them for each frame;
//!   [`Rails`] are the ways of one transport, which may have several and need not keep *Delivery*.
//! * **Fast verbs.** [`FastPath`] is optional: its methods may do nothing.
//!
//! No method blocks. No method allocates on its fast path.
#![forbid(unsafe_code)]

mod class;
mod credits;
mod farewell;
mod fast_path;
pub mod join;
mod poll;
mod remote;
mod suspicion;
mod ways;

pub use class::{Class, Strays, Unclaimed};
pub use credits::{BadFrame, Credits};
pub use farewell::Farewells;
pub use fast_path::{Asleep, FastPath, Route, SHORT, Take};
pub use join::{Cards, Join, Lines, Start};
pub use poll::{Alone, Bounds, Hub, Receiver, poll};
pub use remote::{Atomic, Atomics, Flushed, Remote, RemoteMemory};
pub use suspicion::{Suspects, Suspicion};
pub use ways::{MOST_RAILS, Rails, Turn, Way, Ways};

use mem::{PeerBytes, Source, UserMem};
use std::ops::Range;
use std::os::fd::{BorrowedFd, RawFd};

/// A process of the job as transports know it: the index in this process's peer table (its world rank, for
/// the processes of the same `MPI_COMM_WORLD`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer(pub u32);

/// Most header words (8 bytes each) that a message may carry.
pub const MAX_HEADER_WORDS: usize = 8;

/// Nothing was taken; try again later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// Whom a want of room stops; see [`Btl::full`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// The peer that was asked about: it has not taken what it was sent. Messages to others leave.
    Peer,
    /// All peers that are reached the same way: a sender that was refused need not try the others.
    All,
}

/// Why one-sided access cannot be had now or at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Resources are used up at the moment; try again later.
    Busy,
    /// This transport, peer, alignment or length does not allow it; use another protocol.
    Unfit,
}

/// How a transport reaches one peer. Lengths are payload bytes, the PML's header not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Largest payload sent eagerly by default (the eager limit; a parameter).
    pub eager: usize,
    /// Largest payload of one `send`; fragments of a pipelined message have this size.
    pub max_send: usize,
    /// `get` is possible at all.
    pub get: bool,
    /// `put` is possible at all.
    pub put: bool,
    /// Smallest message for which zero copy pays.
    pub min_rdma: usize,
    /// The same for an answer: a message to a peer that has sent something since the last such message, by a sender that
    /// waits for its end or, in synchronous mode, for the receiver. At least `min_rdma`.
    pub min_rdma_answer: usize,
    /// Largest length of one `get`; longer messages are fetched in several.
    pub max_get: usize,
    /// Largest length of one `put`.
    pub max_put: usize,
    /// Required alignment, in bytes, of both addresses and of the length of a `get` (1: none).
    pub get_align: usize,
}

impl Limits {
    /// A transport that carries messages alone: no `get`, no `put`.
    pub const fn of_messages(eager: usize, max_send: usize) -> Limits {
        Limits {
            eager,
            max_send,
            get: false,
            put: false,
            min_rdma: usize::MAX,
            min_rdma_answer: usize::MAX,
            max_get: 0,
            max_put: 0,
            get_align: 1,
        }
    }
}

/// The limits towards each of many peers, most of which have the same ones as others.
#[derive(Debug)]
pub struct LimitsByPeer {
    /// All that differ, of a few kinds of peers.
    kinds: Vec<Limits>,
    /// By peer, which of them are its own.
    of_peers: Vec<u8>,
}

impl LimitsByPeer {
    /// The limits that `of` has for each of `peers` peers.
    pub fn new(peers: u32, of: impl Fn(Peer) -> Limits) -> LimitsByPeer {
        let mut kinds = Vec::new();
        let of_peers = (0..peers).map(|peer| {
            let own = of(Peer(peer));
            let known = kinds.iter().position(|kind| *kind == own);
            let kind = known.unwrap_or(kinds.len());
            if known.is_none() {
                kinds.push(own);
            }
            kind as u8
        });
        let of_peers = of_peers.collect();
        LimitsByPeer { kinds, of_peers }
    }

    /// Whether `peer` is one of them.
    pub fn has(&self, peer: Peer) -> bool {
        (peer.0 as usize) < self.of_peers.len()
    }

    /// The limits towards `peer`, which is one of them.
    pub fn of(&self, peer: Peer) -> &Limits {
        &self.kinds[usize::from(self.of_peers[peer.0 as usize])]
    }
}

/// How fast the way to a peer is, as its transport declares it: to compare ways, not to predict times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// From the send of a short message to its arrival, in nanoseconds.
    pub latency: u64,
    /// Of long messages, in bytes per microsecond.
    pub bandwidth: u64,
}

impl Pace {
    /// Of a transport that declares nothing: all that declare something go before it.
    pub const UNKNOWN: Pace = Pace { latency: u64::MAX >> 1, bandwidth: u64::MAX };

    /// How long a message of so many bytes takes, in nanoseconds.
    pub fn time(&self, bytes: u64) -> u64 {
        self.latency.saturating_add(bytes.saturating_mul(1000) / self.bandwidth.max(1))
    }
}

/// Names exposed memory to a peer. Travels inside a PML header; opaque to all but the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RemoteKey(pub [u64; 3]);

/// What a peer may do with exposed memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The peer will `get` from it.
    Read,
    /// The peer will `put` into it.
    Write,
}

/// A message that has arrived. Its views stay valid until it is given back by [`Btl::release`].
#[derive(Debug)]
pub struct Arrival {
    /// The sender, as the transport knows it (not as the message claims).
    pub peer: Peer,
    /// The header, as it was sent; its first byte names the [`Class`].
    pub header: PeerBytes<'static>,
    /// The payload, whole.
    pub payload: PeerBytes<'static>,
    /// The transport's own note on where the message lies.
    pub token: u64,
}

/// What happened to an earlier call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The `get` or `put` with this cookie is complete; its bytes are in place.
    Done(u64),
    /// The `get` or `put` with this cookie failed and moved nothing that counts; use another protocol. A failed put may still be
    /// stored, late, until its owner conceals the memory: it does so before it stores the fragments that replace the put.
    Failed(u64),
    /// Nothing more will come from or reach this peer.
    PeerLost(Peer),
    /// The last write or update of this process in this peer's registered memory is over ([`RemoteMemory::flush`]).
    Flushed(Peer),
}

/// Why nothing more comes from or reaches a peer, in the words of the transport that gave it up: main clauses without
/// an end mark, for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What the transport observed.
    pub seen: String,
    /// What the user can do beside reading what the peer wrote last. It goes on from "look at what rank 1 wrote last, ".
    pub advice: String,
}

/// What to sleep on; see [`Btl::arm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// A futex word. Everything that ends the sleep changes it and wakes the threads that wait on it.
    Word {
        /// Its address, in memory that stays mapped as long as the library is initialised.
        address: usize,
        /// Its value before a ring.
        expected: u32,
    },
    /// A descriptor that becomes readable; open as long as the library is initialised.
    Descriptor(RawFd),
}

/// A byte transfer layer; see the module's documentation for the promises.
pub trait Btl: RemoteMemory {
    /// Whether this transport leads to `peer`. All other methods are called for such peers only.
    fn reaches(&self, peer: Peer) -> bool;

    /// The limits towards `peer`; constant while the peer lives.
    fn limits(&self, peer: Peer) -> &Limits;

    /// How fast the way to `peer` is; the same as long as the peer lives.
    fn pace(&self, _peer: Peer) -> Pace {
        Pace::UNKNOWN
    }

    /// Sends `header` (at most [`MAX_HEADER_WORDS`] words) and all of `payload` (at most `max_send` bytes) to
    /// `peer`, copying both.
    ///
    /// This is the hot path: implementations inline it, and for a short message write straight into memory
    /// that the peer polls.
    ///
    /// # Errors
    /// [`Busy`] when there is no room; nothing was taken from `payload`.
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy>;

    /// The next message from any peer, oldest first per peer and path; peers are served fairly.
    ///
    /// At most one arrival is out at a time: it is given back by [`Btl::release`] before the next is asked for.
    fn next_arrival(&mut self) -> Option<Arrival>;

    /// The next message from `peer` if one can be seen at once; a short cut for a receiver that knows its
    /// source. May return `None` although [`Btl::next_arrival`] would find one.
    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival>;

    /// Gives an arrival's memory back to the transport.
    fn release(&mut self, arrival: Arrival);

    /// Advances the transport's own work (copy engines, completions, connections) and reports one event.
    fn next_event(&mut self) -> Option<Event>;

    /// Whether a peer may end without any word of it, so that it must be looked for ([`Btl::look_for_losses`]). Where the end of a
    /// process is that of a connection, it shows by itself, but only where there is one.
    fn must_look_for_losses(&self) -> bool {
        false
    }

    /// Finds peers that have ended without a word, and reports those that were found the time before by [`Event::PeerLost`], each
    /// once: what they had sent has arrived meanwhile. Whether there is something for the calls that follow, or will be by them
    /// alone: where not, a thread that sleeps goes on sleeping until the next look, without a poll. Whatever waits and
    /// gets nothing asks for that now and then, after a poll of everything has found nothing.
    ///
    /// The owner awaits something from `awaited`. Where only a connection shows the end of a peer, one is made with those,
    /// if that takes no other peer's.
    fn look_for_losses(&mut self, _awaited: &[Peer]) -> bool {
        false
    }

    /// The process of `peer` has ended, as the owner knows from elsewhere and knew when it polled everything last: reports
    /// that by [`Event::PeerLost`], unless it was reported or shows by itself.
    fn has_ended(&mut self, _peer: Peer) {}

    /// Why `peer` was given up, asked for after [`Event::PeerLost`] and rarely, so words may be made for it.
    fn loss(&self, peer: Peer) -> Loss;

    /// Makes `memory` reachable for `peer` until [`Btl::conceal`]. A transport without zero copy leaves this and the next
    /// three as they are.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when registrations are used up, [`Refusal::Unfit`] when this pair has no zero copy.
    fn expose(&mut self, _peer: Peer, _memory: UserMem, _access: Access) -> Result<RemoteKey, Refusal> {
        Err(Refusal::Unfit)
    }

    /// Ends what [`Btl::expose`] began: nothing is stored there any more. Idempotent for keys already concealed.
    fn conceal(&mut self, _peer: Peer, _key: RemoteKey) {}

    /// Fetches `local.len()` bytes from `offset` of the memory that `peer` exposed as `key`, into `local`.
    /// Completion is reported with `cookie`, whose highest byte names the [`Class`] that asks.
    ///
    /// # Errors
    /// [`Refusal`]; nothing was begun.
    fn get(
        &mut self,
        _peer: Peer,
        _local: UserMem,
        _key: &RemoteKey,
        _offset: u64,
        _cookie: u64,
    ) -> Result<(), Refusal> {
        Err(Refusal::Unfit)
    }

    /// Stores `local` at `offset` of the memory that `peer` exposed as `key`, each byte of which is put once; otherwise as [`Btl::get`].
    ///
    /// # Errors
    /// [`Refusal`]; nothing was begun.
    fn put(
        &mut self,
        _peer: Peer,
        _local: UserMem,
        _key: &RemoteKey,
        _offset: u64,
        _cookie: u64,
    ) -> Result<(), Refusal> {
        Err(Refusal::Unfit)
    }

    /// Whether this transport takes memory in several runs for one-sided access by and of `peer`: whether
    /// [`Btl::expose_runs`] and [`Btl::get_runs`] may succeed.
    fn takes_runs(&self, _peer: Peer) -> bool {
        false
    }

    /// As [`Btl::expose`] for reading, of memory in several runs, which are one message in this order.
    ///
    /// # Errors
    /// [`Refusal`]; nothing was exposed.
    fn expose_runs(&mut self, _peer: Peer, _runs: &[UserMem]) -> Result<RemoteKey, Refusal> {
        Err(Refusal::Unfit)
    }

    /// As [`Btl::get`] of as many bytes as `local` has in all, from the beginning of what `key` names.
    ///
    /// # Errors
    /// [`Refusal`]; nothing was begun.
    fn get_runs(
        &mut self,
        _peer: Peer,
        _local: &[UserMem],
        _key: &RemoteKey,
        _cookie: u64,
    ) -> Result<(), Refusal> {
        Err(Refusal::Unfit)
    }

    /// Announces that `runs` runs of memory within the addresses `bounds` are about to be packed for a message to `peer`,
    /// or unpacked from one of its. A transport that knows how to make that faster next time may do so.
    fn expect_packing(&mut self, _peer: Peer, _bounds: Range<usize>, _runs: u64) {}

    /// Whether `peer` asked its senders to hold back payload ([`Btl::advertise_congestion`]). One load of a
    /// line that is in the cache anyway.
    fn congested(&self, peer: Peer) -> bool;

    /// Why no message can leave to `peer` just now, as far as the transport knows without trying. Asked after a refusal.
    fn full(&self, _peer: Peer) -> Option<Full> {
        None
    }

    /// Whether nothing that was sent still depends on this process's work.
    fn is_flushed(&self) -> bool {
        true
    }

    /// Whether something that was sent to `peer` may not reach it if this process ends now. That takes more than
    /// [`Btl::is_flushed`] where a network still carries it. Its end is no event and ends no sleep.
    fn owes(&self, _peer: Peer) -> bool {
        !self.is_flushed()
    }

    /// Whether what is sent to `peer` reaches it also while it is away from MPI ([`Farewells`]), without a turn of its
    /// process: its kernel takes it, or reports that the process has ended.
    fn reaches_away(&self, _peer: Peer) -> bool {
        false
    }

    /// Whether `peer` may report the end of this process as its loss: there is a connection with it, or the like.
    fn would_miss(&self, _peer: Peer) -> bool {
        false
    }

    /// Announces to all peers whether this process still wants eager payload. Returns `false` where the transport
    /// has no such word; the layer above then sends messages of its own.
    fn advertise_congestion(&mut self, on: bool) -> bool;

    /// Announces that the owner is going to sleep, and returns what to sleep on.
    ///
    /// ```text
    ///   owner                                          a sender, or the one that makes room
    ///   poll: nothing happened
    ///   arm
    ///   poll: nothing happened  (else disarm)          publish
    ///   must_arm_again: no      (else disarm)
    ///   sleep, no lock held                            sleeping? ring
    ///   disarm
    /// ```
    /// In this order no wake-up is lost: either the poll after `arm` sees what was published, or its publisher sees that
    /// the owner sleeps. `None`: nothing to sleep on, or work that no peer announces. The owner keeps polling then, and
    /// does not disarm; an announcement that is not taken back costs a sender one needless wake-up, no more.
    ///
    /// *What ends the sleep.* A message, an event, and room: if anything was refused with [`Busy`] or [`Refusal::Busy`]
    /// since the last `arm`, the sleep ends when the owner should try again. The owner has tried all that waits for
    /// room since it last slept. A transport where no peer announces the room answers `None`. Refusals of [`FastPath`]
    /// do not count, since `send` may succeed all the same.
    ///
    /// *Threads.* Several threads of the owner may be armed, and sleep, at the same time. A ring wakes all of them.
    fn arm(&mut self) -> Option<Sleep>;

    /// Whether what [`Btl::arm`] announced does not stand for all that the owner waits for any more. Asked after the poll
    /// that follows `arm`, if nothing happened in it that the owner saw. A transport may have done work of its own there,
    /// an answer to a get for one, and have been refused room for the rest, which no peer was asked to announce; or it
    /// may have left a part of what was there. The owner does not sleep then, but polls and arms again.
    fn must_arm_again(&self) -> bool {
        false
    }

    /// Ends what [`Btl::arm`] began: no peer rings any more. Of several threads that sleep, the last to wake disarms.
    fn disarm(&mut self);

    /// A descriptor that is readable while there is something to do here, or room again after [`Busy`], for transports
    /// that wait for the kernel; level-triggered, as that of an epoll instance, and the same as long as the transport
    /// lives. The owner may sleep on it only between [`Btl::arm`] and [`Btl::disarm`], and reads nothing from it.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
