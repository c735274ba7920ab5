//! The machine that runs a schedule: one cursor, a few request slots, no allocation once warm.

use crate::binding::{Binding, BoundRef};
pub use crate::binding::{Layout, Shape};
use crate::port::{Base, Port, Region, Side, Ty};
use crate::schedule::{RefId, Schedule, Slot, Step};
use crate::shared::PAYLOAD;
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

/// The state of one collective call on one rank. Keep and reuse it: once its vectors have grown, a start
/// allocates nothing. `O` is the port's request type.
#[derive(Debug)]
pub struct Execution<O> {
    schedule: Arc<Schedule>,
    nothing: Arc<Schedule>,
    shape: Shape,
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
        let nothing = Arc::<Schedule>::default();
        Execution {
            schedule: nothing.clone(),
            nothing,
            shape: Shape::default(),
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
    /// `irregular`: the block counts in elements, in rank order, if [`Schedule::is_irregular`]; else
    /// unused. `epoch`: the first of the [`Schedule::rounds`] epochs that the call takes of the shared
    /// area. `user_op`: the operation is user-defined. Fails with `MPI_ERR_COUNT` if an offset would not
    /// fit in 63 bits.
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
        let same_schedule = Arc::ptr_eq(&self.schedule, schedule);
        if !same_schedule || schedule.changes_with_calls() || self.shape != *shape {
            // Until the binding is whole again there is nothing to reuse.
            self.schedule = self.nothing.clone();
            self.binding.bind(schedule, shape, irregular, epoch)?;
            self.schedule = Arc::clone(schedule);
            self.shape = *shape;
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

    /// The request that the step at the cursor waits for.
    pub fn awaited(&self) -> Option<O> {
        match *self.schedule.steps.get(self.cursor)? {
            Step::Wait { slot } => *self.slots.get(slot as usize)?,
            _ => None,
        }
    }

    /// The number of the round whose flag the step at the cursor waits for, which the last of all processes sets.
    pub fn awaited_round(&self) -> Option<u64> {
        match *self.schedule.steps.get(self.cursor)? {
            Step::Await { round, slot: Slot::Flag, .. } => Some(self.epoch + u64::from(round)),
            _ => None,
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

/// The region of a reference; `None` if it was meant to hold data and holds none: such messages are not
/// sent, on either side. Regions of irregular blocks are put together in `built`.
#[inline(always)]
fn region<'a, P: Port>(
    binding: &'a Binding,
    id: RefId,
    port: &P,
    built: &'a mut Region,
) -> Option<&'a Region> {
    match binding.place(id) {
        BoundRef::Region(region) => return Some(region),
        BoundRef::Void => return None,
        &BoundRef::Block { side, index } if port.block_bytes(side, index) > 0 => {
            *built = Region::Block { side, index };
        }
        &BoundRef::Aside { offset, index } if port.block_bytes(Side::Recv, index) > 0 => {
            let count = port.block_bytes(Side::Recv, index);
            *built = Region::Span { base: Base::Arena, ty: Ty::Byte, offset, count };
        }
        &BoundRef::Piece { side, index, piece } => {
            let offset = u64::from(piece) * PAYLOAD as u64;
            let bytes = port.block_bytes(side, index).saturating_sub(offset).min(PAYLOAD as u64);
            if bytes == 0 {
                return None;
            }
            *built = Region::Piece { side, index, offset, bytes };
        }
        BoundRef::Block { .. } | BoundRef::Aside { .. } => return None,
    }
    Some(built)
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
    let mut built = [Region::Empty; 2];
    let [first, second] = &mut built;
    match *step {
        Step::Send { slot, peer, from } => {
            if let Some(from) = region(binding, from, port, first) {
                slots[slot as usize] = port.isend(peer, from)?;
            }
        }
        Step::Recv { slot, peer, into } => {
            if let Some(into) = region(binding, into, port, first) {
                slots[slot as usize] = port.irecv(peer, into)?;
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
        Step::Copy { into, from } => {
            let from = region(binding, from, port, first);
            if let (Some(into), Some(from)) = (region(binding, into, port, second), from) {
                port.copy(into, from)?;
            }
        }
        Step::Reduce { into, left, right } => {
            let place = |id| match binding.place(id) {
                BoundRef::Region(region) => Some(region),
                _ => None,
            };
            let (Some(out), Some(l), Some(r)) = (place(into), place(left), place(right)) else {
                return Ok(Next::Step);
            };
            if !user_op {
                port.reduce(out, l, r)?;
            } else if into == left {
                // Only where the operation commutes.
                return Ok(Next::User { left: *r, inout: *out });
            } else {
                if into != right {
                    port.copy(out, r)?;
                }
                return Ok(Next::User { left: *l, inout: *out });
            }
        }
        Step::Publish { round, slot, from, wake } => {
            let from = region(binding, from, port, first).unwrap_or(&Region::Empty);
            return Ok(go_if(port.publish(slot, epoch + u64::from(round), from, wake)?));
        }
        Step::Await { round, slot, into } => {
            let into = region(binding, into, port, first).unwrap_or(&Region::Empty);
            return Ok(go_if(port.observe(slot, epoch + u64::from(round), into)?));
        }
        Step::Branch { data, limit, longer, otherwise } => {
            let region = region(binding, data, port, first);
            let bytes = region.map_or(0, |region| binding.bytes(region, port));
            if (bytes > u64::from(limit)) != longer {
                return Ok(Next::Jump(otherwise));
            }
        }
        Step::PublishParts { round, side, limit, wake } => {
            return Ok(go_if(port.publish_parts(epoch + u64::from(round), side, limit, wake)?));
        }
        Step::AwaitPart { round, owner, into } => {
            let into = region(binding, into, port, first).unwrap_or(&Region::Empty);
            return Ok(go_if(port.observe_part(owner, epoch + u64::from(round), into)?));
        }
        Step::Arrive { round, otherwise } => {
            if !port.arrive(epoch + u64::from(round))? {
                return Ok(Next::Jump(otherwise));
            }
        }
        Step::Retire { round } => port.retire(epoch + u64::from(round))?,
        Step::Claim { round } => return Ok(go_if(port.claim(epoch + u64::from(round))?)),
        Step::Expose { round, buf, wake } => {
            let buf = region(binding, buf, port, first).unwrap_or(&Region::Empty);
            return Ok(go_if(port.expose(epoch + u64::from(round), buf, wake)?));
        }
        Step::Get { round, owner, from, into } => {
            let from = region(binding, from, port, first);
            if let (Some(into), Some(from)) = (region(binding, into, port, second), from) {
                port.get(owner, epoch + u64::from(round), from, into)?;
            }
        }
    }
    Ok(Next::Step)
}
