//! Accumulates (MPI-5.0 sections 12.3.3 and 12.3.4).
//!
//! ```text
//!   elements of 1, 2, 4, 8 bytes at a fitting address, in memory that is mapped     as words (words.rs)
//!   all others                                                                      on a copy, under the target's lock
//! ```
//! Type and address alone decide, so that all processes combine one location the same way, the target itself included.
//! What ranks of other nodes ask for, the target does (serve.rs), the same way.

use abi::{Address, Aint, Count, Datatype, Error, Op, Result};
use osc::{Direct, Element, Side};

use super::access::{Aim, Reach, Rules, UNEQUAL};
use super::words::PIECE;
use super::{Near, WINDOWS, Window, far};
use objects::domain::Token;
use objects::memory::{read_at, side};
use objects::state::State;

/// A buffer argument.
type Buffer = (Address, Count, Datatype);

/// `MPI_Accumulate`
pub fn accumulate(
    t: &mut Token,
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    op: Op,
    win: abi::Win,
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Epoch };
    combine(t, (origin, origin_count, origin_type), None, &aim, op, win).map(drop)
}

/// `MPI_Raccumulate`
pub fn raccumulate(
    t: &mut Token,
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    op: Op,
    win: abi::Win,
    request: &mut abi::Request,
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Request };
    let token = combine(t, (origin, origin_count, origin_type), None, &aim, op, win)?;
    *request = far::request_of(t, win, token)?;
    Ok(())
}

/// `MPI_Get_accumulate`
pub fn get_accumulate(
    t: &mut Token,
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
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Epoch };
    let result = Some((result, result_count, result_type));
    combine(t, (origin, origin_count, origin_type), result, &aim, op, win).map(drop)
}

/// `MPI_Rget_accumulate`
pub fn rget_accumulate(
    t: &mut Token,
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
    request: &mut abi::Request,
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Request };
    let result = Some((result, result_count, result_type));
    let token = combine(t, (origin, origin_count, origin_type), result, &aim, op, win)?;
    *request = far::request_of(t, win, token)?;
    Ok(())
}

/// `MPI_Fetch_and_op`: one element of a predefined type.
pub fn fetch_and_op(
    t: &mut Token,
    origin: Address,
    result: Address,
    datatype: Datatype,
    rank: i32,
    disp: Aint,
    op: Op,
    win: abi::Win,
) -> Result<()> {
    if !t.lock().types.get(datatype)?.is_predefined() {
        return Err(Error::new(abi::ERR_TYPE, "the datatype is not a predefined one"));
    }
    let aim = Aim { rank, disp, count: 1, datatype, rules: Rules::Epoch };
    combine(t, (origin, 1, datatype), Some((result, 1, datatype)), &aim, op, win).map(drop)
}

/// Does what an accumulate asks for; the token of what is still to come.
pub(super) fn combine(
    t: &mut Token,
    origin: Buffer,
    result: Option<Buffer>,
    aim: &Aim,
    op: Op,
    win: abi::Win,
) -> Result<Option<u64>> {
    let mut guard = t.lock();
    let State { types, tables, .. } = &mut *guard;
    let window = WINDOWS.get_mut(tables).get_mut(win)?;
    check_op(op, result.is_some())?;
    let Some((rank, target)) = window.aim(types, aim)? else { return Ok(None) };
    let side_of = |(address, count, datatype): Buffer| side(&types.items(address, count, datatype)?, address);
    // The origin of MPI_NO_OP is not looked at.
    let origin = if op == abi::NO_OP { None } else { Some(side_of(origin)?) };
    let result = result.map(side_of).transpose()?;
    let unequal = |side: &Option<Side>| side.as_ref().is_some_and(|side| side.len() != target.len());
    if unequal(&origin) || unequal(&result) {
        return Err(UNEQUAL);
    }
    if target.is_empty() {
        return Ok(None);
    }
    let element = Element::of(types.get(aim.datatype)?)?;
    element.kernel(op)?;
    let Some(near) = window.near(rank) else {
        drop(guard);
        let fetches = result.is_some();
        let result = result.map(|result| (result, aim.rules.completion()));
        let token = far::combine(t, win, rank, (&element, op), origin, result, &target)?;
        return Ok(fetches.then_some(token));
    };
    Combination { window, near, element, op, target }.run(origin, result).map(|()| None)
}

/// # Errors
/// `MPI_ERR_OP`
fn check_op(op: Op, fetches: bool) -> Result<()> {
    if !op::is_predefined(op) {
        return Err(Error::new(abi::ERR_OP, "an accumulate takes predefined operations only"));
    }
    if op == abi::NO_OP && !fetches {
        return Err(Error::new(abi::ERR_OP, "MPI_NO_OP is for accumulates that fetch"));
    }
    Ok(())
}

/// An accumulate whose arguments are right.
struct Combination<'a> {
    window: &'a mut Window,
    near: Near,
    element: Element,
    op: Op,
    target: Side,
}

impl Combination<'_> {
    fn run(mut self, origin: Option<Side>, result: Option<Side>) -> Result<()> {
        let is_change = origin.is_some();
        let incoming = origin.map(Contiguous::from);
        let mut fetched = result.map(Results::new);
        let reach = self.window.reach(self.near.rank)?;
        if self.window.targets[self.near.rank as usize].mapped && self.element.is_word() {
            self.by_element(incoming.as_ref(), fetched.as_mut())?;
        } else {
            let rank = self.near.rank;
            self.by_piece(&reach, incoming.as_ref(), fetched.as_mut())
                .map_err(|error| self.window.explain(rank, error))?;
        }
        // What only fetches polls.
        self.window.changed = is_change;
        if let Some(fetched) = fetched {
            fetched.deliver();
        }
        Ok(())
    }

    /// Run by run in mapped memory.
    fn by_element(&mut self, incoming: Option<&Contiguous>, mut fetched: Option<&mut Results>) -> Result<()> {
        let (mut position, mut outcome) = (0, Ok(()));
        self.target.runs(|run| {
            let from = incoming.map(|incoming| incoming.memory().part(position, run.len()));
            let into = fetched.as_mut().map(|fetched| fetched.memory().part(position, run.len()));
            outcome = self.window.combine_run(self.near, (&self.element, self.op), run, from, into);
            position += run.len();
            outcome.is_ok()
        });
        outcome
    }

    /// On copies under the target's lock.
    fn by_piece(
        &mut self,
        reach: &Reach,
        incoming: Option<&Contiguous>,
        mut fetched: Option<&mut Results>,
    ) -> Result<()> {
        let size = PIECE / self.element.size * self.element.size;
        let len = self.target.len();
        for position in (0..len).step_by(size) {
            let part = (position as usize, (len - position).min(size as u64) as usize);
            let mut present = vec![0u8; part.1];
            let from = incoming.map(|incoming| read_at(incoming.memory().part(part.0, part.1)));
            self.window.locked(self.near, || {
                read(reach, &mut self.target, position, &mut present)?;
                if let Some(fetched) = fetched.as_mut() {
                    fetched.memory().part(part.0, part.1).write(mem::PeerBytes::of(&present));
                }
                if let Some(from) = &from {
                    osc::combine(&self.element, self.op, &mut present, from)?;
                    write(reach, &mut self.target, position, &mut present)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The error for memory that only its process combines.
const NOT_HERE: Error = Error::new(abi::ERR_INTERN, "the memory of the target is reached by messages alone");

fn read(reach: &Reach, target: &mut Side, position: u64, bytes: &mut [u8]) -> Result<()> {
    match reach {
        Reach::Here => {
            target.read(position, bytes);
            Ok(())
        }
        Reach::Direct(node, process) => Direct { node, process: *process }.read_part(target, position, bytes),
        Reach::Far => Err(NOT_HERE),
    }
}

fn write(reach: &Reach, target: &mut Side, position: u64, bytes: &mut [u8]) -> Result<()> {
    match reach {
        Reach::Here => {
            target.write(position, bytes);
            Ok(())
        }
        Reach::Direct(node, process) => {
            Direct { node, process: *process }.write_part(target, position, bytes)
        }
        Reach::Far => Err(NOT_HERE),
    }
}

/// The data of an origin in one run: the program's, or a copy.
enum Contiguous {
    Users(mem::UserMem),
    Copy(Vec<u8>),
}

impl From<Side> for Contiguous {
    fn from(mut side: Side) -> Contiguous {
        if let Side::Run(memory) = side {
            return Contiguous::Users(memory);
        }
        let mut copy = vec![0; side.len() as usize];
        side.read(0, &mut copy);
        Contiguous::Copy(copy)
    }
}

impl Contiguous {
    fn memory(&self) -> mem::UserMem {
        match self {
            Contiguous::Users(memory) => *memory,
            Contiguous::Copy(copy) => objects::memory::of_vec(copy),
        }
    }
}

/// Where fetched data goes, and a copy where that is not one run.
struct Results {
    side: Side,
    copy: Vec<u8>,
}

impl Results {
    fn new(side: Side) -> Results {
        let bytes = if matches!(side, Side::Run(_)) { 0 } else { side.len() as usize };
        Results { side, copy: vec![0; bytes] }
    }

    fn memory(&mut self) -> mem::UserMem {
        match self.side {
            Side::Run(memory) => memory,
            Side::Typed(_) => objects::memory::of_vec_mut(&mut self.copy),
        }
    }

    fn deliver(mut self) {
        if let Side::Typed(_) = self.side {
            self.side.write(0, &self.copy);
        }
    }
}

/// `MPI_Compare_and_swap`: one element of an integer, a logical or a byte type.
pub fn compare_and_swap(
    t: &mut Token,
    origin: Address,
    compare: Address,
    result: Address,
    datatype: Datatype,
    rank: i32,
    disp: Aint,
    win: abi::Win,
) -> Result<()> {
    let aim = Aim { rank, disp, count: 1, datatype, rules: Rules::Epoch };
    swap(t, (origin, compare, result), &aim, win)
}

/// Compares and swaps the one element that `aim` names. The addresses: what to store, what to compare with, where to
/// put what was.
pub(super) fn swap(
    t: &mut Token,
    (origin, compare, result): (Address, Address, Address),
    aim: &Aim,
    win: abi::Win,
) -> Result<()> {
    let mut guard = t.lock();
    let State { types, tables, .. } = &mut *guard;
    let window = WINDOWS.get_mut(tables).get_mut(win)?;
    let datatype = aim.datatype;
    let element = comparable(types.get(datatype)?)?;
    let Some((rank, mut target)) = window.aim(types, aim)? else { return Ok(()) };
    let run = |address: Address| match side(&types.items(address, 1, datatype)?, address)? {
        Side::Run(memory) => Ok(memory),
        Side::Typed(_) => Err(NOT_COMPARABLE),
    };
    let (origin, compare, result) = (run(origin)?, run(compare)?, run(result)?);
    let near = window.near(rank);
    if let (Side::Run(place), true, Some(near)) = (&target, window.targets[rank as usize].mapped, near)
        && element.is_atomic_at(place.address())
    {
        window.compare_word(near, &element, *place, (origin, compare, result));
        return Ok(());
    }
    let reach = window.reach(rank)?;
    let (origin, compare) = (read_at(origin), read_at(compare));
    let Some(near) = near else {
        let (address, _) = target.span();
        drop(guard);
        let operands = [origin, compare].concat();
        return far::compare_and_swap(t, win, rank, &element, address as u64, &operands, result);
    };
    let mut present = vec![0u8; element.size];
    window
        .locked(near, || {
            read(&reach, &mut target, 0, &mut present)?;
            result.write(mem::PeerBytes::of(&present));
            let equal = osc::compare(&mut present, &origin, &compare);
            if equal {
                write(&reach, &mut target, 0, &mut present)?;
            }
            Ok(equal)
        })
        .map(|equal| window.changed = equal)
        .map_err(|error| window.explain(rank, error))
}

const NOT_COMPARABLE: Error =
    Error::new(abi::ERR_TYPE, "the datatype is no predefined integer, logical or byte type");

/// # Errors
/// `MPI_ERR_TYPE`
fn comparable(datatype: &datatype::Datatype) -> Result<Element> {
    if datatype.basic().is_none() {
        return Err(NOT_COMPARABLE);
    }
    let element = Element::of(datatype)?;
    if element.is_integer() { Ok(element) } else { Err(NOT_COMPARABLE) }
}
