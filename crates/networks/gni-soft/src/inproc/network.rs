//! The state behind a world, and when transactions happen.

use super::blocks::Blocks;
use super::config::{Flow, Model, NetworkConfig, Wake};
use crate::fabric::{
    Action, Arrived, LOST_EVENT, Landed, Packet, Registration, Source, Submit, Ticket, Tx, Undeliverable,
};
use crate::pinned::Pins;
use gni::{
    Amo, Error, HwStatus, InstId, JobKey, JobResource, MemHandle, Modes, MsgqAttr, MsgqMessage, PeAddr,
    ResourceUse, Result, Time,
};
use mem::UserMem;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// One NIC as others see it.
pub(super) struct NicState {
    pub(super) pe: PeAddr,
    pub(super) inst: InstId,
    pub(super) key: JobKey,
    pub(super) alive: bool,
    dedicated_fma: bool,
    pub(super) registrations: Vec<Option<Registration>>,
    /// The pages of the registrations, in a pinned world.
    pub(super) pins: Option<Pins>,
    queues: Vec<Option<ArrivalQueue>>,
    inbox: VecDeque<(Time, Packet)>,
    ended: BinaryHeap<Reverse<(Time, u64, u32, u8)>>,
    /// What has come for it, until its clock shows the moment at which it came; by that and the transaction's number.
    pub(super) coming: BTreeMap<(Time, u64), Coming>,
    /// Its owner polls memory, and is woken by writes that tell it nothing.
    polls_memory: bool,
}

/// What a NIC notices of a transaction: both follow one another, the message first.
#[derive(Default)]
pub(super) struct Coming {
    /// A message for a mailbox: its sender, the registration, the address.
    pub(super) message: Option<(u32, MemHandle, u64, Vec<u8>)>,
    /// An entry of an arrival queue.
    pub(super) event: Option<(u32, u64)>,
}

struct ArrivalQueue {
    capacity: usize,
    entries: VecDeque<u64>,
    overrun: bool,
}

/// What a node's NICs share.
#[derive(Default)]
pub(super) struct Node {
    mdds: u32,
    pages: u32,
    fma: u32,
    pub(super) shared: Option<SharedQueue>,
}

/// The shared message queue of one node, and its connections.
pub(super) struct SharedQueue {
    pub(super) attr: MsgqAttr,
    pub(super) members: u32,
    /// Credits left towards other nodes.
    pub(super) credits: HashMap<PeAddr, u32>,
    /// Messages by the instance they are for, with their sender's node.
    pub(super) messages: HashMap<InstId, VecDeque<MsgqMessage>>,
    pub(super) held: u32,
    /// Credits given to other nodes; the pool backs them all.
    pub(super) promised: u32,
}

pub(super) struct Network {
    pub(super) config: NetworkConfig,
    /// Memory of no NIC.
    pub(super) blocks: Blocks,
    model: Option<Box<dyn Model>>,
    pub(super) nics: Vec<NicState>,
    index: HashMap<(PeAddr, InstId), u32>,
    pub(super) nodes: HashMap<PeAddr, Node>,
    flights: BinaryHeap<Reverse<Flight>>,
    /// Numbers flights, so that equal times keep the order of submission.
    submitted: u64,
    /// Not taken yet; empty in a world without a model.
    wakes: Vec<Wake>,
}

/// Packets that a NIC keeps until it looks at them.
const INBOX: usize = 256;

/// A transaction under way in a timed world; it owns the bytes that it carries.
pub(super) struct Flight {
    at: Time,
    number: u64,
    ended: Time,
    from: u32,
    pub(super) to: u32,
    ticket: Ticket,
    pub(super) handle: MemHandle,
    pub(super) event: Option<u64>,
    pub(super) deed: Deed,
}

/// An [`Action`] that owns its bytes.
pub(super) enum Deed {
    Write { bytes: Vec<u8>, addr: u64, flag: Option<(u64, u64)> },
    WriteFrom { from: UserMem, local: MemHandle, addr: u64 },
    Message { image: Vec<u8>, addr: u64 },
    Store { addr: u64, value: u32 },
    Read { into: UserMem, local: MemHandle, addr: u64 },
    Atomic { command: Amo, first: u64, second: u64, addr: u64, into: Option<(UserMem, MemHandle)> },
    Event,
    Shared { tag: u8, bytes: Vec<u8> },
}

impl Flight {
    /// Its place among the transactions: when it arrives, and its number.
    pub(super) fn place(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Flight {
    fn eq(&self, other: &Flight) -> bool {
        self.number == other.number
    }
}

impl Eq for Flight {}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Flight) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flight {
    fn cmp(&self, other: &Flight) -> core::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

impl Network {
    pub(super) fn new(config: NetworkConfig, model: Option<Box<dyn Model>>) -> Network {
        Network {
            config,
            blocks: Blocks::default(),
            model,
            nics: Vec::new(),
            index: HashMap::new(),
            nodes: HashMap::new(),
            flights: BinaryHeap::new(),
            submitted: 0,
            wakes: Vec::new(),
        }
    }

    pub(super) fn attach(&mut self, pe: PeAddr, inst: InstId, key: JobKey, modes: Modes) -> Result<u32> {
        if !self.config.jobs.contains(&key) {
            return Err(Error::Permission);
        }
        if self.resolve(pe, inst).is_some() {
            return Err(Error::InvalidState);
        }
        let limit = self.config.limits.fma_descriptors;
        let node = self.nodes.entry(pe).or_default();
        let dedicated_fma = modes.has(Modes::FMA_DEDICATED);
        if dedicated_fma && node.fma >= limit {
            return Err(Error::Resource);
        }
        let pins = self.config.pinned.then(Pins::new).transpose().map_err(|_| Error::IllegalOp)?;
        node.fma += u32::from(dedicated_fma);
        let index = self.nics.len() as u32;
        self.nics.push(NicState {
            pe,
            inst,
            key,
            alive: true,
            dedicated_fma,
            registrations: Vec::new(),
            pins,
            queues: Vec::new(),
            inbox: VecDeque::new(),
            ended: BinaryHeap::new(),
            coming: BTreeMap::new(),
            polls_memory: false,
        });
        self.index.insert((pe, inst), index);
        Ok(index)
    }

    pub(super) fn detach(&mut self, nic: u32) {
        let state = &mut self.nics[nic as usize];
        let (pe, inst, dedicated) = (state.pe, state.inst, state.dedicated_fma);
        state.alive = false;
        state.registrations.clear();
        state.pins = None;
        state.inbox.clear();
        state.coming.clear();
        if let Some(node) = self.nodes.get_mut(&pe) {
            node.fma -= u32::from(dedicated);
        }
        if self.index.get(&(pe, inst)) == Some(&nic) {
            self.index.remove(&(pe, inst));
        }
    }

    pub(super) fn kill(&mut self, pe: PeAddr, inst: InstId) {
        if let Some(index) = self.index.remove(&(pe, inst)) {
            self.nics[index as usize].alive = false;
        }
    }

    pub(super) fn resolve(&self, pe: PeAddr, inst: InstId) -> Option<u32> {
        self.index.get(&(pe, inst)).copied()
    }

    // ---- resources ----

    pub(super) fn resource(&self, pe: PeAddr, resource: JobResource) -> ResourceUse {
        let node = self.nodes.get(&pe);
        let used = |of: fn(&Node) -> u32| node.map_or(0, of);
        match resource {
            JobResource::Mdd => ResourceUse { used: used(|n| n.mdds), limit: self.config.limits.mdds },
            JobResource::Mrt => {
                ResourceUse { used: used(|n| n.pages), limit: self.config.limits.mrt_entries }
            }
            JobResource::Fma => {
                ResourceUse { used: used(|n| n.fma), limit: self.config.limits.fma_descriptors }
            }
        }
    }

    pub(super) fn reserve(&mut self, pe: PeAddr, pages: u32) -> Result<()> {
        let (mdds, entries) = (self.config.limits.mdds, self.config.limits.mrt_entries);
        let node = self.nodes.entry(pe).or_default();
        if node.mdds >= mdds || pages > entries.saturating_sub(node.pages) {
            return Err(Error::Resource);
        }
        node.mdds += 1;
        node.pages += pages;
        Ok(())
    }

    pub(super) fn unreserve(&mut self, pe: PeAddr, pages: u32) {
        if let Some(node) = self.nodes.get_mut(&pe) {
            node.mdds -= 1;
            node.pages -= pages;
        }
    }

    // ---- arrival queues ----

    pub(super) fn open_queue(&mut self, nic: u32, entries: u32) -> u32 {
        let queues = &mut self.nics[nic as usize].queues;
        queues.push(Some(ArrivalQueue {
            capacity: entries as usize,
            entries: VecDeque::new(),
            overrun: false,
        }));
        queues.len() as u32 - 1
    }

    pub(super) fn close_queue(&mut self, nic: u32, queue: u32) {
        if let Some(queue) = self.nics[nic as usize].queues.get_mut(queue as usize) {
            *queue = None;
        }
    }

    pub(super) fn next_entry(&mut self, nic: u32, queue: u32) -> Arrived {
        let Some(Some(queue)) = self.nics[nic as usize].queues.get_mut(queue as usize) else {
            return Arrived::Empty;
        };
        if core::mem::take(&mut queue.overrun) {
            return Arrived::Overrun;
        }
        queue.entries.pop_front().map_or(Arrived::Empty, Arrived::Entry)
    }

    pub(super) fn has_entry(&self, nic: u32, queue: u32) -> bool {
        matches!(self.nics[nic as usize].queues.get(queue as usize),
            Some(Some(queue)) if queue.overrun || !queue.entries.is_empty())
    }

    pub(super) fn push_event(&mut self, nic: u32, queue: u32, entry: u64) {
        let Some(Some(queue)) = self.nics[nic as usize].queues.get_mut(queue as usize) else { return };
        if entry == LOST_EVENT || queue.entries.len() >= queue.capacity {
            queue.overrun = true;
        } else {
            queue.entries.push_back(entry);
        }
    }

    // ---- transactions ----

    pub(super) fn submit(&mut self, now: Time, from: u32, tx: &Tx<'_>) -> Submit {
        let to = tx.peer.0;
        let mut flight = Flight {
            at: now,
            number: self.submitted,
            ended: now,
            from,
            to,
            ticket: tx.ticket,
            handle: tx.handle,
            event: tx.event,
            deed: Deed::of(&tx.action),
        };
        self.submitted += 1;
        let Some(model) = self.model.as_mut() else { return Submit::Done(self.apply(from, &mut flight)) };
        let (source, target) = (&self.nics[from as usize], &self.nics[to as usize]);
        let flow = Flow {
            from: source.pe,
            to: target.pe,
            from_inst: source.inst,
            to_inst: target.inst,
            class: tx.class,
            fetches: matches!(tx.action, Action::Read { .. } | Action::Atomic { into: Some(_), .. }),
            bytes: flight.deed.bytes(),
            ordered: tx.ordered,
        };
        let polls_memory = target.polls_memory;
        let timing = model.time(now, &flow);
        let ended = timing.ended.max(timing.carried_out);
        let seen = polls_memory && !flow.fetches;
        let told = seen || tx.event.is_some() || matches!(tx.action, Action::Shared { .. });
        if told {
            let Flow { to: pe, to_inst: inst, .. } = flow;
            self.wakes.push(Wake { at: timing.carried_out, pe, inst, packet: false });
        }
        self.wakes.push(Wake { at: ended, pe: flow.from, inst: flow.from_inst, packet: false });
        self.flights.push(Reverse(Flight { at: timing.carried_out, ended, ..flight }));
        Submit::Pending
    }

    /// Carries out what is due, then takes an ended transaction of `nic`.
    ///
    /// Each NIC has a clock of its own, and one that is ahead carries out what is due for others. These have messages and events
    /// when their own clocks show the moment: a rank would otherwise act on what is not sent yet.
    pub(super) fn poll(&mut self, now: Time, nic: u32) -> Option<Landed> {
        while self.flights.peek().is_some_and(|Reverse(flight)| flight.at <= now) {
            let Some(Reverse(mut flight)) = self.flights.pop() else { break };
            let status = self.apply(flight.from, &mut flight);
            let ended = Reverse((flight.ended, flight.number, flight.ticket.0, status as u8));
            self.nics[flight.from as usize].ended.push(ended);
        }
        while let Some(first) = self.nics[nic as usize].coming.first_entry()
            && first.key().0 <= now
        {
            let Coming { message, event } = first.remove();
            if let Some((from, handle, addr, image)) = message {
                // A mailbox that is gone by now takes nothing.
                let _ = self.message(from, nic, handle, &image, addr);
            }
            if let Some((queue, entry)) = event {
                self.push_event(nic, queue, entry);
            }
        }
        let ended = &mut self.nics[nic as usize].ended;
        if ended.peek().is_none_or(|Reverse((at, ..))| *at > now) {
            return None;
        }
        let Reverse((_, _, ticket, status)) = ended.pop()?;
        Some(Landed { ticket: Ticket(ticket), status: HwStatus::ALL[usize::from(status)] })
    }

    /// The message and event of a transaction that wait for the clock of `nic`; `None`: there is no model, and they do not wait.
    pub(super) fn coming(&mut self, nic: u32, place: (Time, u64)) -> Option<&mut Coming> {
        self.model.as_ref()?;
        Some(self.nics[nic as usize].coming.entry(place).or_default())
    }

    // ---- datagram packets ----

    pub(super) fn send_packet(
        &mut self,
        now: Time,
        from: (PeAddr, InstId),
        to: (PeAddr, InstId),
        packet: &Packet,
    ) -> core::result::Result<(), Undeliverable> {
        let index = self.resolve(to.0, to.1).ok_or(Undeliverable::Absent)?;
        let NicState { inbox, alive, .. } = &mut self.nics[index as usize];
        if !*alive {
            return Err(Undeliverable::Gone);
        }
        if inbox.len() >= INBOX {
            return Err(Undeliverable::Full);
        }
        let at = match &mut self.model {
            None => now,
            Some(model) => {
                let at = model.packet(now, from, to);
                self.wakes.push(Wake { at, pe: to.0, inst: to.1, packet: true });
                at
            }
        };
        inbox.push_back((at, *packet));
        Ok(())
    }

    pub(super) fn next_packet(&mut self, now: Time, nic: u32) -> Option<Packet> {
        let timed = self.model.is_some();
        let inbox = &mut self.nics[nic as usize].inbox;
        let first = inbox.iter().position(|&(at, _)| !timed || at <= now)?;
        let packet = inbox.remove(first).map(|(_, packet)| packet);
        if inbox.is_empty() {
            // Packets come while connections are made and then no more.
            *inbox = VecDeque::new();
        }
        packet
    }

    pub(super) fn polls_memory(&mut self, pe: PeAddr, inst: InstId) {
        if let Some(index) = self.resolve(pe, inst) {
            self.nics[index as usize].polls_memory = true;
        }
    }

    pub(super) fn take_wakes(&mut self, into: &mut Vec<Wake>) {
        into.append(&mut self.wakes);
    }
}

impl Deed {
    fn of(action: &Action<'_>) -> Deed {
        match *action {
            Action::Write { from: Source::Bytes(bytes), addr, flag } => {
                Deed::Write { bytes: bytes.to_vec(), addr, flag }
            }
            Action::Write { from: Source::Window(memory), addr, flag } => {
                Deed::Write { bytes: memory.as_bytes().to_vec(), addr, flag }
            }
            Action::Write { from: Source::Registered(from, local), addr, .. } => {
                Deed::WriteFrom { from, local, addr }
            }
            Action::Message { image, addr } => Deed::Message { image: image.to_vec(), addr },
            Action::Store { addr, value } => Deed::Store { addr, value },
            Action::Read { into, local, addr } => Deed::Read { into, local, addr },
            Action::Atomic { command, first, second, addr, into } => {
                Deed::Atomic { command, first, second, addr, into }
            }
            Action::Event => Deed::Event,
            Action::Shared { tag, bytes } => Deed::Shared { tag, bytes: bytes.to_vec() },
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Deed::Write { bytes, .. } | Deed::Message { image: bytes, .. } | Deed::Shared { bytes, .. } => {
                bytes.len() as u64
            }
            Deed::WriteFrom { from: memory, .. } | Deed::Read { into: memory, .. } => memory.len() as u64,
            Deed::Store { .. } => 4,
            Deed::Atomic { .. } => 8,
            Deed::Event => 0,
        }
    }
}
