//! A collective call on its way.

use std::sync::Arc;

use abi::{Address, Result, Status};
use btl_vader::NodeArea;
use coll::{Coll, Execution, Region, Schedule, State as Progress};
use pml_ob1::{Done, Ob1};

use super::arguments::Arguments;
use super::call::{Call, Reduction};
use super::launch::Callback;
use super::port::{CorePort, InFlight, Wire};
use super::select::Signature;
use crate::comm::Comm;
use crate::state::State;

/// One collective call on its way; afterwards kept by its communicator for the next call of its kind.
pub(crate) struct Running {
    execution: Execution<InFlight>,
    schedule: Arc<Schedule>,
    /// What the schedule was chosen for.
    signature: Option<Signature>,
    wire: Wire,
    call: Call,
    /// Scratch memory, in cache lines.
    arena: Vec<[u64; 8]>,
    ended: Option<Result<()>>,
    /// The communicator's shared area, while a schedule uses it.
    area: Option<Box<NodeArea>>,
    /// Nobody will ask for the result.
    pub orphaned: bool,
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
            orphaned: false,
        }
    }

    /// The allreduce of one word into the next with the largest value as the result, for the library itself.
    pub fn of_words(state: &mut State, comm: abi::Comm, words: Address) -> Result<Box<Running>> {
        let mut running = Running::new(Coll::Allreduce, comm);
        running.call = Call::of_words(state, comm, words)?;
        running.choose(state, false)?;
        Ok(Box::new(running))
    }

    /// Takes the arguments of a call and finds its schedule; nothing has been sent yet. `ordered`: the calls of
    /// this kind on the communicator run one after the other.
    ///
    /// # Errors
    /// Those of the arguments. The value can be used for another call.
    pub(super) fn set_up(
        &mut self,
        state: &mut State,
        coll: Coll,
        ordered: bool,
        fill: impl FnOnce(&mut Arguments<'_>) -> Result<()>,
    ) -> Result<()> {
        self.call.reset(coll);
        if super::select::is_neighbourhood(coll) {
            state.comms.get_mut(self.call.comm)?.meet_neighbours();
        }
        let comm = state.comm(self.call.comm)?;
        fill(&mut Arguments::new(state, comm, &mut self.call))?;
        self.choose(state, ordered)
    }

    fn choose(&mut self, state: &mut State, ordered: bool) -> Result<()> {
        let State { comms, world, params, .. } = state;
        let comm = comms.get_mut(self.call.comm)?;
        self.wire.follow(comm);
        let signature = Signature::of(&self.call, comm, world.as_ref(), &params.tuned, ordered);
        if self.signature.as_ref() != Some(&signature) {
            self.schedule = super::select::schedule(comm, world.as_ref(), &params.tuned, &signature)?;
            self.signature = Some(signature);
        }
        Ok(())
    }

    pub fn coll(&self) -> Coll {
        self.call.coll
    }

    pub fn comm(&self) -> abi::Comm {
        self.call.comm
    }

    /// The communicator goes by another handle.
    pub fn move_to(&mut self, comm: abi::Comm) {
        self.call.comm = comm;
    }

    /// Gives the messages of the call their tag.
    pub fn set_tag(&mut self, tag: i32) {
        self.wire.tag = tag;
    }

    /// Puts the execution at its start, under a tag that is no collective's.
    pub fn begin_apart(&mut self, tag: i32) -> Result<()> {
        self.wire.tag = tag;
        self.begin()
    }

    /// Takes the communicator's area if the schedule uses it.
    pub fn borrow_area(&mut self, lender: &mut Option<Box<NodeArea>>) {
        if self.schedule.rounds() > 0 {
            self.area = lender.take();
        }
    }

    /// Gives the area back.
    pub fn return_area(&mut self, lender: &mut Option<Box<NodeArea>>) {
        if self.area.is_some() {
            *lender = self.area.take();
        }
    }

    /// Puts the execution at its start.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` for more than 63 bits of bytes.
    pub fn begin(&mut self) -> Result<()> {
        self.ended = None;
        let counts = self.call.recv.blocks.iter().map(|block| block.count);
        let user = self.call.is_user_defined();
        let rounds = u64::from(self.schedule.rounds());
        let epoch = self.area.as_mut().map_or(0, |area| area.take_epochs(rounds));
        self.execution.start(&self.schedule, &self.call.shape(), counts, epoch, user)?;
        let lines = self.execution.arena_bytes().div_ceil(64);
        if self.arena.len() < lines {
            self.arena.resize(lines, [0; 8]);
        }
        Ok(())
    }

    /// Runs as far as possible; for reductions that are not the program's.
    pub fn step(&mut self, ob1: &mut Ob1, bml: &mut bml::Bml) {
        // A predefined operation has no callback.
        let _ = self.advance(ob1, bml);
    }

    /// Runs as far as possible; a callback that is due now.
    pub fn advance(&mut self, ob1: &mut Ob1, bml: &mut bml::Bml) -> Option<Callback> {
        if self.ended.is_some() {
            return None;
        }
        let arena = Address(self.arena.as_mut_ptr() as usize);
        let area = self.area.as_deref_mut();
        let mut port = CorePort { ob1, bml, wire: &self.wire, call: &self.call, arena, area };
        match self.execution.advance(&mut port) {
            Progress::Pending => None,
            Progress::Done => {
                self.ended = Some(Ok(()));
                None
            }
            Progress::Failed(error) => {
                for id in self.execution.in_flight() {
                    port.ob1.cancel(port.bml, id);
                    port.ob1.detach(id);
                }
                self.ended = Some(Err(error));
                None
            }
            Progress::UserReduce { left, inout } => callback(&port, &left, &inout),
        }
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
        let error = self.result().map_or_else(|error| error.class, |()| abi::SUCCESS);
        Done { status: Status::EMPTY, error, owner: self.wire.owner }
    }

    /// Whether it can serve another call.
    pub fn is_reusable(&self) -> bool {
        !matches!(self.ended, Some(Err(_)))
    }
}

fn callback(port: &CorePort<'_>, left: &Region, inout: &Region) -> Option<Callback> {
    let Some(Reduction::User { function, handle, .. }) = port.call.op else { return None };
    let (left, count) = port.operand(left);
    let (inout, _) = port.operand(inout);
    let extent = port.call.recv.layout.extent;
    Some(Callback { key: None, function, left, inout, count, datatype: handle, extent })
}

impl Wire {
    /// Takes over who the processes of a communicator are.
    fn follow(&mut self, comm: &Comm) {
        self.context = comm.context | 1;
        // Groups that borrow one context, one after the other, give a rank to different processes.
        self.by_peer = comm.coll.is_apart();
        self.source = if self.by_peer { comm.peers[comm.rank as usize] } else { comm.rank };
        self.owner = comm.handle.0 as u32;
        if !Arc::ptr_eq(&self.peers, &comm.peers) {
            self.peers = comm.peers.clone();
            self.local = comm.group.peers();
        }
        self.local_context = comm.local.as_ref().map_or(0, |local| local.context | 1);
    }
}
