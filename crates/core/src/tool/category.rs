//! Categories: one per room, holding the room's parameters (MPI-5.0 section 15.3.9).

use std::ffi::CStr;

use abi::Result;
use ffi::TextOut;

use super::{NO_NAME, ROOMS, at, open, put};
use crate::domain::Token;

/// `MPI_T_category_get_num`
pub fn category_get_num(_t: &mut Token, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, ROOMS.len() as i32);
    Ok(())
}

/// `MPI_T_category_get_index`
pub fn category_get_index(_t: &mut Token, name: &CStr, index: Option<&mut i32>) -> Result<()> {
    open()?;
    let found = ROOMS.iter().position(|(room, _)| room.as_bytes() == name.to_bytes());
    put(index, found.ok_or(NO_NAME)? as i32);
    Ok(())
}

/// `MPI_T_category_get_info`
pub fn category_get_info(
    _t: &mut Token,
    index: i32,
    mut name: TextOut<'_>,
    mut desc: TextOut<'_>,
    num_cvars: Option<&mut i32>,
    num_pvars: Option<&mut i32>,
    num_categories: Option<&mut i32>,
) -> Result<()> {
    open()?;
    let (room, params) = at(ROOMS, index)?;
    name.set(room);
    desc.set(&format!("Parameters whose names begin with {room}_"));
    put(num_cvars, params.len() as i32);
    put(num_pvars, 0);
    put(num_categories, 0);
    Ok(())
}

/// `MPI_T_category_get_cvars`: as many indices as there is room for.
pub fn category_get_cvars(_t: &mut Token, index: i32, indices: &mut [i32]) -> Result<()> {
    open()?;
    let (_, params) = at(ROOMS, index)?;
    let first: usize = ROOMS[..index as usize].iter().map(|(_, params)| params.len()).sum();
    for (place, cvar) in indices.iter_mut().zip(first..first + params.len()) {
        *place = cvar as i32;
    }
    Ok(())
}

/// `MPI_T_category_get_pvars`, `_get_events` and `_get_categories`: a category holds none of these.
pub fn category_get_none(_t: &mut Token, index: i32, _indices: &mut [i32]) -> Result<()> {
    open()?;
    at(ROOMS, index).map(drop)
}

/// `MPI_T_category_get_num_events`
pub fn category_get_num_events(_t: &mut Token, index: i32, num: Option<&mut i32>) -> Result<()> {
    open()?;
    at(ROOMS, index)?;
    put(num, 0);
    Ok(())
}

/// `MPI_T_category_changed`: categories never change.
pub fn category_changed(_t: &mut Token, update_number: Option<&mut i32>) -> Result<()> {
    open()?;
    put(update_number, 0);
    Ok(())
}
