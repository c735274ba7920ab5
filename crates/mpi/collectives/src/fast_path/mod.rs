//! Small collectives of processes that share an area, on a fast path: no schedule, no call object.
//!
//! What runs is [`coll::exchange`], over the area of the communicator ([`super::slots`]). It serves where the table
//! chooses an algorithm whose row names a [`coll::exchange::Meeting`] ([`reach`]) and the data is plain: predefined
//! types and operations, right arguments. This module makes plans of arguments, and sees to waiting, checks and
//! requests. All else goes through the schedules of the same rows, and the two may meet in one call.

mod blocks;
mod calls;
mod irregular;
mod later;
mod neighbour;
mod reach;
mod rounds;
mod ways;

use abi::{Error, Result};
use coll::Coll;
use coll::algorithms::registry::AlgorithmId;
use coll::exchange::{Participant, Places};
use coll::tuned::Level;
use observe::Part;

use super::check::{LogReads, Logged, Statement, disagreement};
use super::kept;
use super::reaches::Reach;
use super::run::Missing;
use super::slots::OfNode;
use super::state::CollState;
use super::turns::{return_at, return_to};
use blocks::Blocks;
use node::NodeArea;
use objects::comm::Slot;
use objects::domain::Token;
use objects::state::State;
use objects::wait::wait_actively_seen;
use std::cell::Cell;
use std::time::Duration;

pub(super) use calls::*;
pub(super) use irregular::*;
pub(super) use later::Later;
pub(super) use neighbour::*;
pub(super) use rounds::{Planned, take_planned};

/// How often to poll before anything else is polled, where ranks have cores of their own.
const POLLS: u32 = 64;

type NodePlan<'a> = coll::exchange::ExchangePlan<op::Kernel, &'a Blocks<'a>>;
type Exchange<P> = coll::exchange::Exchange<OfNode<Box<NodeArea>>, P>;

/// A collective on its way.
struct Started<P> {
    exchange: Exchange<P>,
    /// What names the call in all its processes: the context and tag that its messages have where it goes by messages.
    name: (u32, i32),
    logged: Option<Logged>,
}

impl<P: Places> Started<P> {
    /// Polls once; the result, if the call is over.
    fn poll(&mut self, state: &State, comm: abi::Comm, log_reads: &mut LogReads) -> Option<Result<()>> {
        if self.exchange.poll() {
            return Some(self.exchange.result());
        }
        self.failure(state, comm, log_reads).map(Err)
    }

    /// The part of this process in this call of `comm`, with what it lacks.
    fn part(&self, state: &State, comm: abi::Comm) -> Part {
        Missing::part_in(missing_in(&self.exchange), state, comm, self.name)
    }

    /// Why a call that goes on never ends: a member is lost, or is in another call.
    fn failure(&self, state: &State, comm: abi::Comm, log_reads: &mut LogReads) -> Option<Error> {
        state.loss_in(comm, self.exchange.awaited()).or_else(|| {
            let logged = self.logged.as_ref().filter(|_| log_reads.is_due(state))?;
            disagreement(state, comm, logged)
        })
    }
}

/// A call's place in the communicator's sequence.
struct Numbered {
    /// The tag of its messages.
    tag: i32,
    /// What its slots are marked with.
    mark: u16,
    /// How the peers find it.
    logged: Option<Logged>,
}

/// Puts a call in its place in the communicator's sequence, and lets the peers know what it is.
#[inline(always)]
fn number(
    kept: &mut CollState,
    context: u32,
    node: Option<&node::Node>,
    check: Level,
    statement: Statement,
) -> Numbered {
    let mark = if check == Level::Off { 0 } else { statement.digest() };
    let (number, tag) = kept.next_tag(mark);
    let logged = match check {
        Level::Off => None,
        _ => node.map(|node| statement.log(node, context, number)),
    };
    Numbered { tag, mark, logged }
}

/// Runs a collective that `plan` describes, where it can go this way.
#[inline(always)]
fn run<'a>(
    t: &mut Token,
    coll: Coll,
    comm: abi::Comm,
    root: i32,
    plan: impl FnOnce(&mut State, &Site) -> Option<(u64, NodePlan<'a>)>,
) -> Option<Result<()>> {
    begin(t, (coll, comm, root), POLLS, plan, |t, started| complete(t, (comm, ""), started))
}

/// Begins a collective and polls at most so often how it goes; `go_on` does the rest. A call that is over within these
/// polls comes out here, without being moved: that would take longer than the polls.
#[inline(always)]
fn begin<'a>(
    t: &mut Token,
    (coll, comm, root): (Coll, abi::Comm, i32),
    most: u32,
    plan: impl FnOnce(&mut State, &Site) -> Option<(u64, NodePlan<'a>)>,
    go_on: impl FnOnce(&mut Token, Started<&'a Blocks<'a>>) -> Result<()>,
) -> Option<Result<()>> {
    let started = {
        let mut state = t.lock();
        let site = Site::of(&mut state, coll, comm)?;
        let root = u32::try_from(root).ok().filter(|&root| (root as usize) < site.place.members)?;
        let (bytes, plan) = plan(&mut state, &site)?;
        if bytes > site.most {
            return None;
        }
        let State { tables, node, params, algorithms, .. } = &mut *state;
        let kept = kept::at_mut(tables, site.slot)?;
        if bytes == 0 && coll.all_know_bytes() {
            // Its place in the sequence is all that there is of it.
            let statement = Statement::plain(coll, root, bytes);
            number(kept, site.context, node.as_deref(), params.tuned.check, statement);
            return Some(Ok(()));
        }
        let mut area = kept.area.take()?;
        algorithms[coll as usize] = Some(site.algorithm);
        let Numbered { tag, mark, logged } = number(
            kept,
            site.context,
            node.as_deref(),
            params.tuned.check,
            Statement::plain(coll, root, bytes),
        );
        area.set_mark(mark);
        let epoch = if plan.epochs == 1 { area.take_epoch() } else { area.take_epochs(plan.epochs) };
        let mut exchange = Exchange::new(OfNode(area), epoch, plan);
        for _ in 0..polls(&state, most) {
            if exchange.poll() {
                let result = exchange.result();
                return_at(&mut state, site.slot, exchange.into_slots().0);
                return Some(result);
            }
            std::hint::spin_loop();
        }
        Started { exchange, name: (site.context | 1, tag), logged }
    };
    Some(go_on(t, started))
}

/// How often to poll before something else is done, at most `most` times.
#[inline(always)]
fn polls(state: &State, most: u32) -> u32 {
    if state.params.waiting.spin.is_zero() { 1 } else { most }
}

/// Brings a collective of a communicator to its end; the name is that of [`Missing::reason`].
#[inline(never)]
fn complete(
    t: &mut Token,
    (comm, name): (abi::Comm, &'static str),
    started: Started<impl Places>,
) -> Result<()> {
    // Under the lock under which the exchange ended: the thread that is woken by that and waits for the area finds it.
    await_end(t, (comm, name), &mut Some(started), |state, started| {
        let ended = started.take();
        ended.into_iter().for_each(|started| return_to(state, comm, started.exchange.into_slots().0));
    })
}

/// Waits until an exchange has ended; `ended` is called under the lock under which it did.
fn await_end<P: Places>(
    t: &mut Token,
    (comm, by): (abi::Comm, &'static str),
    started: &mut Option<Started<P>>,
    mut ended: impl FnMut(&mut State, &mut Option<Started<P>>),
) -> Result<()> {
    let (polls, hint) = {
        let state = t.lock();
        let shares = state.params.waiting.is_oversubscribed();
        (polls(&state, POLLS), shares.then_some(state.params.tuned.hint).filter(|hint| !hint.is_zero()))
    };
    let mut log_reads = LogReads::default();
    let (missing, name) = (Cell::new(None), started.as_ref().map_or((0, 0), |started| started.name));
    let why = |state: &mut State| Missing::reason(missing.get(), state, (comm, by), name);
    wait_actively_seen(t, why, |state| {
        let under_way = started.as_mut()?;
        let exchange = &mut under_way.exchange;
        let over =
            (0..polls).any(|_| exchange.poll()) || hint.is_some_and(|hint| keep_polling(exchange, hint));
        let result = match over {
            true => exchange.result(),
            false => {
                missing.set(missing_in(exchange));
                Err(under_way.failure(state, comm, &mut log_reads)?)
            }
        };
        if hint.is_some() {
            under_way.exchange.slots().0.go_on();
        }
        ended(state, started);
        Some(result)
    })
}

/// What an exchange waits for; `None`: something of its own, or of members that are not done with the last exchange.
fn missing_in(exchange: &Exchange<impl Places>) -> Option<Missing> {
    let member = exchange.awaited().map(|member| Missing::Member(member as u32));
    member.or_else(|| exchange.awaits_all().map(Missing::Round))
}

/// To be called after a failed poll, where processes share processors: keeps polling for at most `limit`, if this
/// process comes next; whether the exchange came to its end.
fn keep_polling(exchange: &mut Exchange<impl Places>, limit: Duration) -> bool {
    let awaited = exchange.awaited();
    if !exchange.slots().0.may_keep_polling(awaited) {
        return false;
    }
    let found = objects::hint::poll_for(exchange, limit, |_| true, |at| at.poll().then_some(())).is_some();
    exchange.slots().0.kept_polling(found);
    found
}

/// What a call must know of its communicator.
struct Site {
    place: Participant,
    /// The most bytes, as the table counts them, that go this way.
    most: u64,
    /// What the table calls it.
    algorithm: AlgorithmId,
    /// The communicator's context.
    context: u32,
    /// Where it keeps what it needs for its collectives.
    slot: Slot,
}

impl Site {
    #[inline(always)]
    fn of(state: &mut State, coll: Coll, comm: abi::Comm) -> Option<Site> {
        let State { tables, comms, world, params, .. } = state;
        let found = comms.find(comm)?;
        let kept = kept::at_mut(tables, found.slot)?;
        kept.area.as_ref()?;
        // First the processes ask each other if they can read each other's memory.
        kept.direct?;
        let reach = match kept.fast_paths.known(coll) {
            Some(reach) => reach,
            None => reach::learn(found, kept, world.as_ref(), &params.tuned, coll),
        };
        let Reach { most, meeting, algorithm } = reach?;
        let place = Participant { me: found.rank as usize, members: found.size() as usize, meeting };
        Some(Site { place, most, algorithm, context: found.context, slot: found.slot })
    }
}
