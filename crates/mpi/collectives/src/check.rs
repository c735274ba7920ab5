//! Whether all processes of a communicator make the same call (`coll_check`).
//!
//! Nothing is compared on the way. Calls that differ never meet, and a process that waits too long looks at what the
//! others have called:
//!
//! ```text
//!   call ─► Statement ─┬► digest, in the tag of its messages and beside the epoch of its slots
//!                      └► entry of the call log, under context and number of the call
//!
//!   waiting too long ─► entries of the others under the same key ─► one differs: message, error, the others are woken
//! ```
//!
//! So the check costs a cache line that no other process reads. Processes of other nodes are not looked at; calls
//! that differ from theirs still never take each other's data.

use abi::Error;
use coll::tuned::Level;
use coll::{Coll, Root};
use node::{CALL_WORDS as WORDS, Node};

use super::call::{Call, Reduction};
use objects::comm::Comm;
use objects::state::State;

/// A process's statement about a call; equal on all ranks of a correct one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Statement {
    coll: Coll,
    root: u32,
    bytes: u64,
    /// Hash of the type signature; 0 where it is not compared.
    types: u64,
    /// The predefined operation, or [`USER`] for one of the program's, which has another handle everywhere.
    op: u64,
}

/// One of the program's operations, less whether it commutes.
const USER: u64 = 1 << 32;

/// The key under which a process logs that it finalizes MPI: its only entry that is not about a call.
pub(super) const FINALIZING: u64 = u64::MAX;

/// What an error says of calls that differ.
pub(super) const DIFFERENT: &str = "the processes of the communicator make different collective calls";

/// In no number of a call.
const REPORTED: u32 = 1 << 29;

/// The key under which a process logs that it has printed how all calls under `key` differ: one process does for all, unless
/// two find out in the same moment. No number of a call has the bit; the call itself stays in the log, in a slot of its own.
const fn reported(key: u64) -> u64 {
    (key | REPORTED as u64) ^ 8
}

/// What is known of a peer's part in a call.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part {
    /// It has called, as far as its log goes back, nothing yet.
    None,
    /// It has called this.
    Call(Statement),
    /// It finalizes MPI, where it waits for all ranks, too.
    Finalize,
    /// It has finalized MPI without the others, and will never call.
    Gone,
}

/// A call as the others find it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logged {
    key: u64,
    statement: Statement,
}

impl Logged {
    /// What the call's slots are marked with.
    pub fn digest(&self) -> u16 {
        self.statement.digest()
    }

    /// Logs the call where its peers can read it.
    #[inline(always)]
    pub fn write(&self, node: &Node) {
        node.log_call(self.key, self.statement.words());
    }
}

impl Statement {
    /// What a call in an intra-communicator amounts to, where type signatures and operations are not compared.
    #[inline(always)]
    pub const fn plain(coll: Coll, root: u32, bytes: u64) -> Statement {
        Statement { coll, root, bytes, types: 0, op: 0 }
    }

    /// What a call amounts to; `bytes` are those by which its algorithm was chosen.
    pub fn of(state: &State, comm: &Comm, call: &Call, bytes: u64) -> Statement {
        // The groups of an inter-communicator see root and blocks differently.
        let same_view = !comm.is_inter();
        let root = match call.root {
            Root::Rank(root) if same_view => root,
            _ => 0,
        };
        let plain = Statement::plain(call.coll, root, if same_view { bytes } else { 0 });
        match state.params.tuned.check {
            Level::Full if same_view => {
                Statement { types: signature(state, call).unwrap_or(0), op: operation(call), ..plain }
            }
            _ => plain,
        }
    }

    /// 12 bits that usually differ between different calls; those of different operations always do.
    #[inline(always)]
    pub fn digest(&self) -> u16 {
        let mixed = (self.bytes ^ u64::from(self.root) << 48 ^ self.types ^ self.op << 20)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (self.coll as u16 & 31) << 7 | (mixed >> 57) as u16
    }

    /// Logs the call numbered `number` on a communicator, where its peers can read it.
    #[inline(always)]
    pub fn log(self, node: &Node, context: u32, number: i32) -> Logged {
        let logged = self.under(context, number);
        logged.write(node);
        logged
    }

    /// How peers will find the call, once it is logged.
    #[inline(always)]
    pub fn under(self, context: u32, number: i32) -> Logged {
        Logged { key: u64::from(context) << 32 | u64::from(number as u32) | 1 << 31, statement: self }
    }

    #[inline(always)]
    fn words(&self) -> [u64; WORDS] {
        [self.coll as u64 | u64::from(self.root) << 32, self.bytes, self.types, self.op]
    }

    fn from_words([first, bytes, types, op]: [u64; WORDS]) -> Option<Statement> {
        let coll = Coll::ALL.into_iter().find(|&coll| coll as u64 == first & 0xffff_ffff)?;
        Some(Statement { coll, root: (first >> 32) as u32, bytes, types, op })
    }

    /// The class of error that the first difference amounts to.
    fn difference(&self, other: &Statement) -> i32 {
        match () {
            () if self.coll != other.coll => abi::ERR_OTHER,
            () if self.root != other.root => abi::ERR_ROOT,
            () if self.bytes != other.bytes => abi::ERR_COUNT,
            () if self.types != other.types => abi::ERR_TYPE,
            () => abi::ERR_OP,
        }
    }

    fn describe(&self) -> String {
        let mut text = self.coll.mpi_name();
        let rooted = matches!(self.coll, Coll::Bcast | Coll::Gather | Coll::Scatter | Coll::Reduce);
        if rooted || self.root != 0 {
            text += &format!(" root {}", self.root);
        }
        if self.bytes != 0 {
            text += &format!(" {} bytes", self.bytes);
        }
        if self.types != 0 {
            text += &format!(" signature {:x}", self.types);
        }
        if self.op != 0 {
            text += &format!(" operation {:x}", self.op);
        }
        text
    }
}

/// Hash of the signature that all ranks must agree on, where there is one.
fn signature(state: &State, call: &Call) -> Option<u64> {
    let buffer = match call.coll {
        Coll::Bcast | Coll::Reduce | Coll::Allreduce | Coll::Scan | Coll::Exscan => &call.recv,
        Coll::ReduceScatter | Coll::ReduceScatterBlock => &call.recv,
        Coll::Gather | Coll::Scatter | Coll::Allgather | Coll::Alltoall if call.send.given => &call.send,
        Coll::Gather | Coll::Scatter | Coll::Allgather | Coll::Alltoall => &call.recv,
        _ => return None,
    };
    let datatype = state.types.get(buffer.handle).ok()?;
    Some(datatype.signature().hash_of(buffer.layout.count))
}

fn operation(call: &Call) -> u64 {
    match call.op {
        None => 0,
        Some(Reduction::User { commutes, .. }) => USER | u64::from(commutes),
        Some(Reduction::Kernel(_)) => call.predefined.0 as u64,
    }
}

/// Finds out whether a peer has made another call than the one logged, or will never call; wakes all peers if so.
pub(super) fn disagreement(state: &State, comm: abi::Comm, logged: &Logged) -> Option<Error> {
    let (comm, node) = (state.comm(comm).ok()?, state.node.as_deref()?);
    let me = state.me();
    let part_of = |&peer: &u32| match peer == me || node.reaches(btl::Peer(peer)) {
        true => Part::of(node, btl::Peer(peer), logged.key),
        false => Part::None,
    };
    let class = |part| match part {
        Part::None => None,
        Part::Call(other) if other == logged.statement => None,
        Part::Call(other) => Some(logged.statement.difference(&other)),
        Part::Finalize if logged.statement.coll == Coll::Barrier => None,
        Part::Finalize | Part::Gone => Some(abi::ERR_OTHER),
    };
    let class = comm.peers.iter().map(part_of).find_map(class)?;
    let key = reported(logged.key);
    let peers = || comm.peers.iter().map(|&peer| btl::Peer(peer));
    if !peers().any(|peer| node.reaches(peer) && node.logged_call(peer, key).is_some()) {
        let parts = comm.peers.iter().map(part_of).collect::<Vec<_>>();
        // A later process may know more than this one, if some have not called yet.
        if !parts.contains(&Part::None) {
            node.log_call(key, [0; 4]);
        }
        // A process that left has met another call before, and reported it.
        if parts.iter().any(|part| matches!(part, Part::Call(_))) {
            report(&parts);
        }
    }
    alert(state, comm);
    Some(Error::new(class, DIFFERENT))
}

/// Wakes the peers of a communicator that can read this process's call log.
pub(super) fn alert(state: &State, comm: &Comm) {
    let Some(node) = &state.node else { return };
    let others = comm.peers.iter().filter(|&&peer| peer != state.me() && node.reaches(btl::Peer(peer)));
    others.for_each(|&peer| node.alert(btl::Peer(peer)));
}

impl Part {
    /// The part of `peer` in the call that is logged under `key`.
    fn of(node: &Node, peer: btl::Peer, key: u64) -> Part {
        let finalizes = node.logged_call(peer, FINALIZING);
        let call = node.logged_call(peer, key).and_then(Statement::from_words);
        match (call, finalizes) {
            (Some(Statement { coll: Coll::Barrier, .. }), Some(_)) => Part::Finalize,
            (Some(call), _) => Part::Call(call),
            (None, Some([1, ..])) => Part::Gone,
            (None, _) => Part::None,
        }
    }

    fn describe(&self) -> String {
        match self {
            Part::None => "has not called".to_string(),
            Part::Call(statement) => format!("calls {}", statement.describe()),
            Part::Finalize => "calls MPI_Finalize".to_string(),
            Part::Gone => "has called MPI_Finalize".to_string(),
        }
    }
}

/// Ranks that a message lists.
const LISTED: usize = 16;

fn report(calls: &[Part]) {
    let one = |(rank, part): (usize, &Part)| format!("rank {rank} {}", part.describe());
    let mut seen: Vec<String> = calls.iter().enumerate().take(LISTED).map(one).collect();
    if calls.len() > LISTED {
        seen.push(format!("and {} more", calls.len() - LISTED));
    }
    eprintln!(
        "alhena: collective calls on a communicator of {} processes differ\n  seen: {}\n  \
         next: make all ranks call the same operations in the same order, with the same root and as many bytes",
        calls.len(),
        seen.join("; ")
    );
}

/// Forgets the log of a communicator's `count` context ids from `id`, which others may get: that of its local group in an
/// inter-communicator, too.
pub fn forget(state: &State, id: u32, count: u32) {
    if let Some(node) = &state.node {
        node.forget_calls(|key| (id..id + count).contains(&((key >> 33) as u32)));
    }
}

/// When a call that waits reads the call log: after each alert, every so many rounds, and before each sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogReads {
    rounds: u32,
    alerts: u32,
    sleeps: u32,
}

impl LogReads {
    /// To be asked in each round of a wait, that between arming the doorbell and sleeping included: what a peer logs after that
    /// reading finds the doorbell armed, and what it logs between the one before and the arming would be slept through.
    pub fn is_due(&mut self, state: &State) -> bool {
        let alerts = state.node.as_deref().map_or(0, Node::alerts);
        self.is_due_after(alerts, state.sleeps, rounds_between_reads(state))
    }

    fn is_due_after(&mut self, alerts: u32, sleeps: u32, rounds: u32) -> bool {
        self.rounds = self.rounds.wrapping_add(1);
        let news = (self.alerts, self.sleeps) != (alerts, sleeps);
        (self.alerts, self.sleeps) = (alerts, sleeps);
        news || self.rounds.is_multiple_of(rounds)
    }
}

/// Rare, but several times between waking up and falling asleep again, which bounds the number of polls, or of yields where
/// a round gives the processor away.
fn rounds_between_reads(state: &State) -> u32 {
    if state.params.waiting.spin.is_zero() { 16 } else { 64 }
}

#[cfg(test)]
mod tests {
    use super::LogReads;

    #[test]
    fn the_log_is_read_before_each_sleep_and_after_each_alert() {
        let mut reads = LogReads::default();
        assert!(!reads.is_due_after(0, 0, 64));
        assert!(reads.is_due_after(0, 1, 64));
        assert!(!reads.is_due_after(0, 1, 64));
        assert!(reads.is_due_after(1, 1, 64));
        assert!((0..64).any(|_| reads.is_due_after(1, 1, 64)));
    }
}
