//! Persistent collectives on the fast path: the `_init` call makes the plan, and each start is an exchange by it, in the area
//! that the request has to itself. So rounds of different requests may be started in any order.
//!
//! ```text
//!   MPI_…_init ──► plan ──► schedule and area, agreed on by all (votes) ──► the same row: Rounds, else a schedule's
//!   MPI_Start  ──► the next epochs, some polls ── over ──────────────────► complete
//!                                               └─ not over ─► progress advances it; MPI_Wait goes on as a blocking call does
//! ```

use std::collections::BTreeMap;

use abi::Result;
use coll::Coll;
use coll::algorithms::registry::AlgorithmId;
use engine::{Advance, Blocking, Fate, Guarded, Operation};
use ffi::copies::Copies;
use mem::UserMem;
use observe::Part;
use pml::Done;

use super::super::check::LogReads;
use super::super::run::{Running, done};
use super::super::slots::OfNode;
use super::super::stage::Stage;
use super::later::POLLS;
use super::{Blocks, Exchange, NodePlan, Site, Started, await_end, polls};
use objects::comm::Held;
use objects::domain::Token;
use objects::state::State;

/// A plan that names blocks of different sizes by itself: the program's arrays are those of one call.
type RoundsPlan = coll::exchange::ExchangePlan<op::Kernel, Box<[UserMem]>>;

/// What the rounds of an `_init` call do, if it runs by this algorithm.
pub struct Planned {
    algorithm: AlgorithmId,
    plan: RoundsPlan,
}

impl Planned {
    /// The call, not started, in the area that its schedule has for itself. `None`: it has none, or another algorithm.
    pub fn rounds(self, running: &mut Running, held: Held) -> Option<Rounds> {
        let mut area = running.part_with_area(self.algorithm)?;
        let (logged, copies) = (running.logged().copied(), running.take_copies());
        area.set_mark(logged.map_or(0, |logged| logged.digest()));
        let started = Some(Started {
            exchange: Exchange::new(OfNode(area), 0, self.plan),
            name: running.name(),
            logged,
        });
        Some(Rounds { started, stage: Stage::Inactive, held, copies, log_reads: LogReads::default() })
    }
}

/// What calls that are being made would do, by the places of their communicators.
static PLANNED: Guarded<BTreeMap<u32, Planned>> = Guarded::new(BTreeMap::new());

/// Keeps what the rounds of a call would do, until the call takes it.
#[cold]
#[inline(never)]
pub(super) fn prepare<'a>(
    t: &mut Token,
    coll: Coll,
    comm: abi::Comm,
    root: i32,
    plan: impl FnOnce(&mut State, &Site) -> Option<(u64, NodePlan<'a>)>,
) {
    let mut state = t.lock();
    let planned = planned(&mut state, coll, comm, root, plan);
    let place = state.comms.find(comm).map(|comm| comm.slot.0);
    if let (Some(place), Some(planned)) = (place, planned) {
        PLANNED.get_mut(&mut state.tables).insert(place, planned);
    }
}

/// What the rounds of the call that is being made on a communicator would do.
pub(in super::super) fn take_planned(state: &mut State, comm: abi::Comm) -> Option<Planned> {
    let place = state.comms.find(comm)?.slot.0;
    PLANNED.get_mut(&mut state.tables).remove(&place)
}

fn planned<'a>(
    state: &mut State,
    coll: Coll,
    comm: abi::Comm,
    root: i32,
    plan: impl FnOnce(&mut State, &Site) -> Option<(u64, NodePlan<'a>)>,
) -> Option<Planned> {
    let site = Site::of(state, coll, comm)?;
    u32::try_from(root).ok().filter(|&root| (root as usize) < site.place.members)?;
    let (bytes, plan) = plan(state, &site)?;
    (bytes <= site.most).then(|| Planned { algorithm: site.algorithm, plan: plan.map(Blocks::lasting) })
}

/// A persistent collective of plain data.
pub struct Rounds {
    /// The exchange of this round, or of the last one; `None` while a call that waits for it has it.
    started: Option<Started<Box<[UserMem]>>>,
    stage: Stage,
    /// The communicator, which the program may free before it starts the call.
    held: Held,
    /// Copies of the program's buffers that a front-end has given.
    copies: Option<Copies>,
    log_reads: LogReads,
}

impl Rounds {
    fn end(&mut self, result: Result<()>) {
        self.stage = Stage::Complete(done(self.held.comm(), result));
        self.copies.iter().for_each(Copies::give_back);
    }
}

/// Waits for the round of a request as a blocking call does, and takes its result; `None`: it is over.
fn finish(t: &mut Token, key: u32) -> Option<(Done, Fate)> {
    let (comm, mut started) = {
        let mut state = t.lock();
        let it = state.requests.get_as::<Rounds>(key).filter(|it| it.stage == Stage::Started)?;
        (it.held.comm(), Some(it.started.take()?))
    };
    let result = await_end(t, (comm, "MPI_Wait"), &mut started, |_, _| ());
    let mut state = t.lock();
    let it = state.requests.get_as::<Rounds>(key)?;
    it.started = started;
    it.end(result);
    Some(it.conclude())
}

impl Operation<State> for Rounds {
    fn is_over(&mut self, _state: &mut State) -> bool {
        self.stage != Stage::Started
    }

    fn is_active(&self) -> bool {
        self.stage != Stage::Inactive
    }

    fn outcome(&self) -> Done {
        self.stage.outcome()
    }

    fn start(&mut self, state: &mut State, _key: u32) -> Result<bool> {
        let Some(Started { exchange, logged, .. }) = &mut self.started else { return Ok(false) };
        self.copies.iter().for_each(Copies::fill);
        if let (Some(logged), Some(node)) = (logged, &state.node) {
            logged.write(node);
        }
        let epochs = exchange.epochs();
        let area = &mut exchange.slots().0;
        let epoch = if epochs == 1 { area.take_epoch() } else { area.take_epochs(epochs) };
        exchange.again(epoch);
        self.stage = Stage::Started;
        for _ in 0..polls(state, POLLS) {
            if exchange.poll() {
                let result = exchange.result();
                self.end(result);
                return Ok(false);
            }
            std::hint::spin_loop();
        }
        Ok(true)
    }

    fn starts_at_once(&self) -> bool {
        self.stage == Stage::Inactive
    }

    fn take_success(&mut self) -> Option<Done> {
        self.stage.take_success()
    }

    fn blocking(&self) -> Option<Blocking<State>> {
        Some(finish)
    }

    fn lacks(&self, state: &State) -> Option<Part> {
        let started = self.started.as_ref().filter(|_| self.stage == Stage::Started)?;
        Some(started.part(state, self.held.comm()))
    }

    fn advance(&mut self, state: &mut State, _key: u32) -> Advance {
        let Some(started) = self.started.as_mut().filter(|_| self.stage == Stage::Started) else {
            return Advance::Finished;
        };
        let Some(result) = started.poll(state, self.held.comm(), &mut self.log_reads) else {
            return Advance::Idle;
        };
        self.end(result);
        Advance::Finished
    }

    fn conclude(&mut self) -> (Done, Fate) {
        self.stage.conclude()
    }

    /// `MPI_Cancel` of a collective does nothing.
    fn cancel(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }
}
