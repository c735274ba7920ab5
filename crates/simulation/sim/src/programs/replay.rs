//! The program of a recorded rank.

use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use crate::port::{Group, Places, RankPort};
use crate::replay::{Action, CommId, Job, Prepared, Schedules, Start};
use crate::setup::Setup;
use abi::{Error, Result};
use coll::Execution;
use coll::tuned::RuleTable;
use gni::Time;
use mem::UserMem;
use pml::ReqId;
use std::collections::HashMap;
use std::sync::Arc;

/// One virtual rank of a replayed job.
pub struct Replay {
    job: Arc<Job>,
    /// The recorded rank that it plays, and the first rank of its copy of the job.
    role: u32,
    first: u32,
    schedules: Schedules,
    at: usize,
    stage: Stage,
    operations: HashMap<i64, Operation>,
    /// Collective calls on each communicator so far.
    calls: HashMap<CommId, i32>,
    /// Calls that are under way.
    blocking: Vec<Operation>,
    /// When the present call began.
    begun: Time,
    /// Nanoseconds within each function.
    within: Vec<u64>,
    marks: Vec<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before the computing that precedes a call.
    Before,
    /// Before the call itself.
    Call,
    /// Within the call.
    Within,
}

enum Operation {
    /// It is complete.
    Over,
    Message(ReqId),
    Collective(Box<Running>),
    /// A description, and what was begun by it.
    Persistent(Start, Option<ReqId>),
}

/// A collective call under way.
struct Running {
    prepared: Prepared,
    execution: Execution<ReqId>,
    context: u32,
    tag: i32,
}

/// Memory beyond the longest message, for what collectives keep aside.
const SCRATCH: usize = 1 << 16;
const NO_ALGORITHM: Error = Error::new(abi::ERR_INTERN, "a recorded collective has no algorithm here");

impl Replay {
    /// The part of `rank` in as many copies of a job as `table`'s machine is asked to run.
    pub fn new(job: &Arc<Job>, setup: &Setup, table: &Arc<RuleTable>, copies: u32, rank: u32) -> Replay {
        let role = rank % job.ranks();
        Replay {
            job: Arc::clone(job),
            role,
            first: rank - role,
            schedules: Schedules::new(setup, table, copies),
            at: 0,
            stage: Stage::Before,
            operations: HashMap::new(),
            calls: HashMap::new(),
            blocking: Vec::new(),
            begun: Time::START,
            within: vec![0; job.functions().len()],
            marks: vec![Time::START],
        }
    }

    /// Nanoseconds within each function.
    pub fn within(&self) -> &[u64] {
        &self.within
    }

    /// When each barrier of the world ended, and the program.
    pub fn marks(&self) -> &[Time] {
        &self.marks
    }

    fn buffer(&self, end: &Endpoint, bytes: u64) -> UserMem {
        end.memory().part(0, bytes as usize)
    }

    fn start(&mut self, end: &mut Endpoint, start: Start) -> Result<Option<ReqId>> {
        match start {
            Start::Send { to, tag, comm, bytes } => {
                end.isend_in(context(comm), self.first + to, tag, self.buffer(end, bytes))
            }
            Start::Receive { from, tag, comm, bytes } => {
                let from = from.map(|from| self.first + from);
                end.irecv_in(context(comm), from, tag, self.buffer(end, bytes)).map(Some)
            }
            Start::NoPeer => Ok(None),
        }
    }

    fn collective(&mut self, end: &mut Endpoint, call: &crate::replay::Collective) -> Result<Operation> {
        let job = Arc::clone(&self.job);
        let prepared = self.schedules.prepare(&job, call, end.rank()).ok_or(NO_ALGORITHM)?;
        let count = self.calls.entry(call.comm).or_insert(0);
        *count = (*count + 1) % i32::MAX;
        let epoch = match prepared.schedule.rounds() {
            0 => 0,
            rounds => end.take_epochs(rounds),
        };
        let mut running =
            Running { execution: Execution::new(), context: context(call.comm) + 1, tag: *count, prepared };
        let Prepared { schedule, shape, .. } = &running.prepared;
        running.execution.start(schedule, shape, std::iter::empty(), epoch, false)?;
        Ok(Operation::Collective(Box::new(running)))
    }

    /// Begins the present call.
    fn begin(&mut self, end: &mut Endpoint) -> Result<()> {
        let job = Arc::clone(&self.job);
        let script = &job.scripts[self.role as usize];
        match &script[self.at].action {
            Action::Compute | Action::Nothing | Action::Probe { .. } => {}
            Action::Blocking(starts) => {
                for &start in starts.iter().flatten() {
                    if let Some(id) = self.start(end, start)? {
                        self.blocking.push(Operation::Message(id));
                    }
                }
            }
            &Action::Begin(handle, start) => {
                let operation = self.start(end, start)?.map_or(Operation::Over, Operation::Message);
                self.operations.insert(handle, operation);
            }
            &Action::Describe(handle, start) => {
                self.operations.insert(handle, Operation::Persistent(start, None));
            }
            Action::Restart(handles) => {
                for handle in handles {
                    let Some(&Operation::Persistent(start, _)) = self.operations.get(handle) else {
                        continue;
                    };
                    let id = self.start(end, start)?;
                    self.operations.insert(*handle, Operation::Persistent(start, id));
                }
            }
            Action::Wait(_) => {}
            Action::Free(handle) => {
                // A message goes on without its handle.
                self.operations.remove(handle);
            }
            Action::Collective(call) => {
                let operation = self.collective(end, call)?;
                self.blocking.push(operation);
            }
            Action::BeginCollective(handle, call) => {
                let operation = self.collective(end, call)?;
                self.operations.insert(*handle, operation);
            }
        }
        Ok(())
    }

    /// Whether the present call is over.
    fn is_over(&mut self, end: &mut Endpoint) -> Result<bool> {
        // Collectives that were begun go on within every call.
        for operation in self.operations.values_mut() {
            if matches!(operation, Operation::Collective(_)) && operation.goes_on(end)? {
                *operation = Operation::Over;
            }
        }
        let mut left = Vec::new();
        for mut operation in std::mem::take(&mut self.blocking) {
            if !operation.goes_on(end)? {
                left.push(operation);
            }
        }
        self.blocking = left;
        let job = Arc::clone(&self.job);
        match &job.scripts[self.role as usize][self.at].action {
            Action::Wait(handles) => {
                let mut all = true;
                for handle in handles {
                    let Some(operation) = self.operations.get_mut(handle) else { continue };
                    if !operation.goes_on(end)? {
                        all = false;
                    } else if let Operation::Persistent(_, begun) = operation {
                        *begun = None;
                    } else {
                        self.operations.remove(handle);
                    }
                }
                Ok(all)
            }
            &Action::Probe { from, tag, comm } => {
                Ok(end.is_here(context(comm), from.map(|from| self.first + from), tag))
            }
            _ => Ok(self.blocking.is_empty()),
        }
    }
}

/// A communicator's messages have this context, and its collectives the next.
fn context(comm: CommId) -> u32 {
    comm.0 * 2
}

impl Operation {
    /// Goes on; whether it is over.
    fn goes_on(&mut self, end: &mut Endpoint) -> Result<bool> {
        let over = match self {
            Operation::Over | Operation::Persistent(_, None) => return Ok(true),
            Operation::Message(id) | Operation::Persistent(_, Some(id)) => end.take(*id),
            Operation::Collective(running) => return running.goes_on(end),
        };
        if over {
            match self {
                Operation::Persistent(_, begun) => *begun = None,
                operation => *operation = Operation::Over,
            }
        }
        Ok(over)
    }
}

impl Running {
    fn goes_on(&mut self, end: &mut Endpoint) -> Result<bool> {
        let memory = end.memory();
        // No rank reads the data, so that all buffers may be the same memory.
        let places = Places {
            send: memory,
            recv: memory,
            arena: memory,
            element: self.prepared.shape.recv.size as usize,
        };
        let (context, tag) = (self.context, self.tag);
        let group = Group::Listed(&self.prepared.group);
        RankPort { rank: end, places, context, tag, group }.advance(&mut self.execution)
    }
}

impl Program for Replay {
    fn memory(&self) -> usize {
        3 * self.job.longest as usize + SCRATCH
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        let job = Arc::clone(&self.job);
        let script = &job.scripts[self.role as usize];
        loop {
            let Some(call) = script.get(self.at) else {
                self.marks.push(end.now());
                return Ok(Step::Done);
            };
            if self.stage == Stage::Before {
                self.stage = Stage::Call;
                let more = if call.action == Action::Compute { call.duration } else { 0 };
                self.within[usize::from(call.function)] += more;
                if call.computed + more > 0 {
                    end.compute(Time(call.computed + more));
                    return Ok(Step::Computing);
                }
            }
            if self.stage == Stage::Call {
                self.begun = end.now();
                end.enter(|| job.functions()[usize::from(call.function)].clone());
                self.begin(end)?;
                self.stage = Stage::Within;
            }
            if !self.is_over(end)? {
                return Ok(Step::Waiting);
            }
            self.within[usize::from(call.function)] += (end.now() - self.begun).0;
            end.leave();
            if self.job.is_mark(call) {
                self.marks.push(end.now());
            }
            self.at += 1;
            self.stage = Stage::Before;
        }
    }
}
