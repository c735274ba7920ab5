//! Making and freeing windows (MPI-5.0 section 12.2).
//!
//! ```text
//!   agree on a context id (it is in the handle, too) ─► tell each other of sizes, units, addresses and errors
//!     ─► rank 0 makes the segment: shared words | memory of the window, if the library makes it ─► all map it ─► all could?
//! ```
//! A process that cannot go on says so in the next exchange, so that all processes get an error and none waits.

use std::sync::Arc;

use abi::{Address, Aint, Error, Result};
use btl::Peer;
use node::{Node, SegmentTicket, SharedSegment};
use osc::{Announced, Control, Cost, Epochs, Exposure, Regions, Shape};

use super::far::Far;
use super::{Facts, Target, Window, hints};
use crate::attr::{Attributes, Object, delete_all};
use crate::comm::{free_inner, gather_words, inner, share_words, smallest};
use crate::domain::Token;
use crate::errhandler::Handler;
use crate::group::Group;
use crate::handle::{self, Kind};
use crate::state::State;

/// What a process brings to a new window.
#[derive(Clone, Copy)]
struct Part {
    flavor: i32,
    size: Aint,
    unit: i64,
    /// The program's memory, where it has some.
    base: usize,
}

/// What the processes tell each other, in words.
const SAID: usize = 5;

/// Alignment in bytes of a rank's memory where it need not follow that of the rank before.
const ALIGNMENT: u64 = 4096;

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
        state.windows.add(id, window);
        *win = handle;
        base
    });
    let Ok(base) = made else {
        free_inner(t, inner);
        return made;
    };
    if t.lock().windows.get(*win)?.far.is_some() {
        // Nobody sends messages about the window before all have it.
        crate::coll::barrier(t, crate::coll::Mode::Blocking, comm)?;
    }
    Ok(base)
}

/// All that the processes must tell each other, and the window that comes of it.
fn agree(t: &mut Token, part: Part, info: abi::Info, comm: abi::Comm, inner: abi::Comm) -> Result<Window> {
    let given = t.lock().infos.hints(info);
    let checked = given.as_ref().map_err(|&error| error).and_then(|_| check(part));
    let given = given.unwrap_or_default();
    let class = checked.map_or_else(|error| error.class, |()| abi::SUCCESS);
    let said = [class as u64, part.size as u64, part.unit as u64, part.base as u64, hints::flags(&given)];
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
    let layout = Layout::of(part.flavor, &all);
    let place = t.lock().common_node(&group, part.flavor)?;
    let shared = match &place {
        Some(_) => share(t, comm, &group, &layout)?,
        None => None,
    };
    let far = shared.is_none().then(|| Far::new(all.len(), rank));
    let (control, targets) = match shared {
        Some(control) => {
            let targets = targets(&all, &layout, control.memory().0);
            (control, targets)
        }
        None => apart(t, comm, part, rank, &all)?,
    };
    let (node, doorbells) = place.unwrap_or_else(|| (t.lock().node.clone(), Arc::new([])));
    let own = targets[rank as usize];
    let facts = Facts {
        base: own.base,
        size: part.size,
        disp_unit: part.unit as i32,
        flavor: part.flavor,
        model: abi::WIN_UNIFIED,
    };
    let regions = if part.flavor == abi::WIN_FLAVOR_DYNAMIC { all.len() } else { 0 };
    Ok(Window {
        comm: inner,
        rank,
        facts: Box::new(facts),
        node,
        control: Arc::new(control),
        doorbells,
        mapped: layout.mapped && far.is_none(),
        far,
        epochs: Epochs::default(),
        exposure: Exposure::new(all.len()),
        flushes: 0,
        stored: false,
        cost: Cost::default(),
        sent: Vec::new(),
        unhandled: false,
        announced: Announced::default(),
        regions: (0..regions).map(|_| Regions::default()).collect(),
        targets,
        group,
        errhandler: Handler::Fatal,
        attributes: Attributes::default(),
        name: String::new(),
        info: hints::known(&given),
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

/// Where the memory of each rank is in the segment, behind the shared words.
struct Layout {
    offsets: Vec<u64>,
    bytes: u64,
    /// Whether the segment holds it at all.
    mapped: bool,
}

impl Layout {
    /// `all`: what each rank said.
    fn of(flavor: i32, all: &[&[u64]]) -> Layout {
        let mapped = matches!(flavor, abi::WIN_FLAVOR_ALLOCATE | abi::WIN_FLAVOR_SHARED);
        if !mapped {
            return Layout { offsets: Vec::new(), bytes: 0, mapped };
        }
        // Contiguous memory is the default for shared windows (MPI-5.0 section 12.2.3).
        let apart = flavor == abi::WIN_FLAVOR_ALLOCATE || all[0][4] & hints::NONCONTIGUOUS != 0;
        let (mut offsets, mut end) = (Vec::with_capacity(all.len()), 0u64);
        for said in all {
            if apart {
                end = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
            }
            offsets.push(end);
            end = end.saturating_add(said[1]);
        }
        Layout { offsets, bytes: end, mapped }
    }
}

/// The memory of each rank, where all of it is in a segment behind `memory`, or the program's.
fn targets(all: &[&[u64]], layout: &Layout, memory: usize) -> Box<[Target]> {
    let target = |(rank, said): (usize, &&[u64])| {
        let base = if layout.mapped { memory + layout.offsets[rank] as usize } else { said[3] as usize };
        Target { base, size: said[1], unit: said[2] }
    };
    all.iter().enumerate().map(target).collect()
}

/// What a process of a window has for itself where they do not share memory: words, and its memory if the library makes it. And
/// where the memory of each rank is, in its own process.
fn apart(
    t: &mut Token,
    comm: abi::Comm,
    part: Part,
    rank: u32,
    all: &[&[u64]],
) -> Result<(Control, Box<[Target]>)> {
    let size = if part.flavor == abi::WIN_FLAVOR_ALLOCATE { part.size as usize } else { 0 };
    let shape = Shape::one(all.len(), rank);
    let bytes = Control::bytes(shape).saturating_add(size);
    let control = SharedSegment::create(bytes).ok().and_then(|segment| Control::new(segment, shape));
    let base = match &control {
        Some(control) if part.flavor == abi::WIN_FLAVOR_ALLOCATE => control.memory().0,
        _ => part.base,
    };
    let made = gather_words(t, comm, &[control.is_some().into(), base as u64])?;
    let targets = all.iter().zip(made.chunks(2));
    let targets = targets.map(|(said, made)| Target { base: made[1] as usize, size: said[1], unit: said[2] });
    match control {
        Some(mut control) if made.chunks(2).all(|made| made[0] == 1) => {
            control.withdraw();
            Ok((control, targets.collect()))
        }
        _ => Err(NO_MEMORY),
    }
}

const NO_MEMORY: Error =
    Error::new(abi::ERR_NO_MEM, "the system has no memory of this size that processes share");

/// Has rank 0 make the segment of a window and all others map it. `None`: they share no memory, since the system does not let one
/// reach the program's memory in another.
fn share(t: &mut Token, comm: abi::Comm, group: &Group, layout: &Layout) -> Result<Option<Control>> {
    let ranks = group.size() as usize;
    let made = (group.rank == Some(0)).then(|| {
        let bytes = (Control::bytes(Shape::all(ranks)) as u64).saturating_add(layout.bytes);
        usize::try_from(bytes).ok().and_then(|bytes| SharedSegment::create(bytes).ok())
    });
    let mut words = [0u64; 4];
    let ticket = made.as_ref().and_then(Option::as_ref).and_then(SharedSegment::ticket);
    if let Some(ticket) = ticket {
        words = ticket.words();
    }
    if ranks > 1 {
        share_words(t, comm, 0, &mut words)?;
    }
    let segment = match made {
        Some(made) => made,
        None => {
            let state = t.lock();
            let maker = Peer(group.members()[0]);
            let ticket = SegmentTicket::from_words(words);
            ticket.zip(state.node.as_ref()).and_then(|(ticket, node)| node.map_segment(maker, &ticket).ok())
        }
    };
    let control = segment.and_then(|segment| Control::new(segment, Shape::all(ranks)));
    if let (Some(control), Some(me), true) = (&control, group.rank, platform::membarrier::register()) {
        control.view().set_ready(me);
    }
    let enough = control.as_ref().is_some_and(|control| control.memory().1 as u64 >= layout.bytes);
    let reached = layout.mapped || t.lock().reaches_all(group);
    let vote = if !enough { 0 } else { 1 + u64::from(reached) };
    let least = if ranks > 1 { smallest(t, comm, vote)? } else { vote };
    match (least, control) {
        (2, Some(mut control)) => {
            control.withdraw();
            Ok(Some(control))
        }
        (1, _) => Ok(None),
        _ => Err(NO_MEMORY),
    }
}

/// The processes of a window on one node, and what they sleep on.
type Place = (Option<Arc<Node>>, Arc<[Option<&'static shm::doorbell::Doorbell>]>);

impl State {
    /// What the processes of `group` share; `None`: they are on several nodes, or are to use messages.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SHARED` for a shared window then.
    fn common_node(&self, group: &Group, flavor: i32) -> Result<Option<Place>> {
        if group.size() == 1 {
            return Ok(Some((self.node.clone(), Arc::new([None]))));
        }
        let shared = flavor == abi::WIN_FLAVOR_SHARED;
        let doorbells = if shared || self.params.osc.shared_memory { self.doorbells(group) } else { None };
        if doorbells.is_none() && shared {
            return Err(Error::new(
                abi::ERR_RMA_SHARED,
                "the processes of the communicator do not share memory",
            ));
        }
        Ok(doorbells.map(|doorbells| (self.node.clone(), doorbells)))
    }

    /// What each process of `group` sleeps on, if all are on this node.
    fn doorbells(&self, group: &Group) -> Option<Arc<[Option<&'static shm::doorbell::Doorbell>]>> {
        let (node, me) = (self.node.as_ref()?, self.me());
        let bell = |&peer: &u32| {
            if peer == me {
                return Some(None);
            }
            node.reaches(Peer(peer)).then(|| Some(node.doorbell_of(Peer(peer))))
        };
        group.members().iter().map(bell).collect::<Option<Vec<_>>>().map(Into::into)
    }

    /// Whether this process can read and write the memory of all others.
    fn reaches_all(&self, group: &Group) -> bool {
        let me = self.me();
        let mut others = group.members().iter().filter(|&&peer| peer != me);
        others.all(|&peer| self.node.as_ref().is_some_and(|node| node.can_read(Peer(peer))))
    }
}

/// `MPI_Win_free`: the attributes' callbacks run first; then all processes meet, unless they promised not to lock.
pub fn free(t: &mut Token, win: &mut abi::Win) -> Result<()> {
    t.lock().windows.get(*win)?.epochs.may_free()?;
    delete_all(t, Object::Win(*win))?;
    super::sync::meet(t, *win)?;
    let mut state = t.lock();
    let Some(window) = state.windows.remove(*win) else { return Ok(()) };
    state.errhandlers.release(window.errhandler);
    drop(state);
    if window.far.is_some_and(|far| far.helped) {
        engine::release_progress(t);
    }
    free_inner(t, window.comm);
    *win = abi::WIN_NULL;
    Ok(())
}
