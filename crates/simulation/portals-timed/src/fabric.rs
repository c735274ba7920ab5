//! When headers and data are where.

use crate::Picos;
use crate::costs::{Costs, IN_HEADER, Kernel};
use crate::mesh::Mesh;
use mem::{PeerBytes, UserMem};
use portals::{Error, Jid, Nid, Pid, ProcessId, Result, Uid};
use portals_soft::{Arrival, Data, End, Fabric, Header, Identity, Sent};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A page of Linux, in bytes.
const PAGE: usize = 4096;

/// Processes, some on each node, and what is between them.
#[derive(Clone)]
pub struct Network(Arc<Mutex<Inner>>);

struct Inner {
    costs: Costs,
    kernel: Kernel,
    mesh: Mesh,
    nodes: BTreeMap<Nid, Node>,
    processes: BTreeMap<ProcessId, Process>,
    /// Processes that have something to do, and from when on; for a driver of many.
    wakes: Vec<(ProcessId, Picos)>,
}

#[derive(Default)]
struct Node {
    /// Until when its port is held: out of it, into it.
    ports: [Picos; 2],
    /// Until when its first processor treats interrupts.
    handler: Picos,
}

#[derive(Default)]
struct Process {
    clock: Picos,
    /// What interrupts for other processes of its node have taken of its processor since this was last asked.
    stolen: Picos,
    /// In the order of their headers' arrival.
    inbox: VecDeque<Message>,
    /// Ends of operations: when, ticket, whether the processor is interrupted for it.
    ends: BinaryHeap<Reverse<(Picos, u32, bool)>>,
}

struct Message {
    from: Identity,
    header: Header,
    data: Vec<u8>,
    /// When the header is there, and the last of the data.
    head: Picos,
    last: Picos,
    /// Whether another processor of the node wrote it, so that no interrupt is taken.
    local: bool,
}

pub(crate) fn picos(nanoseconds: f64) -> Picos {
    (nanoseconds * 1000.0).round() as Picos
}

impl Network {
    /// A machine without processes.
    pub fn new(mesh: Mesh, costs: Costs, kernel: Kernel) -> Network {
        Network(Arc::new(Mutex::new(Inner {
            costs,
            kernel,
            mesh,
            nodes: BTreeMap::new(),
            processes: BTreeMap::new(),
            wakes: Vec::new(),
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fabric of a process on a node; the node's first processor, which process 0 has, treats all interrupts.
    pub fn attach(&self, id: ProcessId) -> Timed {
        let mut inner = self.inner();
        inner.nodes.entry(id.nid).or_default();
        inner.processes.insert(id, Process::default());
        drop(inner);
        let who = Identity { id, uid: Uid(0), jid: Jid(0) };
        Timed { world: self.clone(), who, current: Message::nothing(who) }
    }

    /// Process `process` of a node.
    pub fn id(node: u32, process: u32) -> ProcessId {
        ProcessId { nid: Nid(node), pid: Pid(process) }
    }

    /// A process's clock.
    pub fn now(&self, id: ProcessId) -> Picos {
        self.inner().processes.get(&id).map_or(0, |process| process.clock)
    }

    /// The process computes for so long.
    pub fn spend(&self, id: ProcessId, nanoseconds: f64) {
        if let Some(process) = self.inner().processes.get_mut(&id) {
            process.clock += picos(nanoseconds);
        }
    }

    /// When the process has something to do that it has not at its clock's time; `None`: never, as far as is known.
    pub fn next_wake(&self, id: ProcessId) -> Option<Picos> {
        let inner = self.inner();
        let process = inner.processes.get(&id)?;
        let head = process.inbox.front().map(|message| message.head);
        let end = process.ends.peek().map(|Reverse((at, ..))| *at);
        [head, end].into_iter().flatten().min()
    }

    /// The process has nothing to do until `moment`.
    pub fn idle_until(&self, id: ProcessId, moment: Picos) {
        if let Some(process) = self.inner().processes.get_mut(&id) {
            process.clock = process.clock.max(moment);
        }
    }

    /// Takes what interrupts for other processes of the node have taken of this one's processor while it computed.
    pub fn take_stolen(&self, id: ProcessId) -> Picos {
        self.inner().processes.get_mut(&id).map_or(0, |process| core::mem::take(&mut process.stolen))
    }

    /// Takes the news of processes that have got something to do since this was last asked: which, and from when on.
    pub fn take_wakes(&self, into: &mut Vec<(ProcessId, Picos)>) {
        into.append(&mut self.inner().wakes);
    }

    pub(crate) fn costs(&self) -> Costs {
        self.inner().costs
    }
}

impl Inner {
    /// The node's first processor is interrupted for process `id`.
    fn interrupt(&mut self, id: ProcessId) {
        let Inner { costs, nodes, processes, .. } = self;
        let (Some(node), Some(process)) = (nodes.get_mut(&id.nid), processes.get_mut(&id)) else { return };
        let took = picos(costs.interrupt);
        let begin = process.clock.max(node.handler);
        node.handler = begin + took;
        process.clock = node.handler;
        let first = ProcessId { pid: Pid(0), ..id };
        if id != first
            && let Some(first) = processes.get_mut(&first)
        {
            if first.clock > begin {
                first.clock += took;
            } else {
                first.stolen += took;
            }
        }
    }
}

impl Message {
    fn nothing(from: Identity) -> Message {
        let spot = portals_soft::Spot { index: 0, access: 0, match_bits: 0, offset: 0, len: 0 };
        let header = Header::Get { spot, reply: (0, 0) };
        Message { from, header, data: Vec::new(), head: 0, last: 0, local: false }
    }
}

/// The fabric of one process.
pub struct Timed {
    world: Network,
    who: Identity,
    current: Message,
}

impl Timed {
    /// The machine.
    pub fn world(&self) -> &Network {
        &self.world
    }

    fn walk(&self, walked: u32) {
        let each = self.world.costs().match_entry;
        self.world.spend(self.who.id, each * f64::from(walked));
    }
}

impl Fabric for Timed {
    fn identity(&self) -> Identity {
        self.who
    }

    fn distance(&self, nid: Nid) -> Result<u32> {
        let inner = self.world.inner();
        if nid.0 >= inner.mesh.nodes() {
            return Err(Error::ProcessInvalid);
        }
        Ok(inner.mesh.hops(self.who.id.nid.0, nid.0))
    }

    fn knows(&self, id: ProcessId) -> bool {
        self.world.inner().processes.contains_key(&id)
    }

    fn send(&mut self, to: ProcessId, header: &Header, data: Data<'_>, ticket: u32) -> Sent {
        let mut inner = self.world.inner();
        let Inner { costs, kernel, mesh, nodes, processes, wakes } = &mut *inner;
        let (bytes, runs) = (data.gather(), commands(&data, *kernel));
        let local = to.nid == self.who.id.nid && to != self.who.id;
        let len = bytes.len() as f64;
        let Some(sender) = processes.get_mut(&self.who.id) else { return Sent::Unreachable };
        let mut message = Message { from: self.who, header: *header, data: bytes, head: 0, last: 0, local };
        let mut done = true;
        if local {
            sender.clock += picos(len / costs.local_rate);
            (message.head, message.last) = (sender.clock, sender.clock);
        } else {
            let held = picos(len / costs.port_rate);
            sender.clock += picos(costs.command * runs as f64);
            let Some(node) = nodes.get_mut(&self.who.id.nid) else { return Sent::Unreachable };
            let start = sender.clock.max(node.ports[0]);
            node.ports[0] = start + held;
            done = message.data.len() as u64 <= IN_HEADER;
            if !done {
                sender.ends.push(Reverse((start + held, ticket, false)));
                wakes.push((self.who.id, start + held));
            }
            let hops = mesh.hops(self.who.id.nid.0, to.nid.0);
            message.head = start + picos(costs.wire + costs.hop * f64::from(hops));
            let Some(node) = nodes.get_mut(&to.nid) else { return Sent::Unreachable };
            message.last = message.head.max(node.ports[1]) + held;
            node.ports[1] = message.last;
        }
        let Some(target) = processes.get_mut(&to) else { return Sent::Unreachable };
        wakes.push((to, message.head));
        let place = target.inbox.partition_point(|other| other.head <= message.head);
        target.inbox.insert(place, message);
        if done { Sent::Done } else { Sent::Pending }
    }

    fn waiting(&self) -> usize {
        0
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        let mut inner = self.world.inner();
        let process = inner.processes.get_mut(&self.who.id)?;
        if process.inbox.front()?.head > process.clock {
            return None;
        }
        let message = process.inbox.pop_front()?;
        if !message.local {
            inner.interrupt(self.who.id);
        }
        let (from, header) = (message.from, message.header);
        drop(inner);
        self.current = message;
        Some(Arrival { from, header })
    }

    fn deliver(&mut self, into: &[UserMem], walked: u32, ticket: u32) -> bool {
        self.walk(walked);
        let mut bytes = &self.current.data[..];
        for run in into {
            let (now, later) = bytes.split_at(bytes.len().min(run.len()));
            store(*run, now);
            bytes = later;
        }
        if self.current.local || self.current.data.len() as u64 <= IN_HEADER {
            return true;
        }
        let mut inner = self.world.inner();
        let Inner { processes, wakes, .. } = &mut *inner;
        if let Some(process) = processes.get_mut(&self.who.id) {
            let at = self.current.last.max(process.clock);
            process.ends.push(Reverse((at, ticket, true)));
            wakes.push((self.who.id, at));
        }
        false
    }

    fn bytes(&mut self, walked: u32) -> Vec<u8> {
        self.walk(walked);
        core::mem::take(&mut self.current.data)
    }

    fn discard(&mut self, walked: u32) {
        self.walk(walked);
    }

    fn next_end(&mut self) -> Option<End> {
        let mut inner = self.world.inner();
        let process = inner.processes.get_mut(&self.who.id)?;
        let &Reverse((at, ticket, interrupts)) = process.ends.peek()?;
        if at > process.clock {
            return None;
        }
        process.ends.pop();
        if interrupts {
            inner.interrupt(self.who.id);
        }
        Some(End { ticket, fine: true })
    }

    fn is_quiet(&self) -> bool {
        let inner = self.world.inner();
        inner.processes.get(&self.who.id).is_none_or(|process| process.ends.is_empty())
    }
}

/// Writes what is not there already, in pieces of a page. Programs without data send zeros, and memory that no rank has
/// written, as that for early messages, takes none of this machine's.
fn store(into: UserMem, bytes: &[u8]) {
    let mut there = [0; PAGE];
    for (piece, offset) in bytes.chunks(PAGE).zip((0..).step_by(PAGE)) {
        let place = into.part(offset, piece.len());
        let there = &mut there[..piece.len()];
        place.as_bytes().copy_to(there);
        if there != piece {
            place.write(PeerBytes::of(piece));
        }
    }
}

/// DMA commands for the data of one message.
fn commands(data: &Data<'_>, kernel: Kernel) -> usize {
    let runs = match data {
        Data::Bytes(_) => return 1,
        Data::Runs(runs) => runs,
    };
    let pages = |run: &UserMem| (run.address() % PAGE + run.len()).div_ceil(PAGE);
    match kernel {
        Kernel::Catamount => runs.len().max(1),
        Kernel::Linux => runs.iter().map(pages).sum::<usize>().max(1),
    }
}
