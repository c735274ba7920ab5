//! From recorded calls to what a virtual rank does.

use super::{CommId, Job};
use coll::Coll;
use recording::{Damaged, Entry, Reader};

/// A call.
pub(crate) struct Call {
    /// Index of its function's name.
    pub function: u16,
    /// Nanoseconds since the last call, how many of them the rank had a processor, and how many the call took.
    pub gap: u64,
    pub computed: u64,
    pub duration: u64,
    pub action: Action,
}

/// What a call does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Nothing but computing for as long as it took.
    Compute,
    /// Nothing: it found nothing to do, and the program goes round again.
    Nothing,
    /// Both begin, and both end.
    Blocking([Option<Start>; 2]),
    /// An operation begins that has this handle.
    Begin(i64, Start),
    /// An operation is described, to be begun by [`Action::Restart`].
    Describe(i64, Start),
    Restart(Vec<i64>),
    /// Operations end.
    Wait(Vec<i64>),
    Free(i64),
    Probe {
        from: Option<u32>,
        tag: i32,
        comm: CommId,
    },
    Collective(Collective),
    BeginCollective(i64, Collective),
}

/// The start of a message; peers are ranks of the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    Send {
        to: u32,
        tag: i32,
        comm: CommId,
        bytes: u64,
    },
    Receive {
        from: Option<u32>,
        tag: i32,
        comm: CommId,
        bytes: u64,
    },
    /// To or from `MPI_PROC_NULL`.
    NoPeer,
}

/// A collective call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Collective {
    pub coll: Coll,
    pub comm: CommId,
    /// The root's rank in the communicator.
    pub root: u32,
    /// Elements of the vector, or of a block, and bytes of each.
    pub count: u64,
    pub element: u64,
}

/// Values of a call, read in their order.
struct Values<'a> {
    values: &'a [i64],
    comms: &'a super::Comms,
}

impl Values<'_> {
    fn next(&mut self) -> Option<i64> {
        let (&first, rest) = self.values.split_first()?;
        self.values = rest;
        Some(first)
    }

    fn size(&mut self) -> Option<u64> {
        self.next().map(|value| value.max(0) as u64)
    }

    /// Count and size of a datatype: bytes.
    fn bytes(&mut self) -> Option<u64> {
        Some(self.size()? * self.size()?)
    }

    fn list(&mut self) -> Option<Vec<i64>> {
        let length = self.size()? as usize;
        let (list, rest) = self.values.split_at_checked(length)?;
        self.values = rest;
        Some(list.to_vec())
    }

    fn comm(&mut self) -> Option<CommId> {
        let handle = self.next()?;
        self.comms.of(handle)
    }

    /// The last value: what the call gave back.
    fn last(&self) -> Option<i64> {
        self.values.last().copied()
    }

    /// The communicator, which comes after peer and tag, and those as the world knows them.
    fn send(&mut self, bytes: u64) -> Option<Start> {
        let (to, tag) = (self.next()?, self.next()? as i32);
        let comm = self.comm()?;
        self.start(true, to, tag, comm, bytes)
    }

    fn receive(&mut self, bytes: u64) -> Option<Start> {
        let (from, tag) = (self.next()?, self.next()? as i32);
        let comm = self.comm()?;
        self.start(false, from, tag, comm, bytes)
    }

    fn start(&self, sends: bool, peer: i64, tag: i32, comm: CommId, bytes: u64) -> Option<Start> {
        let group = self.comms.group(comm);
        let world = |peer: i64| usize::try_from(peer).ok().and_then(|peer| group.get(peer)).copied();
        Some(match peer as i32 {
            abi::PROC_NULL => Start::NoPeer,
            abi::ANY_SOURCE if !sends => Start::Receive { from: None, tag, comm, bytes },
            _ if sends => Start::Send { to: world(peer)?, tag, comm, bytes },
            _ => Start::Receive { from: Some(world(peer)?), tag, comm, bytes },
        })
    }

    fn collective(&mut self, name: &str) -> Option<Collective> {
        let (coll, lists) = match name {
            "Barrier" => (Coll::Barrier, 0),
            "Bcast" => (Coll::Bcast, 0),
            "Gather" | "Gatherv" => (Coll::Gather, 0),
            "Scatter" | "Scatterv" => (Coll::Scatter, 0),
            "Allgather" => (Coll::Allgather, 0),
            "Allgatherv" => (Coll::Allgather, 1),
            "Alltoall" => (Coll::Alltoall, 0),
            "Alltoallv" => (Coll::Alltoall, 2),
            "Reduce" => (Coll::Reduce, 0),
            "Allreduce" => (Coll::Allreduce, 0),
            "Reduce_scatter" => (Coll::ReduceScatterBlock, 1),
            "Reduce_scatter_block" => (Coll::ReduceScatterBlock, 0),
            "Scan" => (Coll::Scan, 0),
            "Exscan" => (Coll::Exscan, 0),
            _ => return None,
        };
        let is_rooted = matches!(coll, Coll::Bcast | Coll::Gather | Coll::Scatter | Coll::Reduce);
        let mean = |list: &[i64]| list.iter().sum::<i64>().max(0) as u64 / list.len().max(1) as u64;
        let (count, element) = match (coll, name, lists) {
            (Coll::Barrier, ..) => (0, 1),
            // Blocks of different lengths stand as blocks of their mean, so that all ranks agree.
            (_, "Allgatherv", _) => {
                let _own = self.bytes()?;
                let counts = self.list()?;
                (mean(&counts), self.size()?)
            }
            (_, "Alltoallv", _) => {
                let counts = self.list()?;
                let size = self.size()?;
                let (_counts, _size) = (self.list()?, self.size()?);
                (mean(&counts), size)
            }
            (_, "Reduce_scatter", _) => {
                let counts = self.list()?;
                (mean(&counts), self.size()?)
            }
            _ => {
                let own = (self.size()?, self.size()?);
                if matches!(coll, Coll::Allgather | Coll::Alltoall) {
                    // What is received counts: what is sent is nothing where it is in place.
                    let received = (self.size()?, self.size()?);
                    if own.1 == 0 { received } else { own }
                } else {
                    own
                }
            }
        };
        let root = if is_rooted { u32::try_from(self.next()?).ok()? } else { 0 };
        let comm = self.comm()?;
        Some(Collective { coll, comm, root, count, element })
    }
}

/// Functions whose work is a collective agreement about a new communicator.
const AGREEMENTS: [&str; 9] = [
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_split",
    "Comm_split_type",
    "Comm_create",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create_adjacent",
];

/// Functions that communicate and that no action stands for.
fn communicates(name: &str) -> bool {
    let plain = name.strip_suffix("_c").unwrap_or(name);
    let parts = ["Put", "Get", "Rput", "Rget", "Accumulate", "Fetch_and_op", "Compare_and_swap", "Win_"];
    (parts.iter().any(|part| plain.starts_with(part))
        && !plain.starts_with("Get_")
        && !plain.starts_with("Win_get"))
        || [
            "File_",
            "Neighbor_",
            "Ineighbor_",
            "Mrecv",
            "Imrecv",
            "Mprobe",
            "Improbe",
            "Psend",
            "Precv",
            "Alltoallw",
        ]
        .iter()
        .any(|part| plain.starts_with(part))
}

/// What a call does; `None`: something that cannot be replayed.
fn action(name: &str, mut values: Values<'_>) -> Option<Action> {
    let v = &mut values;
    let name = name.strip_prefix("MPI_").unwrap_or(name);
    let name = name.strip_suffix("_c").unwrap_or(name);
    Some(match name {
        "Send" | "Ssend" | "Rsend" | "Bsend" => {
            let bytes = v.bytes()?;
            Action::Blocking([Some(v.send(bytes)?), None])
        }
        "Recv" => {
            let bytes = v.bytes()?;
            Action::Blocking([Some(v.receive(bytes)?), None])
        }
        "Sendrecv" => {
            let sent = (v.bytes()?, v.next()?, v.next()? as i32);
            let received = (v.bytes()?, v.next()?, v.next()? as i32);
            let comm = v.comm()?;
            let send = v.start(true, sent.1, sent.2, comm, sent.0)?;
            Action::Blocking([Some(v.start(false, received.1, received.2, comm, received.0)?), Some(send)])
        }
        "Sendrecv_replace" => {
            let bytes = v.bytes()?;
            let (to, sent, from, received) = (v.next()?, v.next()? as i32, v.next()?, v.next()? as i32);
            let comm = v.comm()?;
            let send = v.start(true, to, sent, comm, bytes)?;
            Action::Blocking([Some(v.start(false, from, received, comm, bytes)?), Some(send)])
        }
        "Isend" | "Issend" | "Irsend" | "Ibsend" => {
            let bytes = v.bytes()?;
            let start = v.send(bytes)?;
            Action::Begin(v.next()?, start)
        }
        "Irecv" => {
            let bytes = v.bytes()?;
            let start = v.receive(bytes)?;
            Action::Begin(v.next()?, start)
        }
        "Send_init" | "Ssend_init" | "Rsend_init" | "Bsend_init" => {
            let bytes = v.bytes()?;
            let start = v.send(bytes)?;
            Action::Describe(v.next()?, start)
        }
        "Recv_init" => {
            let bytes = v.bytes()?;
            let start = v.receive(bytes)?;
            Action::Describe(v.next()?, start)
        }
        "Start" => Action::Restart(vec![v.next()?]),
        "Startall" => {
            v.next()?;
            Action::Restart(v.list()?)
        }
        "Wait" => Action::Wait(vec![v.next()?]),
        "Test" => {
            let request = v.next()?;
            if v.last()? != 0 { Action::Wait(vec![request]) } else { Action::Nothing }
        }
        "Waitall" => {
            v.next()?;
            Action::Wait(v.list()?)
        }
        "Testall" => {
            v.next()?;
            let requests = v.list()?;
            if v.last()? != 0 { Action::Wait(requests) } else { Action::Nothing }
        }
        "Waitany" | "Testany" => {
            v.next()?;
            let requests = v.list()?;
            let index = v.next()?;
            let found = usize::try_from(index).ok().and_then(|index| requests.get(index));
            found.map_or(Action::Nothing, |&request| Action::Wait(vec![request]))
        }
        "Waitsome" | "Testsome" => {
            v.next()?;
            let requests = v.list()?;
            let _count = v.next()?;
            let indices = v.list()?;
            let found = indices.iter().filter_map(|&index| requests.get(usize::try_from(index).ok()?));
            Action::Wait(found.copied().collect())
        }
        "Request_free" => Action::Free(v.next()?),
        "Probe" | "Iprobe" => {
            let found = name == "Probe" || v.last()? != 0;
            let Start::Receive { from, tag, comm, .. } = v.receive(0)? else { return Some(Action::Nothing) };
            if found { Action::Probe { from, tag, comm } } else { Action::Nothing }
        }
        _ if AGREEMENTS.contains(&name) => {
            let comm = v.comm()?;
            let agreement = Collective { coll: Coll::Allreduce, comm, root: 0, count: 1, element: 8 };
            Action::Collective(agreement)
        }
        _ => match (v.collective(name), name.strip_prefix('I')) {
            (Some(collective), _) => Action::Collective(collective),
            (None, Some(rest)) => {
                // The name without its I has a capital letter: Iallreduce, Allreduce.
                let mut letters = rest.chars();
                let capital = letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter();
                let blocking: String = capital.chain(letters).collect();
                let request = v.last()?;
                Action::BeginCollective(request, v.collective(&blocking)?)
            }
            (None, None) => return None,
        },
    })
}

impl Job {
    /// The script of a rank.
    pub(super) fn parse(&mut self, rank: u32, bytes: &[u8]) -> Result<Vec<Call>, Damaged> {
        let mut reader = Reader::new(bytes)?;
        if reader.rank() != rank || reader.size() as usize != self.comms.group(CommId(0)).len() {
            return Err(Damaged { at: recording::MAGIC.len() });
        }
        self.comms.restart();
        let mut script = Vec::new();
        let mut functions = std::collections::BTreeMap::new();
        while let Some(entry) = reader.next()? {
            match entry {
                Entry::Name { number, name } => {
                    functions.insert(number, self.function(name));
                }
                Entry::Comm { handle, ranks } => self.comms.made(handle, ranks),
                Entry::Call { number, gap, computed, duration, values } => {
                    let Some(&function) = functions.get(&number) else { continue };
                    let call = self.call(function, [gap, computed, duration], &values);
                    script.push(call);
                }
            }
        }
        Ok(script)
    }

    fn function(&mut self, name: &str) -> u16 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u16
    }

    fn call(&mut self, function: u16, [gap, computed, duration]: [u64; 3], values: &[i64]) -> Call {
        let name = &self.names[usize::from(function)];
        let found = action(name, Values { values, comms: &self.comms });
        if found.is_none() && communicates(name.strip_prefix("MPI_").unwrap_or(name)) {
            *self.unknown.entry(name.clone()).or_insert(0) += 1;
        }
        let action = found.unwrap_or(Action::Compute);
        self.longest = self.longest.max(self.bytes(&action));
        Call { function, gap, computed, duration, action }
    }

    /// Memory that an action needs.
    fn bytes(&self, action: &Action) -> u64 {
        let of = |start: &Start| match *start {
            Start::Send { bytes, .. } | Start::Receive { bytes, .. } => bytes,
            Start::NoPeer => 0,
        };
        match action {
            Action::Blocking(starts) => starts.iter().flatten().map(of).max().unwrap_or(0),
            Action::Begin(_, start) | Action::Describe(_, start) => of(start),
            Action::Collective(call) | Action::BeginCollective(_, call) => {
                let ranks = self.comms.group(call.comm).len() as u64;
                let blocks = if matches!(
                    call.coll,
                    Coll::Bcast | Coll::Reduce | Coll::Allreduce | Coll::Scan | Coll::Exscan
                ) {
                    1
                } else {
                    ranks
                };
                call.count * call.element * blocks
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::comms::Comms;
    use super::*;

    fn read(name: &str, values: &[i64]) -> Option<Action> {
        let mut comms = Comms::new(4);
        comms.made(0x101, vec![0, 1, 2, 3]);
        comms.made(5, vec![3, 1]);
        action(name, Values { values, comms: &comms })
    }

    #[test]
    fn calls_are_understood() {
        let (pair, world) = (CommId(1), CommId(0));
        let send = Start::Send { to: 1, tag: 9, comm: pair, bytes: 80 };
        assert_eq!(read("MPI_Send", &[10, 8, 1, 9, 5]), Some(Action::Blocking([Some(send), None])));
        let receive = Start::Receive { from: None, tag: -2, comm: pair, bytes: 4 };
        assert_eq!(read("MPI_Irecv_c", &[1, 4, -1, -2, 5, 77]), Some(Action::Begin(77, receive)));
        assert_eq!(read("MPI_Waitall", &[2, 2, 77, 78]), Some(Action::Wait(vec![77, 78])));
        assert_eq!(read("MPI_Testall", &[1, 1, 77, 0]), Some(Action::Nothing));
        assert_eq!(read("MPI_Waitsome", &[3, 3, 7, 8, 9, 2, 2, 2, 0]), Some(Action::Wait(vec![9, 7])));
        let sum = |comm| Collective { coll: Coll::Allreduce, comm, root: 0, count: 3, element: 8 };
        assert_eq!(read("MPI_Allreduce", &[3, 8, 0x101]), Some(Action::Collective(sum(world))));
        assert_eq!(read("MPI_Iallreduce", &[3, 8, 5, 77]), Some(Action::BeginCollective(77, sum(pair))));
        assert_eq!(read("MPI_Send", &[10, 8, -3, 9, 5]), Some(Action::Blocking([Some(Start::NoPeer), None])));
        assert_eq!(read("MPI_Comm_rank", &[5]), None);
        assert_eq!(read("MPI_Send", &[10, 8, 7, 9, 5]), None, "there is no rank 7");
    }
}
