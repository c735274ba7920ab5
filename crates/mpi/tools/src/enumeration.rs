//! Enumerations: the words that a parameter may be set to, and those for the states of a performance variable (MPI-5.0
//! section 15.3.5).

use abi::{Error, Result, TEnum};
use ffi::TextOut;
use mca::{Kind, Quantity};

use super::variables::VARIABLES;
use super::{REGISTRY, at, open, put};
use objects::domain::Token;

const NO_ENUM: Error = Error::new(abi::T_ERR_INVALID, "the handle is not an enumeration");
const NO_ITEM: Error = Error::new(abi::T_ERR_INVALID_ITEM, "the enumeration has no such item");

/// The enumeration of a control variable: its index plus one.
pub(super) fn enum_of(index: i32, kind: Kind) -> TEnum {
    match kind {
        Kind::Choice(_) => TEnum(index as usize + 1),
        _ => TEnum(abi::T_ENUM_NULL),
    }
}

/// The enumeration of a performance variable: its index plus one, behind those of control variables.
pub(super) fn enum_of_variable(index: i32, quantity: Quantity) -> TEnum {
    match quantity {
        Quantity::State => TEnum(REGISTRY.all().len() + index as usize + 1),
        _ => TEnum(abi::T_ENUM_NULL),
    }
}

fn words(enumtype: TEnum) -> Result<(&'static str, &'static [&'static str])> {
    let index = enumtype.0.checked_sub(1).ok_or(NO_ENUM)?;
    match REGISTRY.all().get(index).map(|param| (param.name, param.kind)) {
        Some((name, Kind::Choice(words))) => return Ok((name, words)),
        Some(_) => return Err(NO_ENUM),
        None => {}
    }
    let variable = VARIABLES.get(index - REGISTRY.all().len()).filter(|variable| !variable.words.is_empty());
    variable.map(|variable| (variable.name, variable.words)).ok_or(NO_ENUM)
}

/// `MPI_T_enum_get_info`
pub fn enum_get_info(
    _t: &mut Token,
    enumtype: TEnum,
    num: Option<&mut i32>,
    mut name: TextOut<'_>,
) -> Result<()> {
    open()?;
    let (title, words) = words(enumtype)?;
    put(num, words.len() as i32);
    name.set(title);
    Ok(())
}

/// `MPI_T_enum_get_item`: the value of an item is its index.
pub fn enum_get_item(
    _t: &mut Token,
    enumtype: TEnum,
    index: i32,
    value: Option<&mut i32>,
    mut name: TextOut<'_>,
) -> Result<()> {
    open()?;
    let (_, words) = words(enumtype)?;
    let word = at(words, index).map_err(|_| NO_ITEM)?;
    put(value, index);
    name.set(word);
    Ok(())
}
