//! Starting collectives, and what advances them: the call, progress, or progress after each start.

use coll::tuned::Level;
use std::collections::VecDeque;

use abi::Result;
use coll::Coll;
use engine::{Advance, Afterlife, Blocking, Fate, Guarded, Operation, advance_all};
use ffi::copies;
use observe::Part;
use pml::Done;

use super::advance::{advance_to_end, take_area_of};
use super::arguments::Arguments;
use super::await_turn::await_turn;
use super::callback::Callback;
use super::check::{Logged, Statement};
use super::fast_path::Planned;
use super::kept;
use super::mode::{Mode, Start};
use super::persistent::Persistent;
use super::run::{Running, done};
use super::state::CollState;
use super::turns::queue;
use objects::comm::Comm;
use objects::domain::Token;
use objects::handle::RequestKey;
use objects::state::State;

/// Reductions that the program must do before their collectives can go on.
static CALLBACKS: Guarded<VecDeque<Callback>> = Guarded::new(VecDeque::new());

/// A call that has its arguments and its schedule, and what its processes should settle before it begins.
pub(super) struct Ready {
    pub running: Box<Running>,
    /// How it starts.
    pub start: Start,
    /// An area of the communicator's own is to be made.
    pub area: bool,
    /// Whether they can read each other's memory.
    pub direct: bool,
    /// Which algorithm was the fastest.
    pub online: bool,
}

/// Takes the arguments of a call by `fill` and finds its schedule.
pub(super) fn set_up(
    t: &mut Token,
    mode: &Mode<'_>,
    coll: Coll,
    comm: abi::Comm,
    fill: impl FnOnce(&mut Arguments<'_>) -> Result<()>,
) -> Result<Ready> {
    let blocking = matches!(mode, Mode::Blocking | Mode::Own);
    if blocking {
        await_turn(t, comm);
    }
    let mut guard = t.lock();
    let state = &mut *guard;
    state.check_whole(comm)?;
    let mut running = kept::find(state, comm)?.spare(coll, comm);
    match running.set_up(state, coll, mode.start(), fill) {
        Ok(start) => {
            let kept = kept::find(state, comm)?;
            let area = matches!(mode, Mode::Blocking) && kept.is_area_due();
            let direct = match mode {
                Mode::Persistent(_) => kept.direct.is_none() && running.may_share(state)?,
                _ => blocking && running.wants_vote(kept),
            };
            let online = start == Start::Blocking && state.params.tuned.online;
            Ok(Ready { running, start, area, direct, online })
        }
        Err(error) => {
            keep(state, running);
            Err(error)
        }
    }
}

/// Starts a call and sees to its completion by `mode`. `planned`: what rounds of a persistent one would do on the fast path.
pub(super) fn go(
    t: &mut Token,
    mode: Mode<'_>,
    mut running: Box<Running>,
    planned: Option<Planned>,
) -> Result<()> {
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
            running.hold(Some(held.clone()));
            running.set_copies(copies::take(request));
            let rounds = planned.and_then(|planned| planned.rounds(&mut running, held.clone()));
            *request = match rounds {
                Some(rounds) => state.add_request(rounds)?,
                None => state.add_request(Persistent::new(running, held))?,
            };
            Ok(())
        }
    }
}

/// Advances a blocking call to its end.
fn complete(t: &mut Token, mut running: Box<Running>) -> Result<()> {
    advance_to_end(t, &mut running);
    let result = running.result();
    let mut state = t.lock();
    if let Ok(kept) = kept::find(&mut state, running.comm()) {
        running.report_attempt(&mut kept.online);
    }
    keep(&mut state, running);
    result
}

/// Waits for the nonblocking collective of a request as a blocking call does, and drops it. `None`: it is over, or waits
/// for its turn or for a reduction of the program.
fn finish(t: &mut Token, key: u32) -> Option<(Done, Fate)> {
    let (owner, running) = {
        let mut state = t.lock();
        state.requests.get_as::<Running>(key).filter(|running| running.is_under_way())?;
        let running = state.requests.remove_as::<Running>(key)?;
        (running.comm(), running)
    };
    let result = complete(t, running);
    Some((done(owner, result), Fate::Removed))
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

/// Logs a call that is about to begin, where its peers can read it.
fn log(state: &State, comm: &Comm, number: i32, statement: Statement) -> Option<Logged> {
    // Calls in a borrowed context have no numbers of their own there.
    if kept::at(&state.tables, comm.slot).is_some_and(CollState::is_apart) {
        return None;
    }
    Some(statement.log(state.node.as_deref()?, comm.context, number))
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

    fn lacks(&self, state: &State) -> Option<Part> {
        (!self.is_complete()).then(|| self.part(state))
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
