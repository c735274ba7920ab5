//! Put and get (MPI-5.0 sections 12.3.1, 12.3.2 and 12.3.5).

use abi::{Address, Aint, Count, Datatype, Result};
use osc::Direct;

use super::WINDOWS;
use super::access::{Aim, Reach, Rules, UNEQUAL};
use super::far;
use super::plain::begin_at_once;
use objects::domain::Token;
use objects::memory::side;
use objects::state::State;

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DataDirection {
    Put,
    Get,
}

/// `MPI_Put`
pub fn put(
    t: &mut Token,
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    win: abi::Win,
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Epoch };
    copy(t, DataDirection::Put, (origin, origin_count, origin_type), &aim, win).map(drop)
}

/// `MPI_Get`
pub fn get(
    t: &mut Token,
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    win: abi::Win,
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Epoch };
    copy(t, DataDirection::Get, (origin, origin_count, origin_type), &aim, win).map(drop)
}

/// `MPI_Rput`
pub fn rput(
    t: &mut Token,
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    win: abi::Win,
    request: &mut abi::Request,
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Request };
    let token = copy(t, DataDirection::Put, (origin, origin_count, origin_type), &aim, win)?;
    *request = far::request_of(t, win, token)?;
    Ok(())
}

/// `MPI_Rget`
pub fn rget(
    t: &mut Token,
    origin: Address,
    origin_count: Count,
    origin_type: Datatype,
    rank: i32,
    disp: Aint,
    count: Count,
    datatype: Datatype,
    win: abi::Win,
    request: &mut abi::Request,
) -> Result<()> {
    let aim = Aim { rank, disp, count, datatype, rules: Rules::Request };
    let token = copy(t, DataDirection::Get, (origin, origin_count, origin_type), &aim, win)?;
    *request = far::request_of(t, win, token)?;
    Ok(())
}

/// Does what a put or get asks for; the token of what is still to come.
pub(super) fn copy(
    t: &mut Token,
    way: DataDirection,
    (address, count, datatype): (Address, Count, Datatype),
    aim: &Aim,
    win: abi::Win,
) -> Result<Option<u64>> {
    let mut guard = t.lock();
    if begin_at_once(&mut guard, way, (address, count, datatype), aim, win).is_some() {
        drop(guard);
        engine::see_to_connections(t);
        return Ok(None);
    }
    let State { types, tables, .. } = &mut *guard;
    let window = WINDOWS.get_mut(tables).get_mut(win)?;
    let Some((rank, target)) = window.aim(types, aim)? else { return Ok(None) };
    let origin = side(&types.items(address, count, datatype)?, address)?;
    if origin.len() != target.len() {
        return Err(UNEQUAL);
    }
    if origin.is_empty() {
        return Ok(None);
    }
    match (window.reach(rank)?, way) {
        (Reach::Here, DataDirection::Put) => {
            origin.copy_to(target);
            window.stored = true;
        }
        (Reach::Here, DataDirection::Get) => target.copy_to(origin),
        (Reach::Direct(node, process), way) => {
            let direct = Direct { node: &node, process };
            let done = if way == DataDirection::Put {
                direct.put(origin, &target)
            } else {
                direct.get(origin, &target)
            };
            done.map_err(|error| window.explain(rank, error))?;
        }
        (Reach::Far, way) => {
            drop(guard);
            let origin = (origin, aim.rules.completion());
            return match way {
                DataDirection::Put => far::put(t, win, rank, origin, &target),
                DataDirection::Get => far::get(t, win, rank, origin, &target).map(Some),
            };
        }
    }
    Ok(None)
}
