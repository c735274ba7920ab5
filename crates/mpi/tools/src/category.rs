//! Categories: one per crate, holding what is named after it (MPI-5.0 section 15.3.9).
//!
//! A parameter, variable or event belongs to the crate with the longest name that its own begins with; so does a crate.

use std::ffi::CStr;
use std::sync::LazyLock;

use abi::Result;
use ffi::TextOut;

use super::events::KINDS;
use super::variables::VARIABLES;
use super::{NO_NAME, REGISTRY, at, open, put};
use objects::domain::Token;

/// Crates without parameters that count something.
const MORE: [&str; 2] = ["pml_ob1", "btl_self"];

static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let all = parameters::all();
    let more = MORE.into_iter().filter(|name| all.iter().all(|(room, _)| room != name));
    let mut names: Vec<_> = all.iter().map(|(room, _)| *room).chain(more).collect();
    // Parameters of one name may stand in several crates.
    names.dedup();
    names
});

/// The crate, if any, that something of this name belongs to.
fn room_of(name: &str) -> Option<&'static str> {
    let holds = |room: &&&str| name.strip_prefix(**room).is_some_and(|rest| rest.starts_with('_'));
    NAMES.iter().filter(holds).max_by_key(|room| room.len()).copied()
}

/// Indices of those names that belong to a category.
fn members<'a>(category: i32, names: impl Iterator<Item = &'a str>) -> Result<Vec<i32>> {
    let room = *at(&NAMES, category)?;
    let members = names.enumerate().filter(|(_, name)| room_of(name) == Some(room));
    Ok(members.map(|(index, _)| index as i32).collect())
}

fn cvars() -> impl Iterator<Item = &'static str> {
    REGISTRY.all().iter().map(|param| param.name)
}

fn pvars() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|variable| variable.name)
}

fn events() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

/// `MPI_T_category_get_num`
pub fn category_get_num(_t: &mut Token, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, NAMES.len() as i32);
    Ok(())
}

/// `MPI_T_category_get_index`
pub fn category_get_index(_t: &mut Token, name: &CStr, index: Option<&mut i32>) -> Result<()> {
    open()?;
    let found = NAMES.iter().position(|room| room.as_bytes() == name.to_bytes());
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
    let room = at(&NAMES, index)?;
    name.set(room);
    desc.set(&format!("Parameters, variables and events whose names begin with {room}_"));
    put(num_cvars, members(index, cvars())?.len() as i32);
    put(num_pvars, members(index, pvars())?.len() as i32);
    put(num_categories, members(index, NAMES.iter().copied())?.len() as i32);
    Ok(())
}

/// As many as there is room for.
fn fill(places: &mut [i32], members: Vec<i32>) -> Result<()> {
    for (place, member) in places.iter_mut().zip(members) {
        *place = member;
    }
    Ok(())
}

/// `MPI_T_category_get_cvars`
pub fn category_get_cvars(_t: &mut Token, index: i32, indices: &mut [i32]) -> Result<()> {
    open()?;
    fill(indices, members(index, cvars())?)
}

/// `MPI_T_category_get_pvars`
pub fn category_get_pvars(_t: &mut Token, index: i32, indices: &mut [i32]) -> Result<()> {
    open()?;
    fill(indices, members(index, pvars())?)
}

/// `MPI_T_category_get_events`
pub fn category_get_events(_t: &mut Token, index: i32, indices: &mut [i32]) -> Result<()> {
    open()?;
    fill(indices, members(index, events())?)
}

/// `MPI_T_category_get_categories`
pub fn category_get_categories(_t: &mut Token, index: i32, indices: &mut [i32]) -> Result<()> {
    open()?;
    fill(indices, members(index, NAMES.iter().copied())?)
}

/// `MPI_T_category_get_num_events`
pub fn category_get_num_events(_t: &mut Token, index: i32, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, members(index, events())?.len() as i32);
    Ok(())
}

/// `MPI_T_category_changed`: categories never change.
pub fn category_changed(_t: &mut Token, update_number: Option<&mut i32>) -> Result<()> {
    open()?;
    put(update_number, 0);
    Ok(())
}
