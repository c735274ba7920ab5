//! The machine that runs a schedule: one cursor, a few request slots, no allocation once warm.

use crate::binding::Binding;
pub use crate::binding::{Layout, Shape};
use crate::port::{Port, Region};
use crate::schedule::{Schedule, Step};
use abi::{Error, Result};
use std::sync::Arc;

/// How far an execution is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Everything is in place; the buffers belong to the caller again.
    Done,
    /// Waits for a peer. Let the transports progress, then call [`Execution::advance`] again.
    Pending,
    /// Call the user's function with `invec` = `left` and `inoutvec` = `inout`, outside of any lock, then
    /// [`Execution::reduced`], then [`Execution::advance`].
    UserReduce {
        /// First operand.
        left: Region,
        /// Second operand and result; `count` elements like `left`.
        inout: Region,
    },
    /// The port reported an error. The execution must be started anew.
    Failed(Error),
}

/// What a pending execution waits for; for diagnosis and for choosing where to sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting<'a> {
    /// Nothing: not started, or done.
    Nothing,
    /// The step at the cursor.
    Step(&'a Step),
    /// The user's reduction function.
    User,
}

/// The state of one collective call on one rank. Keep and reuse it: once its vectors have grown, a start allocates
/// nothing. `O` is the port's request type.
#[derive(Debug)]
pub struct Execution<O> {
    schedule: Arc<Schedule>,
    binding: Binding,
    slots: Vec<Option<O>>,
    cursor: usize,
    epoch: u64,
    user_op: bool,
    in_user: bool,
}

impl<O: Copy> Default for Execution<O> {
    fn default() -> Execution<O> {
        Execution::new()
    }
}

impl<O: Copy> Execution<O> {
    /// An execution of nothing, which is done.
    pub fn new() -> Execution<O> {
        Execution {
            schedule: Arc::default(),
            binding: Binding::default(),
            slots: Vec::new(),
            cursor: 0,
            epoch: 0,
            user_op: false,
            in_user: false,
        }
    }

    /// Binds a schedule to the counts and types of a call and puts the cursor at its start.
    ///
    /// `irregular`: the block counts in elements, in rank order, if [`Schedule::is_irregular`]; else unused. `epoch`:
    /// the first of the [`Schedule::rounds`] epochs that the call takes of the shared area. `user_op`: the operation is
    /// user-defined. Fails with `MPI_ERR_COUNT` if an offset would not fit in 63 bits.
    ///
    /// The previous call must be done, failed with its requests cancelled, or never advanced.
    pub fn start(
        &mut self,
        schedule: &Arc<Schedule>,
        shape: &Shape,
        irregular: impl Iterator<Item = u64>,
        epoch: u64,
        user_op: bool,
    ) -> Result<()> {
        self.binding.bind(schedule, shape, irregular)?;
        if !Arc::ptr_eq(&self.schedule, schedule) {
            self.schedule = Arc::clone(schedule);
        }
        self.slots.clear();
        self.slots.resize(schedule.slots as usize, None);
        self.cursor = 0;
        self.epoch = epoch;
        self.user_op = user_op;
        self.in_user = false;
        Ok(())
    }

    /// Bytes of scratch memory ([`crate::Base::Arena`]) that the call just started needs.
    pub fn arena_bytes(&self) -> usize {
        self.binding.arena_bytes
    }

    /// Requests in flight, for a caller that has to cancel them.
    pub fn in_flight(&self) -> impl Iterator<Item = O> + '_ {
        self.slots.iter().flatten().copied()
    }

    /// Index of the next step, for a driver that wants to see whether anything moved.
    pub fn position(&self) -> usize {
        self.cursor
    }

    /// What the execution waits for.
    pub fn waiting(&self) -> Waiting<'_> {
        match self.schedule.steps.get(self.cursor) {
            None => Waiting::Nothing,
            Some(_) if self.in_user => Waiting::User,
            Some(step) => Waiting::Step(step),
        }
    }

    /// The user's function has done what [`State::UserReduce`] asked for.
    pub fn reduced(&mut self) {
        if self.in_user {
            self.in_user = false;
            self.cursor += 1;
        }
    }

    /// Runs steps until one has to wait, the user's function is needed, or the end is reached.
    pub fn advance<P: Port<Op = O>>(&mut self, port: &mut P) -> State {
        if self.in_user {
            return State::Pending;
        }
        while let Some(step) = self.schedule.steps.get(self.cursor) {
            match perform(step, &self.binding, &mut self.slots, self.epoch, self.user_op, port) {
                Ok(Next::Step) => self.cursor += 1,
                Ok(Next::Jump(to)) => self.cursor = to as usize,
                Ok(Next::Stay) => return State::Pending,
                Ok(Next::User { left, inout }) => {
                    self.in_user = true;
                    return State::UserReduce { left, inout };
                }
                Err(error) => return State::Failed(error),
            }
        }
        State::Done
    }
}

enum Next {
    Step,
    Jump(u32),
    Stay,
    User { left: Region, inout: Region },
}

const fn go_if(ready: bool) -> Next {
    if ready { Next::Step } else { Next::Stay }
}

#[inline(always)]
fn perform<P: Port>(
    step: &Step,
    binding: &Binding,
    slots: &mut [Option<P::Op>],
    epoch: u64,
    user_op: bool,
    port: &mut P,
) -> Result<Next> {
    match *step {
        Step::Send { slot, peer, ref from } => {
            let from = binding.region(from, epoch, port);
            if !is_void(&from, port) {
                slots[slot as usize] = port.isend(peer, &from)?;
            }
        }
        Step::Recv { slot, peer, ref into } => {
            let into = binding.region(into, epoch, port);
            if !is_void(&into, port) {
                slots[slot as usize] = port.irecv(peer, &into)?;
            }
        }
        Step::Wait { slot } => {
            let slot = &mut slots[slot as usize];
            if let Some(op) = *slot {
                if !port.test(op)? {
                    return Ok(Next::Stay);
                }
                *slot = None;
            }
        }
        Step::Copy { ref into, ref from } => {
            let from = binding.region(from, epoch, port);
            if !is_void(&from, port) {
                port.copy(&binding.region(into, epoch, port), &from)?;
            }
        }
        Step::Reduce { ref into, ref left, ref right } => {
            let out = binding.region(into, epoch, port);
            let (l, r) = (binding.region(left, epoch, port), binding.region(right, epoch, port));
            if !is_void(&out, port) {
                if user_op {
                    if into == left {
                        // Only where the operation commutes.
                        return Ok(Next::User { left: r, inout: out });
                    }
                    if into != right {
                        port.copy(&out, &r)?;
                    }
                    return Ok(Next::User { left: l, inout: out });
                }
                port.reduce(&out, &l, &r)?;
            }
        }
        _ => return shared(step, binding, epoch, port),
    }
    Ok(Next::Step)
}

/// The steps that touch the shared area.
#[inline(always)]
fn shared<P: Port>(step: &Step, binding: &Binding, first: u64, port: &mut P) -> Result<Next> {
    let epoch = |round: u16| first + u64::from(round);
    Ok(match *step {
        Step::Publish { round, line, ref from, wake } => {
            go_if(port.publish(line, epoch(round), &binding.region(from, first, port), wake)?)
        }
        Step::Await { round, line, ref into } => {
            go_if(port.observe(line, epoch(round), &binding.region(into, first, port))?)
        }
        Step::Arrive { round, otherwise } => {
            if port.arrive(epoch(round))? {
                Next::Step
            } else {
                Next::Jump(otherwise)
            }
        }
        Step::Retire { round } => {
            port.retire(epoch(round))?;
            Next::Step
        }
        Step::Claim { round } => go_if(port.claim(epoch(round))?),
        Step::Expose { round, ref buf, wake } => {
            go_if(port.expose(epoch(round), &binding.region(buf, first, port), wake)?)
        }
        Step::Get { round, owner, ref from, ref into } => {
            let into = binding.region(into, first, port);
            if !is_void(&into, port) {
                port.get(owner, epoch(round), &binding.region(from, first, port), &into)?;
            }
            Next::Step
        }
        Step::Send { .. }
        | Step::Recv { .. }
        | Step::Wait { .. }
        | Step::Copy { .. }
        | Step::Reduce { .. } => Next::Step,
    })
}

/// Whether a region was meant to hold data and holds none: such messages are not sent, on either side.
#[inline(always)]
fn is_void<P: Port>(region: &Region, port: &P) -> bool {
    match *region {
        Region::Empty => false,
        Region::Span { count, .. } => count == 0,
        Region::Block { side, index } => port.block_bytes(side, index) == 0,
    }
}
