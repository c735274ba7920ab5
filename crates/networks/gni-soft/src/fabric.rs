//! What carries a NIC's transactions to other NICs.

use gni::{
    Amo, HwStatus, InstId, JobKey, JobResource, MemFlags, MemHandle, MsgqAttr, MsgqMessage, PeAddr,
    ResourceUse, Result, Time,
};
use mem::{PeerSpace, UserMem};
use shm::doorbell::Doorbell;

/// A NIC that the fabric knows how to reach; what [`Fabric::resolve`] returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerIndex(pub u32);

/// The engine's name for a transaction under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket(pub u32);

/// One registration as targets publish it and initiators are checked against it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registration {
    /// Memory descriptor index.
    pub mdd: u16,
    /// Which user of that descriptor.
    pub generation: u16,
    /// First byte.
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
    /// What the registration allows.
    pub flags: MemFlags,
    /// The arrival queue, as [`Fabric::open_queue`] named it.
    pub queue: Option<u32>,
}

/// Which engine of the NIC a transaction uses; a cost model distinguishes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A mailbox or shared-queue message, or credits.
    Message,
    /// The CPU's window.
    Fma,
    /// The block transfer engine.
    Bte,
}

/// Where written bytes come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// From memory that the fabric copies before `submit` returns.
    Bytes(&'a [u8]),
    /// From unregistered user memory, likewise copied before `submit` returns.
    Window(UserMem),
    /// From registered memory of the initiator, read when the transaction is carried out.
    Registered(UserMem, MemHandle),
}

/// What is to happen at the target. `event` is a raw completion-queue entry for the queue of the transaction's
/// handle, made visible after the rest; [`LOST_EVENT`] stands for one that the queue is to lose.
#[derive(Clone, Copy, Debug)]
pub enum Action<'a> {
    /// Store bytes at `addr`, then a word at another address.
    Write {
        /// The bytes.
        from: Source<'a>,
        /// Where they go.
        addr: u64,
        /// Address and value of a word stored after them.
        flag: Option<(u64, u64)>,
    },
    /// Store `image` at `addr`, its first four bytes last and with release order.
    Message {
        /// A mailbox slot: header and message.
        image: &'a [u8],
        /// The slot's address.
        addr: u64,
    },
    /// Store one 32-bit word with release order.
    Store {
        /// Its address, a multiple of 4.
        addr: u64,
        /// Its value.
        value: u32,
    },
    /// Fetch `into.len()` bytes from `addr`.
    Read {
        /// Registered memory of the initiator.
        into: UserMem,
        /// Its handle.
        local: MemHandle,
        /// Where the bytes are.
        addr: u64,
    },
    /// Change one 64-bit word.
    Atomic {
        /// The operation.
        command: Amo,
        /// Its first operand.
        first: u64,
        /// Its second operand.
        second: u64,
        /// The word's address, a multiple of 8.
        addr: u64,
        /// Where the old value goes: 8 bytes of registered memory of the initiator.
        into: Option<(UserMem, MemHandle)>,
    },
    /// Nothing but the event.
    Event,
    /// Put a message for this instance into its node's shared queue.
    Shared {
        /// The message's tag.
        tag: u8,
        /// Header and data.
        bytes: &'a [u8],
    },
}

/// Stands for an entry that the target's queue loses, leaving its overrun mark.
pub const LOST_EVENT: u64 = 0;

/// A transaction.
#[derive(Clone, Copy, Debug)]
pub struct Tx<'a> {
    /// The target.
    pub peer: PeerIndex,
    /// The engine's name for it.
    pub ticket: Ticket,
    /// The engine it uses.
    pub class: Class,
    /// Whether it must land after earlier ordered ones to the same target.
    pub ordered: bool,
    /// The target memory's handle.
    pub handle: MemHandle,
    /// What is to happen.
    pub action: Action<'a>,
    /// The entry for the target's queue.
    pub event: Option<u64>,
}

/// Answer of [`Fabric::submit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submit {
    /// Carried out, with this verdict.
    Done(HwStatus),
    /// Under way; [`Fabric::poll`] will tell. Of the action's memory only registered memory is still used.
    Pending,
    /// No room at the moment; nothing was begun.
    Busy,
}

/// A transaction that has come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landed {
    /// The transaction.
    pub ticket: Ticket,
    /// How it went.
    pub status: HwStatus,
}

/// What an arrival queue holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// The oldest entry, raw.
    Entry(u64),
    /// Entries were lost since the last call that reported a loss.
    Overrun,
    /// The queue has no entry.
    Empty,
}

/// Kinds of datagram packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// One side's offer.
    Request = 0,
    /// The other side's bytes, in answer to an offer.
    Reply = 1,
    /// The offer has arrived and is kept until something is posted for it.
    Held = 2,
    /// The offer is withdrawn.
    Cancel = 3,
}

/// One packet of a datagram exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// What it is.
    pub kind: PacketKind,
    /// The sender's node.
    pub pe: PeAddr,
    /// The sender.
    pub inst: InstId,
    /// The sender's job.
    pub key: JobKey,
    /// Number of the exchange on the side that made the offer.
    pub sequence: u32,
    /// Bytes in use of `data`.
    pub len: u8,
    /// The bytes.
    pub data: [u8; gni::limits::DATAGRAM_MAX],
}

/// Why a packet could not be handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undeliverable {
    /// The peer cannot be reached (yet).
    Absent,
    /// The peer has no room for packets.
    Full,
    /// The peer was there and is no more.
    Gone,
}

/// A direct view of a peer's registered memory.
pub struct Window<'a> {
    /// The bytes.
    pub space: PeerSpace<'a>,
    /// The queue of the memory's registration.
    pub queue: Option<u32>,
}

/// Carries transactions and packets of one NIC, and publishes what other NICs' transactions are checked
/// against.
///
/// A fabric checks every transaction at the target with [`crate::check_access`]-like rules: the handle's
/// descriptor is in use by the same generation, the job's keys agree, the range lies inside, the right is there.
pub trait Fabric {
    /// This NIC's node.
    fn pe(&self) -> PeAddr;
    /// This NIC's instance.
    fn inst(&self) -> InstId;
    /// This NIC's job.
    fn key(&self) -> JobKey;
    /// See [`gni::Gni::locator`].
    fn locator(&self) -> &[u8];
    /// See [`gni::Gni::learn_peer`].
    ///
    /// # Errors
    /// `INVALID_PARAM`.
    fn learn(&mut self, pe: PeAddr, inst: InstId, locator: &[u8]) -> Result<()>;

    /// What the NIC's owner may sleep on: rung by the one that makes an entry, packet or end of a transaction for
    /// this NIC. `None`: nothing rings.
    fn doorbell(&self) -> Option<&Doorbell>;

    /// See [`gni::Gni::atomics_are_quick`].
    fn atomics_are_quick(&self, pe: PeAddr, inst: InstId) -> bool;

    /// Use and limit of a resource of the node.
    fn resource(&self, resource: JobResource) -> ResourceUse;
    /// Page size of the node's relocation table, as a power of two.
    fn mrt_page_shift(&self) -> u32;
    /// Takes one memory descriptor and `pages` relocation entries of the node.
    ///
    /// # Errors
    /// `ERROR_RESOURCE`.
    fn reserve(&mut self, pages: u32) -> Result<()>;
    /// Gives back what [`Fabric::reserve`] took.
    fn unreserve(&mut self, pages: u32);

    /// Makes a registration known to initiators.
    ///
    /// # Errors
    /// `ERROR_NOMEM`: the memory cannot be pinned.
    fn publish(&mut self, registration: &Registration) -> Result<()>;
    /// Ends it. When this returns, no initiator touches the memory any more.
    fn withdraw(&mut self, mdd: u16);

    /// Opens a queue for arrivals.
    ///
    /// # Errors
    /// `ERROR_RESOURCE`, `ERROR_NOMEM`.
    fn open_queue(&mut self, entries: u32) -> Result<u32>;
    /// Closes an arrival queue.
    fn close_queue(&mut self, queue: u32);
    /// Takes the oldest entry of an arrival queue.
    fn next_entry(&mut self, queue: u32) -> Arrived;
    /// Whether [`Fabric::next_entry`] would find something.
    fn has_entry(&mut self, queue: u32) -> bool;

    /// See [`gni::Gni::mem_alloc`].
    ///
    /// # Errors
    /// `ERROR_NOMEM`.
    fn alloc(&mut self, bytes: usize) -> Result<UserMem>;
    /// See [`gni::Gni::mem_free`].
    ///
    /// # Errors
    /// `INVALID_PARAM`.
    fn free(&mut self, memory: UserMem) -> Result<()>;

    /// Finds a NIC; `None` while it cannot be reached.
    fn resolve(&mut self, pe: PeAddr, inst: InstId) -> Option<PeerIndex>;
    /// Begins a transaction.
    fn submit(&mut self, now: Time, tx: &Tx<'_>) -> Submit;
    /// A transaction that was pending and has ended.
    fn poll(&mut self, now: Time) -> Option<Landed>;
    /// A direct view of `len` bytes at `addr` of the peer's memory, where the fabric can give one and the
    /// access is allowed; the short way for messages. A caller that writes through it pushes the event itself.
    fn window(&mut self, peer: PeerIndex, handle: MemHandle, addr: u64, len: usize) -> Option<Window<'_>>;
    /// Puts a raw entry into a peer's queue, after writing through a window.
    fn push_event(&mut self, peer: PeerIndex, queue: u32, entry: u64);
    /// Longest piece of a block transfer with a peer that one transaction should carry, in bytes.
    fn rdma_piece(&self, peer: PeerIndex) -> u64;

    /// Sends a datagram packet.
    ///
    /// # Errors
    /// [`Undeliverable`]; nothing was sent.
    fn send_packet(
        &mut self,
        now: Time,
        to: (PeAddr, InstId),
        packet: &Packet,
    ) -> core::result::Result<(), Undeliverable>;
    /// The next packet that has arrived.
    fn next_packet(&mut self, now: Time) -> Option<Packet>;

    /// Joins the node's shared queue; see [`gni::Gni::msgq_init`].
    ///
    /// # Errors
    /// As [`gni::Gni::msgq_init`].
    fn shared_join(&mut self, attr: &MsgqAttr) -> Result<()>;
    /// Connects two nodes' shared queues; see [`gni::Gni::msgq_connect`].
    ///
    /// # Errors
    /// As [`gni::Gni::msgq_connect`].
    fn shared_connect(&mut self, pe: PeAddr) -> Result<()>;
    /// Takes one credit of this node towards `pe`.
    ///
    /// # Errors
    /// `NOT_DONE` for none, `INVALID_STATE` when not connected.
    fn shared_take_credit(&mut self, pe: PeAddr) -> Result<()>;
    /// Takes back a credit whose message was not sent.
    fn shared_return_credit(&mut self, pe: PeAddr);
    /// The next message of the node's queue for this NIC; its credit goes back to the sender's node.
    fn shared_next(&mut self) -> Option<MsgqMessage>;
}
