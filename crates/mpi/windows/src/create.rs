//! Making and freeing windows (MPI-5.0 section 12.2).
//!
//! ```text
//!   agree on a context id (it is in the handle, too) ─► exchange sizes, units, addresses and errors
//!     ─► map memory that the program has from MPI_Alloc_mem, if some have used that (lent.rs)
//!     ─► the first rank of each node makes its segment: shared words | memory of the window, if the library makes it
//!     ─► the others of the node map it ─► all could?
//! ```
//! A process that cannot go on reports that in the next exchange, so that all processes get an error and none waits.

use std::sync::Arc;

use abi::{Address, Aint, Error, Result};
use btl::Peer;
use node::{SegmentTicket, SharedSegment, TakeError};
use osc::{Announced, Control, Cost, Epochs, Exposure, Regions, Shape};

use super::addresses::Addresses;
use super::far::Far;
use super::lent::{self, Lent};
use super::network::Network;
use super::remote::{self, OFFER};
use super::serve::{self, prepare_grants};
use super::{ELSEWHERE, Facts, RankMemory, WINDOWS, Window, far, hints, locks, sync};
use collectives::gather_words;
use communicators::{free_inner, inner};
use objects::attr::{Attributes, delete_all};
use objects::domain::Token;
use objects::errhandler::Handler;
use objects::group::Group;
use objects::handle::{self, Kind};
use objects::state::State;

/// What a process brings to a new window.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub flavor: i32,
    pub size: Aint,
    unit: i64,
    /// The program's memory, where it has some.
    pub base: usize,
}

/// What each process announces to the others, in words.
const SAID: usize = 6;

/// Alignment in bytes of a rank's memory where it need not follow that of the rank before.
const ALIGNMENT: u64 = hints::ALIGNMENT_OF_PARTS;

/// `MPI_Win_create`, `MPI_Win_create_c`
pub fn create(
    t: &mut Token,
    base: Address,
    size: Aint,
    unit: i64,
    info: abi::Info,
    comm: abi::Comm,
    win: &mut abi::Win,
) -> Result<()> {
    let part = Part { flavor: abi::WIN_FLAVOR_CREATE, size, unit, base: base.0 };
    make(t, part, info, comm, win).map(drop)
}

/// `MPI_Win_allocate`, `MPI_Win_allocate_shared` and their `_c` forms.
pub fn allocate(
    t: &mut Token,
    flavor: i32,
    size: Aint,
    unit: i64,
    info: abi::Info,
    comm: abi::Comm,
    base: &mut Address,
    win: &mut abi::Win,
) -> Result<()> {
    *base = make(t, Part { flavor, size, unit, base: 0 }, info, comm, win)?;
    Ok(())
}

/// `MPI_Win_create_dynamic`
pub fn create_dynamic(t: &mut Token, info: abi::Info, comm: abi::Comm, win: &mut abi::Win) -> Result<()> {
    let part = Part { flavor: abi::WIN_FLAVOR_DYNAMIC, size: 0, unit: 1, base: 0 };
    make(t, part, info, comm, win).map(drop)
}

/// Makes a window with the other processes of `comm`; the address of this process's memory.
fn make(t: &mut Token, part: Part, info: abi::Info, comm: abi::Comm, win: &mut abi::Win) -> Result<Address> {
    if t.lock().comm(comm)?.is_inter() {
        return Err(Error::new(abi::ERR_COMM, "the communicator is an inter-communicator"));
    }
    let (inner, id) = inner(t, comm)?;
    let made = agree(t, part, info, comm, inner).map(|mut window| {
        if let Some(far) = &mut window.far {
            // Without the thread, others wait until this process calls MPI.
            far.helped = hints::locks_are_used(&window.info) && engine::need_progress(t).is_ok();
        }
        let handle = abi::Win(handle::make(Kind::Win, id));
        let base = Address(window.facts.base);
        let mut state = t.lock();
        state.errhandlers.acquire(window.errhandler);
        WINDOWS.get_mut(&mut state.tables).add(id, window);
        *win = handle;
        base
    });
    let Ok(base) = made else {
        free_inner(t, inner);
        return made;
    };
    if WINDOWS.get(&t.lock().tables).get(*win)?.far.is_some() {
        // No process sends messages about the window before all have it.
        collectives::barrier(t, collectives::Mode::Own, comm)?;
    }
    Ok(base)
}

/// All that the processes must exchange, and the window that comes of it.
fn agree(t: &mut Token, part: Part, info: abi::Info, comm: abi::Comm, inner: abi::Comm) -> Result<Window> {
    let given = t.lock().infos.hints(info);
    let checked = given.as_ref().map_err(|&error| error).and_then(|_| check(part));
    let checked = checked.and_then(|()| prepare_grants(&mut t.lock()));
    let given = given.unwrap_or_default();
    let class = checked.map_or_else(|error| error.class, |()| abi::SUCCESS);
    let room = WINDOWS.get_mut(&mut t.lock().tables).addresses.room();
    let lends = if class == abi::SUCCESS && lent::can_lend(t, &part) { hints::LENDS } else { 0 };
    let said = [
        class as u64,
        part.size as u64,
        part.unit as u64,
        part.base as u64,
        hints::flags(&given) | lends,
        room as u64,
    ];
    let all = gather_words(t, comm, &said)?;
    checked?;
    let all: Vec<&[u64]> = all.chunks(SAID).collect();
    if all.iter().any(|said| said[0] != abi::SUCCESS as u64) {
        return Err(Error::new(abi::ERR_OTHER, "another process gave wrong arguments for the window"));
    }
    let (group, rank) = {
        let state = t.lock();
        let comm = state.comm(comm)?;
        (comm.group.clone(), comm.rank)
    };
    let mut near = near(&t.lock(), &group, part.flavor)?;
    let mut layout = Layout::of(part.flavor, &all, &near);
    let lent = if all.iter().any(|said| said[4] & hints::LENDS != 0) {
        lent::exchange(t, comm, &part, &group, |rank| all[rank as usize][1], &near)?
    } else {
        Lent::default()
    };
    let sizes = all.iter().map(|said| said[1]);
    let wish = Addresses::agreed(all[0][5], sizes).filter(|_| part.flavor == abi::WIN_FLAVOR_ALLOCATE);
    if let (Some(wish), 0) = (&wish, rank) {
        WINDOWS.get_mut(&mut t.lock().tables).addresses.take(wish);
    }
    let wish = wish.map(|wish| wish.address);
    let mut lent = lent;
    let (control, targets, network) = match share(t, comm, part, &group, &all, &near, &layout, &lent, wish) {
        Err(UNSHARED) if part.flavor != abi::WIN_FLAVOR_SHARED => {
            // All know that one may not; from here on each rank is a node of its own, which others reach by messages.
            (near, lent) = (vec![rank], Lent::default());
            layout = Layout::of(part.flavor, &all, &near);
            share(t, comm, part, &group, &all, &near, &layout, &lent, wish)?
        }
        shared => shared?,
    };
    let far = targets.iter().any(|target| target.local().is_none());
    let far = far.then(|| Far::new(all.len(), network));
    let (node, doorbells) = {
        let state = t.lock();
        (state.node.clone(), doorbells(&state, &group, &near))
    };
    let own = targets[rank as usize];
    let facts = Facts {
        base: own.base,
        size: part.size,
        disp_unit: i32::try_from(part.unit).unwrap_or(abi::UNDEFINED),
        flavor: part.flavor,
        model: abi::WIN_UNIFIED,
        alignment: layout.alignment(|local| all[near[local] as usize][1] > 0),
    };
    let mut info = hints::known(&given, facts.alignment);
    if part.flavor == abi::WIN_FLAVOR_SHARED {
        hints::set_noncontiguous(&mut info, layout.apart);
    }
    let regions = if part.flavor == abi::WIN_FLAVOR_DYNAMIC { all.len() } else { 0 };
    Ok(Window {
        comm: inner,
        rank,
        local: own.local().unwrap_or(0),
        facts: Box::new(facts),
        node,
        control: Arc::new(control),
        doorbells,
        far,
        epochs: Epochs::default(),
        exposure: Exposure::new(all.len()),
        spare_ranks: Vec::new(),
        exposed_to: Vec::new(),
        fruitless: 0,
        reported_ends: 0,
        flushes: 0,
        stored: false,
        changed: false,
        cost: Cost::default(),
        combiner: None,
        traffic: Vec::new(),
        announced: Announced::default(),
        regions: (0..regions).map(|_| Regions::default()).collect(),
        targets,
        lent: lent.segments,
        group,
        errhandler: Handler::Fatal,
        attributes: Attributes::default(),
        name: String::new(),
        info,
    })
}

/// What is wrong with a process's own arguments.
fn check(part: Part) -> Result<()> {
    if part.size < 0 {
        return Err(Error::new(abi::ERR_SIZE, "the size of the window is negative"));
    }
    if part.unit <= 0 {
        return Err(Error::new(abi::ERR_DISP, "the displacement unit is not positive"));
    }
    if part.base == 0 && part.size > 0 && part.flavor == abi::WIN_FLAVOR_CREATE {
        return Err(Error::new(abi::ERR_BASE, "the window has a size and its memory is NULL"));
    }
    Ok(())
}

/// Where the memory of each rank of this node is in its segment, behind the shared words.
struct Layout {
    /// By local rank.
    offsets: Vec<u64>,
    bytes: u64,
    /// Whether the segment holds it at all.
    mapped: bool,
    /// Whether that of each rank begins on a page.
    apart: bool,
}

impl Layout {
    /// `all`: what each rank announced; `near`: the ranks of this node.
    fn of(flavor: i32, all: &[&[u64]], near: &[u32]) -> Layout {
        let mapped = matches!(flavor, abi::WIN_FLAVOR_ALLOCATE | abi::WIN_FLAVOR_SHARED);
        if !mapped {
            return Layout { offsets: Vec::new(), bytes: 0, mapped, apart: false };
        }
        // Contiguous memory is the default for shared windows (MPI-5.0 section 12.2.3).
        let apart = flavor == abi::WIN_FLAVOR_ALLOCATE || all[0][4] & hints::NONCONTIGUOUS != 0;
        let (mut offsets, mut end) = (Vec::with_capacity(near.len()), 0u64);
        for &rank in near {
            if apart {
                end = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
            }
            offsets.push(end);
            end = end.saturating_add(all[rank as usize][1]);
        }
        Layout { offsets, bytes: end, mapped, apart }
    }

    /// The alignment in bytes of all ranks' memory, of those with some; `None`: it is the program's. A segment begins on
    /// a page.
    fn alignment(&self, has_some: impl Fn(usize) -> bool) -> Option<u64> {
        let places = self.offsets.iter().enumerate().filter(|&(local, _)| has_some(local));
        let all = places.fold(ALIGNMENT, |all, (_, &offset)| all | offset);
        self.mapped.then(|| 1 << all.trailing_zeros())
    }

    /// Where in a segment the memory of a local rank begins.
    fn offset(&self, shape: Shape, local: usize) -> usize {
        Control::bytes(shape) + self.offsets.get(local).copied().unwrap_or(0) as usize
    }
}

const NO_MEMORY: Error =
    Error::new(abi::ERR_NO_MEM, "the system has no memory of this size that processes share");

const UNSHARED: Error = Error::new(
    abi::ERR_RMA_SHARED,
    "a process may not open the memory that another one of its node has made: the two are of different users or \
     namespaces, or of a program that may not be read",
);

/// What a process announces of its part of a segment: these bits. 0: it has none, for want of memory.
const SHARES: u64 = 1;
/// It can read and write the memory of all others of its node.
const REACHES: u64 = 2;
/// It maps all that others of its node lend.
const MAPS: u64 = 4;
/// It may not map the segment of its node.
const MAY_NOT: u64 = 8;

/// Words of that: the vote, the address of its memory, and what it offers the network.
const VOTE: usize = 2 + OFFER;

/// Has the first rank of each node make the segment of a window there and the others map it; and where the memory of
/// all ranks is. `wish`: where the memory of each rank should be in its own process.
fn share(
    t: &mut Token,
    comm: abi::Comm,
    part: Part,
    group: &Group,
    all: &[&[u64]],
    near: &[u32],
    layout: &Layout,
    lent: &Lent,
    wish: Option<usize>,
) -> Result<(Control, Box<[RankMemory]>, Network)> {
    let (me, shape) = (group.rank.unwrap_or(0), Shape::all(near.len()));
    let local = near.iter().position(|&rank| rank == me).unwrap_or(0);
    let wish = wish.map_or(0, |wish| wish.saturating_sub(layout.offset(shape, local)));
    let made = (local == 0).then(|| {
        let bytes = (Control::bytes(shape) as u64).saturating_add(layout.bytes);
        let bytes = usize::try_from(bytes).ok()?;
        match t.lock().node.clone().filter(|_| near.len() > 1) {
            Some(node) => node.create_segment(bytes, wish).ok(),
            None => SharedSegment::create_near(bytes, wish).ok(),
        }
    });
    let ticket = made.as_ref().and_then(Option::as_ref).and_then(SharedSegment::ticket);
    let tickets = match near.len() {
        1 if all.len() == 1 => Vec::new(),
        _ => gather_words(t, comm, &ticket.map_or([0; 4], |ticket| ticket.words()))?,
    };
    let mut may_not = false;
    let segment = made.unwrap_or_else(|| {
        let state = t.lock();
        let first = near[0] as usize;
        let words = tickets.get(4 * first..)?.first_chunk()?;
        let (ticket, node) = (SegmentTicket::from_words(*words)?, state.node.as_ref()?);
        let mapped = node.map_segment_near(Peer(group.members()[first]), &ticket, wish);
        may_not = mapped.as_ref().is_err_and(|error| !matches!(error, TakeError::Unmapped(_)));
        mapped.ok()
    });
    let control = segment.and_then(|segment| Control::new(segment, shape));
    let control = control.filter(|control| control.memory().1 as u64 >= layout.bytes);
    let memory = control.as_ref().map(|control| control.memory().0);
    // No other rank of the node combines in this memory of the program, so it is treated as mapped.
    let is_sole = near.len() == 1 && part.flavor == abi::WIN_FLAVOR_CREATE;
    let own = if layout.mapped {
        memory.map_or(0, |base| base + layout.offsets[local] as usize)
    } else {
        part.base
    };
    let (offer, registered) = {
        let members = (0..).zip(group.members());
        let far = members.filter(|(rank, _)| near.binary_search(rank).is_err()).map(|(_, &peer)| Peer(peer));
        let size = if control.is_some() { part.size as usize } else { 0 };
        remote::offer(&mut t.lock(), far, (own, size), layout.mapped || is_sole).unzip()
    };
    let offer = offer.unwrap_or_default();
    // Where the network changes elements, no rank of the node combines them by loops.
    if let (Some(control), false) = (&control, remote::offers_atomics(&offer))
        && platform::membarrier::register()
    {
        control.view().set_ready(local as u32);
    }
    let reached = layout.mapped || reaches_all(&t.lock(), group, near);
    let bit = |set: bool, bit: u64| if set { bit } else { 0 };
    let vote = bit(reached, REACHES) | bit(lent.is_mapped, MAPS);
    let vote = if control.is_some() { SHARES | vote } else { bit(may_not, MAY_NOT) };
    let said = [&[vote, own as u64][..], &offer].concat();
    let gathered = if all.len() == 1 { Ok(said) } else { gather_words(t, comm, &said) };
    let made = gathered.and_then(|votes| {
        let any = |is: fn(u64) -> bool| votes.chunks(VOTE).any(|vote| is(vote[0]));
        if any(|vote| vote & MAY_NOT != 0) {
            return Err(UNSHARED);
        }
        let failed = any(|vote| vote & SHARES == 0);
        control.filter(|_| !failed).map(|control| (control, votes)).ok_or(NO_MEMORY)
    });
    let (mut control, votes) = made.inspect_err(|_| {
        if let Some(registered) = registered {
            registered.withdraw(&mut t.lock().p2p.bml);
        }
    })?;
    let votes: Vec<&[u64]> = votes.chunks(VOTE).collect();
    control.withdraw();
    let all_near = |bit: u64| near.iter().all(|&rank| votes[rank as usize][0] & bit != 0);
    // One location is combined in one way by all.
    let maps = all_near(MAPS);
    let is_mapped = |local: usize| layout.mapped || is_sole || maps && lent.address(local).is_some();
    let needs_no_other = |(local, &rank): (usize, &u32)| is_mapped(local) || all[rank as usize][1] == 0;
    let alone = !all_near(REACHES)
        && (part.flavor == abi::WIN_FLAVOR_DYNAMIC || !near.iter().enumerate().all(needs_no_other));
    let target = |(said, vote): (&&[u64], &&[u64])| RankMemory {
        base: vote[1] as usize,
        size: said[1],
        unit: said[2],
        local: ELSEWHERE,
        mapped: false,
    };
    let mut targets: Box<[RankMemory]> = all.iter().zip(&votes).map(target).collect();
    for (local, &rank) in near.iter().enumerate().filter(|&(_, &rank)| !alone || rank == me) {
        let target = &mut targets[rank as usize];
        (target.local, target.mapped) = (local as u32, is_mapped(local));
        if layout.mapped {
            target.base = control.memory().0 + layout.offsets[local] as usize;
        } else if let (true, Some(address)) = (target.mapped, lent.address(local)) {
            target.base = address;
        }
    }
    let offers = targets.iter().zip(&votes).zip(group.members());
    let offers = offers.map(|((target, vote), &peer)| {
        target.local().is_none().then_some((Peer(peer), target.base, &vote[VOTE - OFFER..]))
    });
    let network = Network::new(&t.lock().p2p.bml, registered, offers);
    Ok((control, targets, network))
}

/// The ranks of `group` whose processes share memory with this one, which is among them.
///
/// # Errors
/// `MPI_ERR_RMA_SHARED` for a shared window if these are not all.
fn near(state: &State, group: &Group, flavor: i32) -> Result<Vec<u32>> {
    let (me, shared) = (state.me(), flavor == abi::WIN_FLAVOR_SHARED);
    let node = state.node.as_ref().filter(|_| shared || state.params.osc.shared_memory);
    let is_near = |peer: u32| peer == me || node.is_some_and(|node| node.reaches(Peer(peer)));
    let ranks = (0..).zip(group.members());
    let near: Vec<u32> = ranks.filter(|&(_, &peer)| is_near(peer)).map(|(rank, _)| rank).collect();
    if shared && near.len() != group.size() as usize {
        return Err(Error::new(abi::ERR_RMA_SHARED, "the processes of the communicator do not share memory"));
    }
    Ok(near)
}

/// What each rank of `near` sleeps on.
fn doorbells(state: &State, group: &Group, near: &[u32]) -> Arc<[Option<&'static shm::doorbell::Doorbell>]> {
    let bell = |&rank: &u32| {
        let peer = Peer(group.members()[rank as usize]);
        let node = state.node.as_ref().filter(|node| node.reaches(peer))?;
        Some(node.doorbell_of(peer))
    };
    near.iter().map(bell).collect()
}

/// Whether this process can read and write the memory of all others of `near`.
fn reaches_all(state: &State, group: &Group, near: &[u32]) -> bool {
    let me = state.me();
    let mut others = near.iter().map(|&rank| group.members()[rank as usize]).filter(|&peer| peer != me);
    others.all(|peer| state.node.as_ref().is_some_and(|node| node.can_read(Peer(peer))))
}

/// Ends what this process has begun at others with a window that has lost a process: those that live may wait for it.
fn end_epochs(t: &mut Token, win: abi::Win) {
    let locked: Vec<u32> = match WINDOWS.get(&t.lock().tables).get(win) {
        Ok(window) => window.epochs.locked().collect(),
        Err(_) => return,
    };
    // What has become of the operations is of no matter, and neither is an epoch that is not open.
    locked.into_iter().for_each(|target| _ = locks::unlock(t, target as i32, win));
    _ = locks::unlock_all(t, win);
    _ = sync::complete(t, win);
}

/// `MPI_Win_free`: the attributes' callbacks run first; then all processes meet, unless they promised not to lock.
pub fn free(t: &mut Token, win: &mut abi::Win) -> Result<()> {
    let is_whole = {
        let state = t.lock();
        let window = WINDOWS.get(&state.tables).get(*win)?;
        let is_whole = state.check_whole(window.comm).is_ok() && !window.is_given_up(state.failures.survives);
        if is_whole {
            window.epochs.may_free()?;
        }
        is_whole
    };
    if !is_whole {
        end_epochs(t, *win);
    }
    delete_all(t, super::attr::Win(*win))?;
    // Operations that have failed were reported where their epoch ended. In a job that goes on a window is freed although a process has
    // failed.
    let met = sync::meet(t, *win).map(drop);
    if !t.lock().failures.survives {
        met?;
    }
    let mut state = t.lock();
    let Some(mut window) = WINDOWS.get_mut(&mut state.tables).remove(*win) else { return Ok(()) };
    serve::leave(&mut state, far::number(*win), &mut window);
    state.errhandlers.release(window.errhandler);
    // Those that live need not have come, as they may not have the window at all, and may still access it.
    let may_be_used = met.is_err();
    if may_be_used {
        // Its id is not used again: it is in their messages.
        state.revoke(window.comm);
    }
    let is_own = matches!(window.facts.flavor, abi::WIN_FLAVOR_ALLOCATE | abi::WIN_FLAVOR_SHARED);
    if let Some(far) = window.far.as_ref().filter(|_| !(may_be_used && is_own)) {
        far.network.close(&mut state.p2p.bml);
    }
    drop(state);
    if window.far.as_ref().is_some_and(|far| far.helped) {
        engine::release_progress(t);
    }
    free_inner(t, window.comm);
    if may_be_used {
        // Neither is its memory.
        std::mem::forget(window);
    }
    *win = abi::WIN_NULL;
    Ok(())
}
