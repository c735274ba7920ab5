//! Running collectives: who advances them, and the user's reduction functions.

use std::collections::VecDeque;
use std::sync::Arc;

use abi::{Address, Error, Result, Status};
use coll::{Execution, Region, Schedule, State as Progress};
use pml_ob1::Done;

use super::Mode;
use super::call::{Call, Reduction};
use super::port::{CorePort, InFlight, Wire};
use crate::domain::Token;
use crate::handle::RequestKey;
use crate::op::Function;
use crate::persistent::Persistent;
use crate::request::Composite;
use crate::state::State;
use crate::wait::wait_for;

/// One collective call on its way.
pub(crate) struct Running {
    execution: Execution<InFlight>,
    schedule: Arc<Schedule>,
    wire: Wire,
    call: Call,
    /// Scratch memory, in cache lines.
    arena: Vec<[u64; 8]>,
    ended: Option<Result<()>>,
    /// Nobody will ask for the result.
    pub orphaned: bool,
}

/// A reduction that the program must do, outside the lock.
pub(crate) struct Callback {
    /// The composite request that waits for it; `None` in a blocking call.
    key: Option<u32>,
    function: Function,
    left: Address,
    inout: Address,
    count: u64,
    datatype: abi::Datatype,
}

impl Running {
    /// Binds a schedule to the buffers of a call; nothing has been sent yet.
    fn new(state: &mut State, call: Call) -> Result<Running> {
        let schedule = super::select::schedule(state, &call)?;
        let comm = state.comm(call.comm)?;
        let wire = Wire {
            peers: comm.peers.clone(),
            local: comm.group.peers(),
            context: comm.context | 1,
            local_context: comm.local.as_ref().map_or(0, |local| local.context | 1),
            rank: comm.rank,
            tag: 0,
            owner: comm.handle.0 as u32,
        };
        Ok(Running {
            execution: Execution::new(),
            schedule,
            wire,
            call,
            arena: Vec::new(),
            ended: None,
            orphaned: false,
        })
    }

    /// The allreduce of one word into the next with the largest value as the result, for the library itself.
    pub fn of_words(state: &mut State, comm: abi::Comm, words: Address) -> Result<Box<Running>> {
        let call = Call::of_words(state, comm, words)?;
        Running::new(state, call).map(Box::new)
    }

    /// Puts the execution at its start, under a tag that is no collective's.
    pub fn begin_apart(&mut self, tag: i32) -> Result<()> {
        self.wire.tag = tag;
        self.restart()
    }

    /// Runs as far as possible; for reductions that are not the program's.
    pub fn step(&mut self, ob1: &mut pml_ob1::Ob1, bml: &mut bml::Bml) {
        // A predefined operation has no callback.
        let _ = self.advance(ob1, bml);
    }

    /// Takes a tag for one round of the collective and puts the execution at its start.
    fn begin(&mut self, state: &mut State) -> Result<()> {
        self.wire.tag = state.comms.get_mut(self.call.comm)?.coll.next_tag();
        self.restart()
    }

    fn restart(&mut self) -> Result<()> {
        self.ended = None;
        let user = matches!(self.call.op, Some(Reduction::User { .. }));
        let blocks =
            if self.call.recv.blocks.is_empty() { &self.call.send.blocks } else { &self.call.recv.blocks };
        let irregular = blocks.iter().map(|block| block.count);
        self.execution.start(&self.schedule, &self.call.shape(), irregular, 0, user)?;
        self.arena.resize(self.execution.arena_bytes().div_ceil(64), [0; 8]);
        Ok(())
    }

    /// Runs as far as possible; a callback that is due now.
    fn advance(&mut self, ob1: &mut pml_ob1::Ob1, bml: &mut bml::Bml) -> Option<Callback> {
        if self.ended.is_some() {
            return None;
        }
        let arena = Address(self.arena.as_mut_ptr() as usize);
        let mut port = CorePort { ob1, bml, wire: &self.wire, call: &self.call, arena };
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

    pub fn is_complete(&self) -> bool {
        self.ended.is_some()
    }

    /// The result of a complete collective.
    pub fn outcome(&self) -> Done {
        let error = match self.ended {
            Some(Err(error)) => error.class,
            _ => abi::SUCCESS,
        };
        Done { status: Status::EMPTY, error, owner: self.wire.owner }
    }
}

fn callback(port: &CorePort<'_>, left: &Region, inout: &Region) -> Option<Callback> {
    let Some(Reduction::User { function, handle, .. }) = port.call.op else { return None };
    let (left, count) = port.operand(left);
    let (inout, _) = port.operand(inout);
    Some(Callback { key: None, function, left, inout, count, datatype: handle })
}

/// Starts a call and sees to its completion as `mode` says.
pub(super) fn launch(t: &mut Token, mode: Mode<'_>, call: Call) -> Result<()> {
    let mut running = {
        let mut state = t.lock();
        let mut running = Box::new(Running::new(&mut state, call)?);
        if !matches!(mode, Mode::Persistent(_)) {
            running.begin(&mut state)?;
        }
        running
    };
    match mode {
        Mode::Blocking => complete(t, &mut running),
        Mode::Nonblocking(request) => {
            let mut state = t.lock();
            *request = state.add_composite(Composite::Collective(running))?;
            activate(&mut state, *request);
            Ok(())
        }
        Mode::Persistent(request) => {
            let persistent = Persistent::collective(running);
            *request = t.lock().add_composite(Composite::Persistent(Box::new(persistent)))?;
            Ok(())
        }
    }
}

/// Advances a blocking call to its end.
fn complete(t: &mut Token, running: &mut Running) -> Result<()> {
    loop {
        let due = wait_for(t, |state| {
            let due = running.advance(&mut state.ob1, &mut state.bml);
            if due.is_some() || running.is_complete() { Some(due) } else { None }
        });
        match due {
            Some(callback) => {
                call_user(t, &callback);
                running.execution.reduced();
            }
            None => return running.ended.unwrap_or(Ok(())),
        }
    }
}

fn activate(state: &mut State, request: abi::Request) {
    if let Some(RequestKey::Composite(key)) = RequestKey::of(request) {
        state.active.push(key);
        advance_all(state);
    }
}

/// Starts a persistent collective again.
pub(crate) fn start_persistent(state: &mut State, key: u32) -> Result<()> {
    let unknown = Error::new(abi::ERR_REQUEST, "the handle names no persistent collective");
    // The request is taken out while it begins, since that needs the communicator too.
    let Some(Composite::Persistent(persistent)) = state.composites.get_mut(key) else { return Err(unknown) };
    let mut running = persistent.take_running().ok_or(unknown)?;
    let begun = running.begin(state);
    if let Some(Composite::Persistent(persistent)) = state.composites.get_mut(key) {
        persistent.put_running(running, begun.is_ok());
    }
    begun?;
    state.active.push(key);
    advance_all(state);
    Ok(())
}

/// Advances every collective in progress; whether one of them ended or needs its callback.
pub(crate) fn advance_all(state: &mut State) -> bool {
    let State { composites, ob1, bml, active, callbacks, .. } = state;
    let before = (active.len(), callbacks.len());
    let mut finished = Vec::new();
    active.retain(|&key| {
        let running = match composites.get_mut(key) {
            Some(Composite::Collective(running)) => running.as_mut(),
            Some(Composite::Persistent(persistent)) => match persistent.running() {
                Some(running) => running,
                None => return false,
            },
            _ => return false,
        };
        if let Some(callback) = running.advance(ob1, bml) {
            callbacks.push_back(Callback { key: Some(key), ..callback });
        }
        if running.is_complete() && running.orphaned {
            finished.push(key);
        }
        !running.is_complete()
    });
    finished.into_iter().for_each(|key| drop(composites.remove(key)));
    (active.len(), callbacks.len()) != before
}

impl State {
    /// Whether no reduction of the program is due.
    pub fn callbacks_idle(&self) -> bool {
        self.callbacks.is_empty()
    }

    /// The next reduction that the program must do.
    pub fn next_callback(&mut self) -> Option<Callback> {
        self.callbacks.pop_front()
    }
}

/// The queue of reductions that are due.
pub(crate) type Callbacks = VecDeque<Callback>;

/// Does a reduction that progress came across, and lets its collective go on.
pub(crate) fn run_callback(t: &mut Token, callback: Callback) {
    call_user(t, &callback);
    let mut state = t.lock();
    let running = match callback.key.and_then(|key| state.composites.get_mut(key)) {
        Some(Composite::Collective(running)) => running.as_mut(),
        Some(Composite::Persistent(persistent)) => match persistent.running() {
            Some(running) => running,
            None => return,
        },
        _ => return,
    };
    running.execution.reduced();
    advance_all(&mut state);
}

/// Calls the program's function. Takes the token: the function may call MPI.
fn call_user(_unlocked: &mut Token, callback: &Callback) {
    let mut datatype = callback.datatype;
    match callback.function {
        Function::Large(function) => {
            function.call(callback.left, callback.inout, &mut (callback.count as i64), &mut datatype);
        }
        Function::Int(function) => {
            // A function that counts in int sees a long vector in pieces; only dense types get that long.
            function.call(callback.left, callback.inout, &mut (callback.count as i32), &mut datatype);
        }
    }
}
