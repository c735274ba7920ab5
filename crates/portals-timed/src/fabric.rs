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

/// Processes, one a node, and what is between them.
#[derive(Clone)]
pub struct World(Arc<Mutex<Inner>>);

struct Inner {
    costs: Costs,
    kernel: Kernel,
    mesh: Mesh,
    processes: BTreeMap<ProcessId, Process>,
    /// Processes that have something to do, and from when on; for a driver of many.
    wakes: Vec<(Nid, Picos)>,
}

#[derive(Default)]
struct Process {
    clock: Picos,
    /// Until when its port is held: out of it, into it.
    ports: [Picos; 2],
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
}

pub(crate) fn picos(nanoseconds: f64) -> Picos {
    (nanoseconds * 1000.0).round() as Picos
}

impl World {
    /// A machine without processes.
    pub fn new(mesh: Mesh, costs: Costs, kernel: Kernel) -> World {
        World(Arc::new(Mutex::new(Inner {
            costs,
            kernel,
            mesh,
            processes: BTreeMap::new(),
            wakes: Vec::new(),
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fabric of the process on a node.
    pub fn attach(&self, node: u32) -> Timed {
        let id = World::id(node);
        self.inner().processes.insert(id, Process::default());
        let who = Identity { id, uid: Uid(0), jid: Jid(0) };
        Timed { world: self.clone(), who, current: Message::nothing(who) }
    }

    /// The process on a node.
    pub fn id(node: u32) -> ProcessId {
        ProcessId { nid: Nid(node), pid: Pid(0) }
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

    /// Takes the news of processes that have got something to do since this was last asked: which, and from when on.
    pub fn take_wakes(&self, into: &mut Vec<(Nid, Picos)>) {
        into.append(&mut self.inner().wakes);
    }

    pub(crate) fn costs(&self) -> Costs {
        self.inner().costs
    }
}

impl Message {
    fn nothing(from: Identity) -> Message {
        let spot = portals_soft::Spot { index: 0, access: 0, match_bits: 0, offset: 0, len: 0 };
        let header = Header::Get { spot, reply: (0, 0) };
        Message { from, header, data: Vec::new(), head: 0, last: 0 }
    }
}

/// The fabric of one process.
pub struct Timed {
    world: World,
    who: Identity,
    current: Message,
}

impl Timed {
    /// The machine.
    pub fn world(&self) -> &World {
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
        let Inner { costs, kernel, mesh, processes, wakes } = &mut *inner;
        let (bytes, runs) = (data.gather(), commands(&data, *kernel));
        let held = picos(bytes.len() as f64 / costs.port_rate);
        let Some(sender) = processes.get_mut(&self.who.id) else { return Sent::Unreachable };
        sender.clock += picos(costs.command * runs as f64);
        let start = sender.clock.max(sender.ports[0]);
        sender.ports[0] = start + held;
        let in_header = bytes.len() as u64 <= IN_HEADER;
        if !in_header {
            sender.ends.push(Reverse((start + held, ticket, false)));
            wakes.push((self.who.id.nid, start + held));
        }
        let hops = mesh.hops(self.who.id.nid.0, to.nid.0);
        let head = start + picos(costs.wire + costs.hop * f64::from(hops));
        let Some(target) = processes.get_mut(&to) else { return Sent::Unreachable };
        let last = head.max(target.ports[1]) + held;
        target.ports[1] = last;
        let message = Message { from: self.who, header: *header, data: bytes, head, last };
        wakes.push((to.nid, head));
        let place = target.inbox.partition_point(|other| other.head <= head);
        target.inbox.insert(place, message);
        if in_header { Sent::Done } else { Sent::Pending }
    }

    fn waiting(&self) -> usize {
        0
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        let mut inner = self.world.inner();
        let interrupt = picos(inner.costs.interrupt);
        let process = inner.processes.get_mut(&self.who.id)?;
        if process.inbox.front()?.head > process.clock {
            return None;
        }
        let message = process.inbox.pop_front()?;
        process.clock += interrupt;
        let (from, header) = (message.from, message.header);
        drop(inner);
        self.current = message;
        Some(Arrival { from, header })
    }

    fn deliver(&mut self, into: &[UserMem], walked: u32, ticket: u32) -> bool {
        self.walk(walked);
        let mut bytes = PeerBytes::of(&self.current.data);
        for run in into {
            let written = run.write(bytes);
            bytes = bytes.part(written, bytes.len() - written);
        }
        if self.current.data.len() as u64 <= IN_HEADER {
            return true;
        }
        let mut inner = self.world.inner();
        let Inner { processes, wakes, .. } = &mut *inner;
        if let Some(process) = processes.get_mut(&self.who.id) {
            let at = self.current.last.max(process.clock);
            process.ends.push(Reverse((at, ticket, true)));
            wakes.push((self.who.id.nid, at));
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
        let interrupt = picos(inner.costs.interrupt);
        let process = inner.processes.get_mut(&self.who.id)?;
        let &Reverse((at, ticket, interrupts)) = process.ends.peek()?;
        if at > process.clock {
            return None;
        }
        process.ends.pop();
        process.clock += if interrupts { interrupt } else { 0 };
        Some(End { ticket, fine: true })
    }

    fn is_quiet(&self) -> bool {
        let inner = self.world.inner();
        inner.processes.get(&self.who.id).is_none_or(|process| process.ends.is_empty())
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
