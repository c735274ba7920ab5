//! A collective call on its way.

mod prepare;

use coll::schedule::{AlgorithmId, Slot, Step};
use std::sync::Arc;
use std::time::Instant;

use abi::{Address, Error, Result, Status};
use btl::Peer;
use coll::{Coll, Execution, Region, Schedule, State as Progress, Waiting};
use engine::{P2p, Reason};
use ffi::copies::Copies;
use node::NodeArea;
use observe::{Need, Part};
use pml::{Awaited, Done, ReqId};

use super::call::{Call, Reduction};
use super::callback::Callback;
use super::check::{LogReads, Logged, Statement, disagreement};
use super::exact::Exact;
use super::online::{Attempt, Online};
use super::port::{CorePort, InFlight, Wire};
use super::signature::Signature;
use objects::comm::{Comm, Held};
use objects::datatype::TypeRef;
use objects::reason::{self, Lack};
use objects::state::State;

/// What a collective waits for, as far as that is one thing.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    /// The end of this request.
    Request(ReqId),
    /// The slot of this member.
    Member(u32),
    /// Some members have not come to the round of this number.
    Round(u64),
}

impl Missing {
    /// The part of this process in the call of these members that has this tag in this context, and lacks `missing`.
    pub(super) fn part(missing: Option<Missing>, state: &State, members: &[u32], call: (u32, i32)) -> Part {
        let lack = match missing {
            Some(Missing::Request(id)) => match state.p2p.awaited(id) {
                Some(Awaited::Message { peer: Some(peer), .. } | Awaited::Receive { peer, .. }) => {
                    Lack::Step(peer)
                }
                _ => Lack::Unknown,
            },
            Some(Missing::Member(member)) => {
                members.get(member as usize).map_or(Lack::Unknown, |&peer| Lack::Step(Peer(peer)))
            }
            Some(Missing::Round(number)) => Lack::Arrivals(members, number),
            None => Lack::Unknown,
        };
        reason::of_call(state, call, lack)
    }

    /// As [`Missing::part`], of a call of a communicator.
    pub(super) fn part_in(
        missing: Option<Missing>,
        state: &State,
        comm: abi::Comm,
        call: (u32, i32),
    ) -> Part {
        match state.comm(comm) {
            Ok(comm) => Missing::part(missing, state, &comm.peers, call),
            // It was freed.
            Err(_) => reason::of_call(state, call, Lack::Unknown),
        }
    }

    /// What a wait for the end of that call of a communicator is for. `name`: of the function that waits, where the call itself does not.
    pub(super) fn reason(
        missing: Option<Missing>,
        state: &State,
        (comm, name): (abi::Comm, &'static str),
        call: (u32, i32),
    ) -> Reason {
        let parts = vec![Missing::part_in(missing, state, comm, call)];
        Reason { call: name, need: Need::All, parts }
    }
}

/// One collective call on its way; afterwards kept by its communicator for the next call of its kind.
pub struct Running {
    execution: Execution<InFlight>,
    schedule: Arc<Schedule>,
    /// What the schedule was chosen for.
    signature: Option<Signature>,
    wire: Wire,
    call: Call,
    /// Scratch memory, in cache lines.
    arena: Vec<[u64; 8]>,
    ended: Option<Result<()>>,
    /// The communicator's shared area, while a schedule uses it; or one that the call keeps to itself.
    area: Option<Box<NodeArea>>,
    /// The area is this call's for all its rounds.
    keeps_area: bool,
    /// What the call tries, and since when, while algorithms are chosen by trial.
    attempt: Option<(Attempt, Instant)>,
    /// The program's buffers, where the call works on exact sums instead.
    exact: Option<Exact>,
    /// Of a nonblocking call: keeps the communicator's context ids from others until it is over.
    held: Option<Held>,
    /// Copies of the program's buffers that a front-end has given to a call that outlives its entry.
    copies: Option<Copies>,
    /// How the peers find this call, if calls are compared.
    logged: Option<Logged>,
    pub(super) log_reads: LogReads,
}

impl Running {
    /// Room for calls of `coll` on a communicator.
    pub fn new(coll: Coll, comm: abi::Comm) -> Running {
        Running {
            execution: Execution::new(),
            schedule: Arc::default(),
            signature: None,
            wire: Wire::default(),
            call: Call::new(coll, comm),
            arena: Vec::new(),
            ended: None,
            area: None,
            keeps_area: false,
            attempt: None,
            exact: None,
            held: None,
            copies: None,
            logged: None,
            log_reads: LogReads::default(),
        }
    }

    /// Whether schedule and execution are those for a signature.
    pub(super) fn is_prepared_for(&self, signature: &Signature) -> bool {
        self.attempt.is_none() && self.signature.as_ref() == Some(signature)
    }

    /// Records in the communicator how long the trial has taken.
    pub(super) fn report_attempt(&self, online: &mut Online) {
        if let Some((attempt, since)) = self.attempt {
            online.record(attempt, since.elapsed());
        }
    }

    /// What the schedule was chosen for, if the call ended well or has not begun.
    pub(super) fn signature(&self) -> Option<&Signature> {
        self.signature.as_ref()
    }

    /// Exchanges schedule, execution and scratch memory with a call that is not under way either.
    pub(crate) fn swap_prepared(&mut self, other: &mut Running) {
        std::mem::swap(&mut self.execution, &mut other.execution);
        std::mem::swap(&mut self.schedule, &mut other.schedule);
        std::mem::swap(&mut self.signature, &mut other.signature);
        std::mem::swap(&mut self.arena, &mut other.arena);
        std::mem::swap(&mut self.attempt, &mut other.attempt);
    }

    pub fn coll(&self) -> Coll {
        self.call.coll
    }

    pub fn comm(&self) -> abi::Comm {
        self.call.comm
    }

    /// The communicator goes by another handle.
    pub(crate) fn move_to(&mut self, comm: abi::Comm) {
        self.call.comm = comm;
    }

    /// Gives the messages of the call their tag.
    pub fn set_tag(&mut self, tag: i32) {
        self.wire.tag = tag;
    }

    /// Keeps the communicator, which the program may free before the call is over; or no longer.
    pub(super) fn hold(&mut self, held: Option<Held>) {
        self.held = held;
    }

    /// The call works on copies of the program's buffers; or no longer.
    pub(super) fn set_copies(&mut self, copies: Option<Copies>) {
        self.copies = copies;
    }

    /// Hands the copies on.
    pub(super) fn take_copies(&mut self) -> Option<Copies> {
        self.copies.take()
    }

    /// The copies are those of the buffers as they are now.
    pub(super) fn fill_copies(&self) {
        if let Some(copies) = &self.copies {
            copies.fill();
        }
    }

    /// This process's statement about the call, for its peers.
    pub(super) fn statement(&self, state: &State, comm: &Comm) -> Statement {
        let bytes = self.signature.as_ref().map_or(0, |signature| signature.bytes());
        Statement::of(state, comm, &self.call, bytes)
    }

    /// Keeps how the peers find the call.
    pub(super) fn set_logged(&mut self, logged: Option<Logged>) {
        self.logged = logged;
    }

    /// How the peers find this call.
    pub(super) fn logged(&self) -> Option<&Logged> {
        self.logged.as_ref()
    }

    /// Puts the execution at its start, under a tag that is no collective's.
    pub fn begin_apart(&mut self, tag: i32) -> Result<()> {
        self.wire.tag = tag;
        self.begin()
    }

    /// Whether the schedule uses the communicator's area.
    pub(crate) fn wants_area(&self) -> bool {
        self.schedule.rounds() > 0
    }

    /// Takes the communicator's area if the schedule uses it.
    pub(crate) fn borrow_area(&mut self, lender: &mut Option<Box<NodeArea>>) {
        if self.wants_area() {
            (self.area, self.keeps_area) = (lender.take(), false);
        }
    }

    /// Whether the call goes through the shared area.
    pub(crate) fn uses_area(&self) -> bool {
        self.area.is_some()
    }

    /// Gives back the area that it has borrowed.
    pub(crate) fn give_area(&mut self) -> Option<Box<NodeArea>> {
        if self.keeps_area { None } else { self.area.take() }
    }

    /// The area that it has for itself, if it runs by the algorithm with this number.
    pub(super) fn part_with_area(&mut self, algorithm: AlgorithmId) -> Option<Box<NodeArea>> {
        let is_it = self.schedule.algorithm() == Some(algorithm);
        if is_it && self.keeps_area { self.area.take() } else { None }
    }

    /// Has an area for itself, for all its rounds.
    pub(super) fn keep_area(&mut self, area: Box<NodeArea>) {
        (self.area, self.keeps_area) = (Some(area), true);
    }

    /// Whether it has begun, waits for peers and not for a reduction of the program.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.execution.waiting(), Waiting::Step(_))
    }

    /// The part of this process in the call, with what it lacks, while it is not over.
    pub(super) fn part(&self, state: &State) -> Part {
        // Before its turn it lacks what the calls before it lack.
        let missing = if self.wants_area() && self.area.is_none() { None } else { self.missing() };
        Missing::part(missing, state, &self.wire.peers, (self.wire.context, self.wire.tag))
    }

    /// The function that waits for its end, where that is not the call itself.
    pub(super) fn waits_in(&self) -> &'static str {
        if self.held.is_some() { "MPI_Wait" } else { "" }
    }

    /// What names the call in all its processes: the context and tag of its messages.
    pub(super) fn name(&self) -> (u32, i32) {
        (self.wire.context, self.wire.tag)
    }

    /// What the step that does not go on waits for, if that is one thing.
    pub(super) fn missing(&self) -> Option<Missing> {
        match self.execution.waiting() {
            Waiting::Step(Step::Wait { .. }) => self.execution.awaited().map(Missing::Request),
            Waiting::Step(
                &Step::Await { slot: Slot::Of(member), .. } | &Step::AwaitPart { owner: member, .. },
            ) => Some(Missing::Member(member)),
            _ => self.execution.awaited_round().map(Missing::Round),
        }
    }

    /// Puts the execution at its start.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` for more than 63 bits of bytes.
    pub fn begin(&mut self) -> Result<()> {
        self.ended = None;
        if let Some(exact) = &mut self.exact {
            exact.begin()?;
        }
        let counts = self.call.recv.blocks.iter().map(|block| block.count);
        let user = self.call.is_user_defined();
        let rounds = u64::from(self.schedule.rounds());
        // Where there is an area there is a call log, if calls are compared.
        let mark = self.logged.map_or(0, |logged| logged.digest());
        let epoch = self.area.as_mut().map_or(0, |area| {
            area.set_mark(mark);
            area.take_epochs(rounds)
        });
        self.execution.start(&self.schedule, &self.call.shape(), counts, epoch, user)?;
        let slots = self.execution.arena_bytes().div_ceil(64);
        if self.arena.len() < slots {
            objects::memory::resize(&mut self.arena, slots)?;
        }
        Ok(())
    }

    /// Runs as far as possible; for reductions that are not the program's. Ends with an error where a member has failed.
    pub fn step(&mut self, state: &mut State) {
        // A predefined operation has no callback.
        let _ = self.advance(&mut state.p2p);
        if !self.is_complete() {
            let _ = self.compare_if_due(state);
        }
    }

    /// Runs as far as possible; a callback that is due now.
    pub fn advance(&mut self, p2p: &mut P2p) -> Option<Callback> {
        if self.ended.is_some() {
            return None;
        }
        let arena = Address(self.arena.as_mut_ptr() as usize);
        let area = self.area.as_deref_mut();
        let mut port = CorePort { p2p, wire: &self.wire, call: &self.call, arena, area };
        match self.execution.advance(&mut port) {
            Progress::Pending => None,
            Progress::Done => {
                self.ended = Some(self.exact.as_ref().map_or(Ok(()), Exact::finish));
                if let Some(copies) = &self.copies {
                    copies.give_back();
                }
                None
            }
            Progress::Failed(error) => {
                self.fail(error, p2p);
                None
            }
            Progress::UserReduce { left, inout } => callback(&port, &left, &inout),
        }
    }

    /// The call is over before it began.
    pub(super) fn end(&mut self, result: Result<()>) {
        self.ended = Some(result);
    }

    /// Ends the call with an error.
    pub fn fail(&mut self, error: Error, p2p: &mut P2p) {
        for id in self.execution.in_flight() {
            p2p.cancel(id);
            p2p.detach(id);
        }
        self.ended = Some(Err(error));
    }

    /// The program's function has done the reduction that was due.
    pub fn reduced(&mut self) {
        self.execution.reduced();
    }

    pub fn is_complete(&self) -> bool {
        self.ended.is_some()
    }

    /// The result, if it is complete.
    pub fn result(&self) -> Result<()> {
        self.ended.unwrap_or(Ok(()))
    }

    /// The result of a complete collective, for its request.
    pub fn outcome(&self) -> Done {
        done(self.call.comm, self.result())
    }

    /// Whether it can serve another call.
    pub(crate) fn is_reusable(&self) -> bool {
        !matches!(self.ended, Some(Err(_)))
    }
}

fn callback(port: &CorePort<'_>, left: &Region, inout: &Region) -> Option<Callback> {
    let Some(Reduction::User { function, handle, .. }) = port.call.op else { return None };
    let (left, count) = port.operand(left);
    let (inout, _) = port.operand(inout);
    let extent = port.call.recv.layout.extent;
    let derived = match &port.call.recv.datatype {
        TypeRef::Derived(datatype) => Some(datatype.clone()),
        TypeRef::Dense(_) => None,
    };
    Some(Callback { key: None, function, left, inout, count, datatype: handle, derived, extent })
}

impl Running {
    /// To be called each time that the call was advanced: reads the call log of the peers where it is time to; a call that
    /// differs from theirs fails.
    pub(super) fn compare_if_due(&mut self, state: &mut State) -> Result<()> {
        if (self.uses_area() || state.failures.any)
            && let Some(lost) = state.loss_in(self.comm(), None)
        {
            self.fail(lost, &mut state.p2p);
            return Err(lost);
        }
        if !self.log_reads.is_due(state) {
            return Ok(());
        }
        match self.logged().and_then(|logged| disagreement(state, self.comm(), logged)) {
            None => Ok(()),
            Some(error) => {
                self.fail(error, &mut state.p2p);
                Err(error)
            }
        }
    }
}

/// What a finished collective leaves for its request.
pub(super) fn done(comm: abi::Comm, result: Result<()>) -> Done {
    let error = result.map_or_else(|error| error.class, |()| abi::SUCCESS);
    Done { status: Status::EMPTY, error, owner: comm.0 as u32 }
}
