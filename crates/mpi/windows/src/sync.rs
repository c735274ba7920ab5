//! Fences, general active target synchronisation and flushes (MPI-5.0 sections 12.5.1, 12.5.2 and 12.5.4).

use abi::{Error, Result};
use engine::P2p;
use observe::{Kind, Need};
use osc::Exposure;

use super::fast::order;
use super::{WINDOWS, Window, await_living, check_assert, far};
use objects::domain::Token;
use objects::group::Group;
use objects::state::State;
use objects::wait::{make_progress, poll};

/// Windows of more ranks than this have a table made to find the ranks of a group.
const FEW: usize = 64;

/// `MPI_Win_fence`. Whatever the assertion, all processes meet: an operation that follows may not come before its
/// target's fence.
pub fn fence(t: &mut Token, assert: i32, win: abi::Win) -> Result<()> {
    check_assert(assert, abi::MODE_NOSTORE | abi::MODE_NOPUT | abi::MODE_NOPRECEDE | abi::MODE_NOSUCCEED)?;
    WINDOWS.get_mut(&mut t.lock().tables).get_mut(win)?.epochs.fence(assert & abi::MODE_NOSUCCEED == 0)?;
    meet(t, win)?
}

/// Waits for all processes of a window, and for the operations of this one; what has become of these. A process whose
/// operations have failed meets the others all the same, since they wait for it.
pub(super) fn meet(t: &mut Token, win: abi::Win) -> Result<Result<()>> {
    let by_messages = {
        let state = t.lock();
        let window = WINDOWS.get(&state.tables).get(win)?;
        window.far.is_some().then_some(window.comm)
    };
    if let Some(comm) = by_messages {
        order();
        let flushed = far::flush(t, win, None);
        return collectives::barrier(t, collectives::Mode::Own, comm).map(|()| flushed);
    }
    let (control, goal) = {
        let state = t.lock();
        let window = WINDOWS.get(&state.tables).get(win)?;
        let (goal, last) = window.control.view().arrive();
        if last {
            node::ring_each(window.doorbells.iter().flatten().copied());
            return Ok(Ok(()));
        }
        (window.control.clone(), goal)
    };
    let met = |_: &mut Window, _: &mut P2p| control.view().is_open(goal).then_some(Ok(()));
    // A process that has entered is there until all have.
    let why = |state: &State, window: &Window| {
        window.awaits(state, (Kind::Collective, Need::All), 0..window.ranks() as u32, Some(goal as u32))
    };
    await_living(t, win, why, met, |window, _| if window.has_any_ended() { Err(ENDED) } else { Ok(()) })?;
    Ok(Ok(()))
}

/// The error where processes of a window wait for one that does not come any more.
pub(super) const ENDED: Error =
    Error::new(abi::ERR_PROC_ABORTED, "a process of the window has ended that the call waits for");

impl Window {
    /// The ranks of the processes of `group`, in [`Window::spare_ranks`], which the caller gives back.
    ///
    /// # Errors
    /// `MPI_ERR_GROUP` if one is not of the window.
    fn ranks_of(&mut self, group: &Group) -> Result<Vec<u32>> {
        const STRANGER: Error =
            Error::new(abi::ERR_GROUP, "the group has a process that is not of the window");
        let mut ranks = std::mem::take(&mut self.spare_ranks);
        ranks.clear();
        let members = self.group.members();
        if members.len() <= FEW || group.size() <= 1 {
            for peer in group.members() {
                ranks.push(members.iter().position(|member| member == peer).ok_or(STRANGER)? as u32);
            }
            return Ok(ranks);
        }
        let index = self.group.index();
        for peer in group.members() {
            ranks.push(*index.get(peer).ok_or(STRANGER)? as u32);
        }
        Ok(ranks)
    }
}

/// `MPI_Win_post`
pub fn post(t: &mut Token, group: abi::Group, assert: i32, win: abi::Win) -> Result<()> {
    check_assert(assert, abi::MODE_NOCHECK | abi::MODE_NOSTORE | abi::MODE_NOPUT)?;
    let mut state = t.lock();
    let group = state.groups.get(group)?;
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
    let ranks = window.ranks_of(&group)?;
    window.epochs.post()?;
    window.exposed_to.clone_from(&ranks);
    let near: Vec<u32> = window.near_of(&ranks).collect();
    for origin in near {
        window.exposure.post(window.control.view(), origin, window.local);
        window.ring(origin);
    }
    let far = window.far_of(&ranks);
    window.spare_ranks = ranks;
    if let Some(known) = &mut window.far {
        far.iter().for_each(|&rank| known.exposed[rank as usize] += 1);
    }
    drop(state);
    // All of them, even if one is lost.
    far.into_iter().map(|rank| far::tell(t, win, rank, far::POST)).fold(Ok(()), Result::and)
}

/// `MPI_Win_start`: waits for the posts, unless the program promises that they were called.
pub fn start(t: &mut Token, group: abi::Group, assert: i32, win: abi::Win) -> Result<()> {
    check_assert(assert, abi::MODE_NOCHECK)?;
    let ranks = {
        let mut state = t.lock();
        let group = state.groups.get(group)?;
        let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
        let ranks = window.ranks_of(&group)?;
        window.epochs.may_start()?;
        window.exposure.start(&ranks);
        if assert & abi::MODE_NOCHECK != 0 || window.is_posted(&ranks) {
            window.epochs.start(ranks);
            return Ok(());
        }
        ranks
    };
    let survives = t.lock().failures.survives;
    let posted = |window: &mut Window, _: &mut P2p| window.is_posted(&ranks).then_some(Ok(()));
    let why = |state: &State, window: &Window| {
        let missing = ranks.iter().copied().filter(|&rank| !window.is_posted(&[rank]));
        window.awaits(state, (Kind::Epoch, Need::All), missing, None)
    };
    let started = await_living(t, win, why, posted, |window, p2p| {
        let missing = ranks.iter().copied().filter(|&rank| !window.is_posted(&[rank]));
        window.check_living(missing, survives, p2p)
    });
    let mut state = t.lock();
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
    match started {
        Ok(()) => window.epochs.start(ranks),
        // The posts of the others are for the next start.
        Err(_) => window.exposure.give_up(&ranks),
    }
    started
}

impl Window {
    fn is_posted(&self, ranks: &[u32]) -> bool {
        let view = self.control.view();
        self.exposure.is_posted(ranks, |target| match (self.near(target), &self.far) {
            (Some(near), _) => Exposure::posted(view, self.local, near.local),
            (None, Some(far)) => far.posts[target as usize],
            (None, None) => 0,
        })
    }

    /// The local ranks of those of this node.
    fn near_of(&self, ranks: &[u32]) -> impl Iterator<Item = u32> {
        ranks.iter().filter_map(|&rank| Some(self.near(rank)?.local))
    }

    /// Those of other nodes.
    fn far_of(&self, ranks: &[u32]) -> Vec<u32> {
        ranks.iter().copied().filter(|&rank| self.near(rank).is_none()).collect()
    }

    /// Whether a rank has completed its access to this process, if it had one.
    fn has_completed(&self, rank: u32) -> bool {
        match (self.near(rank), &self.far) {
            (Some(near), _) => self.exposure.has_completed(self.control.view(), near.local, self.local),
            (None, far) => far.as_ref().is_none_or(|far| far.exposed[rank as usize] == 0),
        }
    }

    /// The ranks that still have to complete their access.
    fn accessing(&self) -> impl Iterator<Item = u32> {
        self.exposed_to.iter().copied().filter(|&rank| !self.has_completed(rank))
    }

    /// Whether those that live may have left the window, since one of its processes has ended and the job goes on (`survives`).
    pub(super) fn is_given_up(&self, survives: bool) -> bool {
        survives && self.has_any_ended()
    }

    /// For a call that waits for these ranks. The end of those with which there is no connection is looked for, too.
    ///
    /// # Errors
    /// One of them has ended. In a job that goes on (`survives`), any of the window: those that live may have left it since.
    fn check_living(&self, ranks: impl Iterator<Item = u32>, survives: bool, p2p: &mut P2p) -> Result<()> {
        if self.is_given_up(survives) {
            return Err(ENDED);
        }
        for rank in ranks {
            if self.has_ended(rank) {
                return Err(ENDED);
            }
            p2p.await_once(self.peer(rank));
        }
        Ok(())
    }

    /// Ends the exposure epoch if all origins have completed their accesses; whether they have.
    pub(super) fn end_exposure(&mut self) -> bool {
        let complete = self.accessing().next().is_none();
        if complete {
            self.epochs.waited();
        }
        complete
    }
}

/// `MPI_Win_complete`
pub fn complete(t: &mut Token, win: abi::Win) -> Result<()> {
    let mut state = t.lock();
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
    let ranks = window.epochs.complete()?;
    order();
    for target in window.near_of(&ranks) {
        Exposure::complete(window.control.view(), window.local, target);
        window.ring(target);
    }
    let far = window.far_of(&ranks);
    window.spare_ranks = ranks;
    drop(state);
    // All of them, even if operations have failed: they wait.
    let tell = |rank| {
        let flushed = far::flush(t, win, Some(rank));
        far::tell(t, win, rank, far::COMPLETE).and(flushed)
    };
    far.into_iter().map(tell).fold(Ok(()), Result::and)
}

/// `MPI_Win_wait`
pub fn wait(t: &mut Token, win: abi::Win) -> Result<()> {
    if ends_exposure(t, win)? {
        return Ok(());
    }
    let ended = |window: &mut Window, _: &mut P2p| window.end_exposure().then_some(Ok(()));
    let why = |state: &State, window: &Window| {
        window.awaits(state, (Kind::Epoch, Need::All), window.accessing(), None)
    };
    let survives = t.lock().failures.survives;
    let waited = await_living(t, win, why, ended, |window, p2p| {
        window.check_living(window.accessing(), survives, p2p)
    });
    if waited.is_err() {
        give_exposure_up(t, win);
    }
    waited
}

/// The exposure epoch of a window that has lost a process is over, whether the others have completed their accesses or not.
fn give_exposure_up(t: &mut Token, win: abi::Win) {
    if let Ok(window) = WINDOWS.get_mut(&mut t.lock().tables).get_mut(win) {
        window.epochs.waited();
    }
}

/// `MPI_Win_test`
pub fn test(t: &mut Token, win: abi::Win, flag: &mut i32) -> Result<()> {
    let mut found = ends_exposure(t, win)?;
    if !found {
        poll(t);
        found = ends_exposure(t, win)?;
    }
    if !found {
        let checked = check_now_and_then(&mut t.lock(), win)?;
        if checked.is_err() {
            // What it has completed before counts.
            found = ends_exposure(t, win)?;
            if !found {
                give_exposure_up(t, win);
                return checked;
            }
        }
    }
    *flag = i32::from(found);
    Ok(())
}

/// What `MPI_Win_wait` looks for, in some of the calls that find the epoch open: it takes a system call for each process.
fn check_now_and_then(state: &mut State, win: abi::Win) -> Result<Result<()>> {
    const CALLS: u32 = 64;
    let survives = state.failures.survives;
    let State { tables, p2p, .. } = state;
    let window = WINDOWS.get_mut(tables).get_mut(win)?;
    window.fruitless = (window.fruitless + 1) % CALLS;
    Ok(if window.fruitless == 0 { window.check_living(window.accessing(), survives, p2p) } else { Ok(()) })
}

/// Whether an exposure epoch is open and now over.
///
/// # Errors
/// `MPI_ERR_WIN`, and `MPI_ERR_RMA_SYNC` if none is open.
fn ends_exposure(t: &mut Token, win: abi::Win) -> Result<bool> {
    let mut state = t.lock();
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
    window.epochs.may_wait()?;
    Ok(window.end_exposure())
}

/// `MPI_Win_flush`: on a node, operations are done when their call returns, so that only their order is left.
pub fn flush(t: &mut Token, rank: i32, win: abi::Win) -> Result<()> {
    let state = t.lock();
    let window = WINDOWS.get(&state.tables).get(win)?;
    if rank == abi::PROC_NULL {
        return Ok(());
    }
    let target = window.check_rank(rank)?;
    window.epochs.passive(target)?;
    drop(state);
    await_operations(t, win, Some(target))
}

/// Waits until operations on a rank, or on all, are done.
pub(super) fn await_operations(t: &mut Token, win: abi::Win, rank: Option<u32>) -> Result<()> {
    order();
    let mut guard = t.lock();
    let State { tables, p2p, .. } = &mut *guard;
    let window = WINDOWS.get_mut(tables).get_mut(win)?;
    if window.far.is_some() && rank.is_none_or(|rank| window.near(rank).is_none()) {
        if let Some(outcome) = window.flush(&mut p2p.bml, rank) {
            return outcome;
        }
        drop(guard);
        return far::flush(t, win, rank);
    }
    // A process that has only read may be waiting for another one, which may need its core. One that has written is
    // at work: it would lose a whole time slice to a neighbour that computes.
    let (progresses, has_stored) = (window.flushes_to_progress(), std::mem::take(&mut window.stored));
    let has_written = has_stored || progresses && std::mem::take(&mut window.changed);
    drop(guard);
    match (progresses, has_written) {
        (true, true) => make_progress(t),
        (true, false) => poll(t),
        (false, _) => {}
    }
    Ok(())
}

/// `MPI_Win_flush_all`
pub fn flush_all(t: &mut Token, win: abi::Win) -> Result<()> {
    WINDOWS.get(&t.lock().tables).get(win)?.epochs.any_passive()?;
    await_operations(t, win, None)
}

/// `MPI_Win_flush_local`
pub fn flush_local(t: &mut Token, rank: i32, win: abi::Win) -> Result<()> {
    flush(t, rank, win)
}

/// `MPI_Win_flush_local_all`
pub fn flush_local_all(t: &mut Token, win: abi::Win) -> Result<()> {
    flush_all(t, win)
}

/// `MPI_Win_sync`: loads and stores before it come before those after it.
pub fn sync(t: &mut Token, win: abi::Win) -> Result<()> {
    WINDOWS.get(&t.lock().tables).get(win)?;
    order();
    Ok(())
}
