//! Questions about windows: groups, names, hints, memory that is shared, predefined attributes.

use std::ffi::CStr;

use abi::{Address, Aint, Error, Result};
use ffi::{CountMut, StrOut};

use super::{WINDOWS, Window, hints};
use objects::domain::Token;

/// `MPI_Win_get_group`
pub fn get_group(t: &mut Token, win: abi::Win, group: &mut abi::Group) -> Result<()> {
    let mut state = t.lock();
    let found = WINDOWS.get(&state.tables).get(win)?.group.clone();
    *group = state.groups.add(found)?;
    Ok(())
}

/// `MPI_Win_set_name`
pub fn set_name(t: &mut Token, win: abi::Win, name: &CStr) -> Result<()> {
    WINDOWS.get_mut(&mut t.lock().tables).get_mut(win)?.name = objects::comm::object_name(name);
    Ok(())
}

/// `MPI_Win_get_name`; the null handle has a name too (MPI-5.0 section 7.8).
pub fn get_name(t: &mut Token, win: abi::Win, mut name: StrOut<'_>) -> Result<()> {
    if win == abi::WIN_NULL {
        name.set("MPI_WIN_NULL");
        return Ok(());
    }
    name.set(&WINDOWS.get(&t.lock().tables).get(win)?.name);
    Ok(())
}

/// `MPI_Win_get_info`
pub fn get_info(t: &mut Token, win: abi::Win, info: &mut abi::Info) -> Result<()> {
    let mut state = t.lock();
    let window = WINDOWS.get(&state.tables).get(win)?;
    let all = hints::in_force(&window.info, &state.memory_kinds, window.facts.alignment);
    *info = state.infos.add(all)?;
    Ok(())
}

/// `MPI_Win_set_info`
pub fn set_info(t: &mut Token, win: abi::Win, info: abi::Info) -> Result<()> {
    let mut state = t.lock();
    let given = state.infos.hints(info)?;
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
    hints::take(&mut window.info, &given, window.facts.alignment);
    Ok(())
}

/// `MPI_Win_shared_query`, `MPI_Win_shared_query_c`: size 0 means that loads and stores do not reach the memory.
pub fn shared_query(
    t: &mut Token,
    win: abi::Win,
    rank: i32,
    size: &mut Aint,
    mut disp_unit: CountMut<'_>,
    base: &mut Address,
) -> Result<()> {
    let state = t.lock();
    let window = WINDOWS.get(&state.tables).get(win)?;
    if window.facts.flavor == abi::WIN_FLAVOR_DYNAMIC {
        return Err(Error::new(abi::ERR_RMA_FLAVOR, "the window is a dynamic one"));
    }
    let rank = if rank == abi::PROC_NULL { window.first_with_memory() } else { window.check_rank(rank)? };
    let target = window.targets[rank as usize];
    let reachable = window.is_reachable(rank);
    *size = if reachable { target.size as Aint } else { 0 };
    *base = Address(if reachable { target.base } else { 0 });
    disp_unit.set(target.unit as i64);
    Ok(())
}

impl Window {
    /// Whether loads and stores of this process reach the rank's memory.
    fn is_reachable(&self, rank: u32) -> bool {
        self.targets[rank as usize].mapped || rank == self.rank
    }

    /// The lowest rank that has memory in the window; this one if none has.
    fn first_with_memory(&self) -> u32 {
        self.targets.iter().position(|target| target.size > 0).map_or(self.rank, |rank| rank as u32)
    }
}
