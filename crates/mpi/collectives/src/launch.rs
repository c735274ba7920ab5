//! Starting collectives, and what advances them: the call, progress, or progress after each start.

use coll::tuned::Level;
use std::collections::VecDeque;
use std::sync::Arc;

use abi::{Address, Result, Status};
use coll::Coll;
use datatype::Datatype;
use engine::{Advance, Afterlife, Blocking, Guarded, Operation, advance_all};
use ffi::copies;
use pml::Done;

use super::Mode;
use super::arguments::Arguments;
use super::check::log;
use super::kept;
use super::persistent::Persistent;
use super::run::Running;
use super::turns::{Start, await_turn, queue, return_to};
use objects::domain::Token;
use objects::handle::RequestKey;
use objects::op::Function;
use objects::state::State;
use objects::types::with_live_handle;
use objects::wait::wait_actively;

/// A reduction that the program must do, outside the lock.
pub struct Callback {
    /// The composite request that waits for it; `None` in a blocking call.
    pub key: Option<u32>,
    pub function: Function,
    pub left: Address,
    pub inout: Address,
    pub count: u64,
    /// As the program named it when the collective began.
    pub datatype: abi::Datatype,
    /// The type itself, where the program may have freed its handle since. `MPI_Wait` goes on with what was begun as a
    /// blocking call would, so this is not known from the call.
    pub derived: Option<Arc<Datatype>>,
    /// Distance of elements in bytes.
    pub extent: i64,
}

/// Reductions that the program must do before their collectives can go on.
static CALLBACKS: Guarded<VecDeque<Callback>> = Guarded::new(VecDeque::new());

/// Takes the arguments of a call by `fill`, starts it and sees to its completion by `mode`.
pub(super) fn launch(
    t: &mut Token,
    mode: Mode<'_>,
    coll: Coll,
    comm: abi::Comm,
    fill: impl FnOnce(&mut Arguments<'_>) -> Result<()>,
) -> Result<()> {
    let blocking = matches!(mode, Mode::Blocking | Mode::Own);
    let start = mode.start();
    if blocking {
        await_turn(t, comm);
    }
    let (mut running, vote, online) = {
        let mut guard = t.lock();
        let state = &mut *guard;
        let mut running = kept::find(state, comm)?.spare(coll, comm);
        match running.set_up(state, coll, start, fill) {
            Ok(()) => {
                let vote = blocking && running.wants_vote(kept::find(state, comm)?);
                (running, vote, start == Start::Blocking && state.params.tuned.online)
            }
            Err(error) => {
                keep(state, running);
                return Err(error);
            }
        }
    };
    if vote {
        super::area::vote_on_direct(t, comm)?;
        running.choose(&mut t.lock(), start)?;
    }
    if online {
        let query = running.signature().map(|signature| *signature.query());
        if let Some(query) = query
            && super::online::vote(t, comm, &query)?
        {
            running.choose(&mut t.lock(), start)?;
        }
    }
    go(t, mode, running)
}

fn go(t: &mut Token, mode: Mode<'_>, mut running: Box<Running>) -> Result<()> {
    match mode {
        Mode::Blocking | Mode::Own => {
            let begun = {
                let mut state = t.lock();
                let comm = running.comm();
                running.borrow_area(&mut kept::find(&mut state, comm)?.area);
                number(&mut state, &mut running).and_then(|()| running.begin())
            };
            match begun {
                Ok(()) => complete(t, running),
                Err(error) => {
                    keep(&mut t.lock(), running);
                    Err(error)
                }
            }
        }
        Mode::Nonblocking(request) => {
            let mut state = t.lock();
            // What has begun uses its own memory, and cannot be dropped for want of a request.
            state.requests.check_room()?;
            number(&mut state, &mut running)?;
            let (comm, waits) = (running.comm(), running.wants_area());
            running.hold(Some(state.hold(comm)?));
            running.set_copies(copies::take(request));
            if !waits {
                running.begin()?;
            }
            let key = state.requests.add_boxed(running)?;
            *request = RequestKey::Operation(key).handle();
            match waits {
                true => queue(&mut state, comm, key)?,
                false => state.requests.register(key),
            }
            advance_all(&mut *state);
            engine::poll_if_due(&mut *state);
            drop(state);
            engine::see_to_connections(t);
            Ok(())
        }
        Mode::Persistent(request) => {
            let mut state = t.lock();
            // Persistent collectives are initialised in the same order everywhere, but started in any.
            prepare_persistent(&mut state, &mut running)?;
            let held = state.hold(running.comm())?;
            running.set_copies(copies::take(request));
            *request = state.add_request(Persistent::new(running, held))?;
            Ok(())
        }
    }
}

/// How often a call polls its shared area before it polls the transports, where ranks have cores of their
/// own: what it waits for comes within a few cache-line transfers.
const POLLS: u32 = 16;

/// Advances a blocking call to its end.
fn complete(t: &mut Token, mut running: Box<Running>) -> Result<()> {
    let polls = if running.uses_area() && !t.lock().params.waiting.spin.is_zero() { POLLS } else { 1 };
    loop {
        let due = wait_actively(t, |state| {
            for poll in 0..polls {
                let due = running.advance(&mut state.p2p);
                engine::poll_if_due(state);
                if running.is_complete() {
                    take_area_of(state, &mut running);
                    return Some(None);
                }
                if due.is_some() {
                    return Some(due);
                }
                if poll > 0 {
                    std::hint::spin_loop();
                }
            }
            let disagrees = running.compare_if_due(state).is_err();
            disagrees.then(|| {
                take_area_of(state, &mut running);
                None
            })
        });
        match due {
            Some(callback) => {
                callback.call(t);
                running.reduced();
            }
            None => {
                let result = running.result();
                let mut state = t.lock();
                if let Ok(kept) = kept::find(&mut state, running.comm()) {
                    running.report_attempt(&mut kept.online);
                }
                keep(&mut state, running);
                return result;
            }
        }
    }
}

/// Waits for the nonblocking collective of a request as a blocking call does, and drops it. `None`: it is over, or waits
/// for its turn or for a reduction of the program.
fn finish(t: &mut Token, key: u32) -> Option<Done> {
    let (owner, running) = {
        let mut state = t.lock();
        state.requests.get_as::<Running>(key).filter(|running| running.is_under_way())?;
        let running = state.requests.remove_as::<Running>(key)?;
        (running.comm(), running)
    };
    let result = complete(t, running);
    Some(done(owner, result))
}

/// What a finished collective leaves for its request.
pub(super) fn done(comm: abi::Comm, result: Result<()>) -> Done {
    let error = result.map_or_else(|error| error.class, |()| abi::SUCCESS);
    Done { status: Status::EMPTY, error, owner: comm.0 as u32 }
}

/// Gives a call the tag of its place in the communicator's sequence, and lets the peers know what it is.
fn number(state: &mut State, running: &mut Running) -> Result<()> {
    if state.params.tuned.check == Level::Off {
        running.set_tag(kept::find(state, running.comm())?.next_tag(0).1);
        running.set_logged(None);
        return Ok(());
    }
    let statement = running.statement(state, state.comm(running.comm())?);
    let digest = statement.digest();
    let (number, tag) = kept::find(state, running.comm())?.next_tag(digest);
    running.set_tag(tag);
    running.set_logged(log(state, state.comm(running.comm())?, number, statement));
    Ok(())
}

/// As [`number`], for all rounds of a persistent collective.
fn prepare_persistent(state: &mut State, running: &mut Running) -> Result<()> {
    let compared = state.params.tuned.check != Level::Off;
    let found = state.comm(running.comm())?;
    let statement = compared.then(|| running.statement(state, found));
    let (digest, context) = (statement.map_or(0, |statement| statement.digest()), found.context);
    let (number, tag) = kept::find(state, running.comm())?.next_persistent_tag(digest);
    running.set_tag(tag);
    running.set_logged(statement.map(|statement| statement.under(context, number)));
    Ok(())
}

/// Hands the area on that a finished call has borrowed: under the same lock under which it ended, so that the
/// thread that is woken by its end and waits for the area finds it.
fn take_area_of(state: &mut State, running: &mut Running) {
    if let Some(area) = running.give_area() {
        return_to(state, running.comm(), area);
    }
}

/// Keeps what a finished call has allocated for the next one.
pub fn keep(state: &mut State, mut running: Box<Running>) {
    take_area_of(state, &mut running);
    running.hold(None);
    running.set_copies(None);
    if running.is_reusable()
        && let Ok(kept) = kept::find(state, running.comm())
    {
        kept.keep(running);
    }
}

impl Running {
    /// Goes on with the call of request `key`, by progress.
    pub fn go_on(&mut self, state: &mut State, key: u32) -> Advance {
        let callback = self.advance(&mut state.p2p);
        let due = callback.is_some();
        if let Some(callback) = callback {
            CALLBACKS.get_mut(&mut state.tables).push_back(Callback { key: Some(key), ..callback });
            state.due.push_back(run_callback);
        }
        if !self.is_complete() {
            // A call that differs from the peers' ends with the error.
            let _ = self.compare_if_due(state);
        }
        match (self.is_complete(), due) {
            (true, _) => {
                take_area_of(state, self);
                Advance::Finished
            }
            (false, true) => Advance::Moved,
            (false, false) => Advance::Idle,
        }
    }
}

impl Operation<State> for Running {
    fn is_over(&mut self, _state: &mut State) -> bool {
        self.is_complete()
    }

    fn outcome(&self) -> Done {
        done(self.comm(), self.result())
    }

    fn advance(&mut self, state: &mut State, key: u32) -> Advance {
        self.go_on(state, key)
    }

    fn blocking(&self) -> Option<Blocking<State>> {
        Some(finish)
    }

    fn recycle(self: Box<Self>, state: &mut State) {
        keep(state, self);
    }

    /// Progress advances it, or will when its turn in the area comes.
    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        if self.is_complete() { Afterlife::Gone } else { Afterlife::UntilOver { register: false } }
    }
}

/// Does the first of the reductions that progress came across, and lets its collective go on.
fn run_callback(t: &mut Token) {
    let Some(callback) = CALLBACKS.get_mut(&mut t.lock().tables).pop_front() else { return };
    callback.call(t);
    let mut guard = t.lock();
    let state = &mut *guard;
    let Some(key) = callback.key else { return };
    if let Some(running) = state.requests.get_as::<Running>(key) {
        running.reduced();
    } else if let Some(running) = state.requests.get_as::<Persistent>(key).and_then(Persistent::running) {
        running.reduced();
    }
    advance_all(state);
}

impl Callback {
    fn call(&self, t: &mut Token) {
        let Callback { function, left, inout, count, datatype, extent, .. } = *self;
        let call = |t: &mut Token, datatype| call_user(t, function, left, inout, count, datatype, extent);
        match &self.derived {
            Some(derived) => {
                with_live_handle(t, datatype, derived, call).unwrap_or_else(|_| call(t, datatype))
            }
            None => call(t, datatype),
        }
    }
}

/// Calls the program's function: `inout = left op inout`. Takes the token: the function may call MPI.
pub(super) fn call_user(
    _unlocked: &mut Token,
    function: Function,
    left: Address,
    inout: Address,
    count: u64,
    datatype: abi::Datatype,
    extent: i64,
) {
    let mut datatype = datatype;
    match function {
        Function::Large(function) => {
            function.call(left, inout, &mut (count as i64), &mut datatype);
        }
        Function::Int(function) => {
            // A function that counts in int sees a longer vector in pieces.
            let mut done = 0;
            while done < count {
                let piece = (count - done).min(i32::MAX as u64);
                let at = |start: Address| {
                    Address(start.0.wrapping_add_signed((done as i64).wrapping_mul(extent) as isize))
                };
                function.call(at(left), at(inout), &mut (piece as i32), &mut datatype);
                done += piece;
            }
        }
    }
}
