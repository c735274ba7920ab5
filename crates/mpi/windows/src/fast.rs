//! The fast paths: right arguments, predefined types, memory that this process maps, an open epoch, the window that was
//! used last. [`Attempt::FULL_PATH`]: the ordinary function finds out why, and does it or reports what is wrong.

use std::sync::atomic::Ordering;

use abi::{Address, Aint, Count, Datatype, Op};
use mem::UserMem;
use osc::Element;

use super::movement::DataDirection;
use super::{Near, RankMemory, WINDOWS, Window};
use objects::datatype::simple;
use objects::domain::{Attempt, enter_plain};
use objects::state::State;

impl Window {
    /// The `len` bytes that an operation means, if this process maps them and may access them now.
    #[inline(always)]
    fn place(&mut self, rank: i32, disp: Aint, len: usize) -> Option<(UserMem, Near)> {
        // A negative rank is a huge one.
        let target = *self.targets.get(rank as usize).filter(|target| target.mapped)?;
        // A negative displacement is a huge one.
        let place = target.part((disp as u64).checked_mul(target.unit)?, len)?;
        self.epochs.access(rank as u32).ok()?;
        Some((place, Near { rank: rank as u32, local: target.local }))
    }

    /// Completes operations on memory that this process maps.
    #[inline(always)]
    pub(super) fn order(&mut self) {
        // On this architecture loads are in order, and an atomic operation or the release of a lock orders what was
        // stored before.
        if std::mem::take(&mut self.stored) || !cfg!(target_arch = "x86_64") {
            order();
        }
    }
}

impl RankMemory {
    /// The `len` bytes from byte `start` on, in mapped memory.
    #[inline(always)]
    pub(super) fn part(&self, start: u64, len: usize) -> Option<UserMem> {
        let end = start.checked_add(len as u64)?;
        (end <= self.size).then(|| objects::memory::exposed_run(self.base + start as usize, len))
    }
}

/// Copies between the origin's memory and a place at the target.
#[inline(always)]
pub(super) fn copy_at_once(way: DataDirection, origin: UserMem, place: UserMem) {
    match way {
        DataDirection::Put => copy(origin, place),
        DataDirection::Get => copy(place, origin),
    }
}

/// Copies, and with short data without a call.
#[inline(always)]
fn copy(from: UserMem, to: UserMem) {
    if from.len() == 8 {
        to.write(from.as_bytes());
    } else {
        from.copy_to(to);
    }
}

/// Others see what operations before this do before what operations after this see.
#[inline(always)]
pub(super) fn order() {
    // On x86-64 an exchange is the fastest instruction that does it; no other thread sees the word. Elsewhere it orders no store
    // against a later load of other memory.
    #[cfg(target_arch = "x86_64")]
    std::hint::black_box(std::sync::atomic::AtomicU32::new(0).swap(1, Ordering::SeqCst));
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// The data of the origin and the place at the target, if all is as the fast paths want it.
#[inline(always)]
fn sides(
    window: &mut Window,
    (origin, origin_count, origin_type): (Address, Count, Datatype),
    (rank, disp, count, datatype): (i32, Aint, Count, Datatype),
) -> Option<(UserMem, UserMem)> {
    let from = simple(origin, origin_count, origin_type)?;
    let size = datatype::predefined_dense_size(datatype)?;
    let len = count.checked_mul(i64::from(size))?;
    if len as usize != from.len() {
        return None;
    }
    Some((from, window.place(rank, disp, from.len())?.0))
}

/// The fast path of a put or get.
#[inline(always)]
fn move_at_once(
    way: DataDirection,
    origin: (Address, Count, Datatype),
    target: (i32, Aint, Count, Datatype),
    win: abi::Win,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let Some(window) = WINDOWS.get_mut(&mut guard.tables).last_used(win) else { return guard.give_up() };
    let Some((origin, place)) = sides(window, origin, target) else { return guard.give_up() };
    copy_at_once(way, origin, place);
    window.stored |= way == DataDirection::Put;
    Attempt::DONE
}

/// `MPI_Put`'s fast path.
#[inline(always)]
pub fn put_at_once(
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    win: abi::Win,
) -> Attempt {
    move_at_once(DataDirection::Put, (origin, origin_count, origin_type), (rank, disp, count, datatype), win)
}

/// `MPI_Get`'s fast path.
#[inline(always)]
pub fn get_at_once(
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    win: abi::Win,
) -> Attempt {
    move_at_once(DataDirection::Get, (origin, origin_count, origin_type), (rank, disp, count, datatype), win)
}

/// Combines, if the elements are those of atomic operations and the operation is for them.
#[inline(always)]
fn combine(
    state: &mut State,
    (origin, result): (UserMem, Option<UserMem>),
    (rank, disp, datatype): (i32, Aint, Datatype),
    op: Op,
    win: abi::Win,
) -> Option<()> {
    let element = Element::of_basic(datatype)?;
    // What only fetches, and what is wrong, takes the ordinary way.
    if op == abi::NO_OP {
        return None;
    }
    let window = WINDOWS.get_mut(&mut state.tables).last_used(win)?;
    let (place, near) = window.place(rank, disp, origin.len())?;
    if !element.is_atomic_at(place.address()) {
        return None;
    }
    window.combine_words(near, (&element, op), place, Some(origin), result).ok()?;
    window.note_change(op, origin);
    Some(())
}

/// `MPI_Accumulate`'s fast path.
#[inline(always)]
pub fn accumulate_at_once(
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    op: Op,
    win: abi::Win,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    if (origin_count, origin_type) != (count, datatype) {
        return guard.give_up();
    }
    let Some(from) = simple(origin, count, datatype) else { return guard.give_up() };
    match combine(&mut guard, (from, None), (rank, disp, datatype), op, win) {
        Some(()) => Attempt::DONE,
        None => guard.give_up(),
    }
}

/// `MPI_Get_accumulate`'s fast path.
#[inline(always)]
pub fn get_accumulate_at_once(
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    result: Address,
    result_count: Count,
    result_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    op: Op,
    win: abi::Win,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    if (origin_count, origin_type) != (count, datatype) || (result_count, result_type) != (count, datatype) {
        return guard.give_up();
    }
    let sides = simple(origin, count, datatype).zip(simple(result, count, datatype));
    let Some((from, into)) = sides else { return guard.give_up() };
    match combine(&mut guard, (from, Some(into)), (rank, disp, datatype), op, win) {
        Some(()) => Attempt::DONE,
        None => guard.give_up(),
    }
}

/// `MPI_Fetch_and_op`'s fast path.
#[inline(always)]
pub fn fetch_and_op_at_once(
    origin: Address,
    result: Address,
    datatype: Datatype,
    rank: i32,
    disp: Aint,
    op: Op,
    win: abi::Win,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let sides = simple(origin, 1, datatype).zip(simple(result, 1, datatype));
    let Some((from, into)) = sides else { return guard.give_up() };
    match combine(&mut guard, (from, Some(into)), (rank, disp, datatype), op, win) {
        Some(()) => Attempt::DONE,
        None => guard.give_up(),
    }
}

/// `MPI_Compare_and_swap`'s fast path.
#[inline(always)]
pub fn compare_and_swap_at_once(
    origin: Address,
    compare: Address,
    result: Address,
    datatype: Datatype,
    rank: i32,
    disp: Aint,
    win: abi::Win,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let Some(element) = Element::of_basic(datatype).filter(Element::is_integer) else {
        return guard.give_up();
    };
    let (origin, compare) = (simple(origin, 1, datatype), simple(compare, 1, datatype));
    let Some(((from, with), into)) = origin.zip(compare).zip(simple(result, 1, datatype)) else {
        return guard.give_up();
    };
    let Some(window) = WINDOWS.get_mut(&mut guard.tables).last_used(win) else { return guard.give_up() };
    let place = window.place(rank, disp, element.size);
    let Some((place, near)) = place.filter(|(place, _)| element.is_atomic_at(place.address())) else {
        return guard.give_up();
    };
    window.compare_word(near, &element, place, (from, with, into));
    Attempt::DONE
}

/// Every so many flushes make progress: a program may poll a window for what another process does after a message of
/// this one.
const FLUSHES: u32 = 128;

impl Window {
    /// Counts a flush; whether it has to make progress.
    #[inline(always)]
    pub(super) fn flushes_to_progress(&mut self) -> bool {
        self.flushes = self.flushes.wrapping_add(1);
        self.flushes.is_multiple_of(FLUSHES)
    }

    /// Flushes memory that this process maps, if that is all there is to do.
    #[inline(always)]
    fn flush_mapped(&mut self) -> bool {
        if self.flushes.wrapping_add(1).is_multiple_of(FLUSHES) {
            return false;
        }
        self.flushes = self.flushes.wrapping_add(1);
        self.order();
        true
    }
}

/// `MPI_Win_flush`'s and `MPI_Win_flush_local`'s fast path.
#[inline(always)]
pub fn flush_at_once(rank: i32, win: abi::Win) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let window = WINDOWS.get_mut(&mut guard.tables).last_used(win);
    let window = window
        .filter(|window| window.near(rank as u32).is_some() && window.epochs.passive(rank as u32).is_ok());
    if !window.is_some_and(Window::flush_mapped) {
        return guard.give_up();
    }
    Attempt::DONE
}

/// `MPI_Win_flush_all`'s and `MPI_Win_flush_local_all`'s fast path.
#[inline(always)]
pub fn flush_all_at_once(win: abi::Win) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let window = WINDOWS.get_mut(&mut guard.tables).last_used(win);
    let window = window.filter(|window| window.far.is_none() && window.epochs.any_passive().is_ok());
    if !window.is_some_and(Window::flush_mapped) {
        return guard.give_up();
    }
    Attempt::DONE
}
