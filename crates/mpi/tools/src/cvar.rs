//! Control variables: the MCA parameters (MPI-5.0 section 15.3.6).

use std::ffi::CStr;

use abi::{Address, Error, Result, TCvarHandle, TEnum};
use ffi::TextOut;
use mca::{Bool, Int, Kind, Level, Param, Scope, Size, Type, Values};

use super::enumeration::enum_of;
use super::{NO_HANDLE, NO_NAME, REGISTRY, at, memory, open, put};
use objects::domain::{Mode, Token, mode};
use objects::memory::{of_user, of_vec};

/// Room for the value of a variable of characters, with its NUL.
const TEXT_CAPACITY: usize = abi::MAX_INFO_VAL as usize;

/// `MPI_T_cvar_get_num`
pub fn cvar_get_num(_t: &mut Token, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, REGISTRY.all().len() as i32);
    Ok(())
}

/// `MPI_T_cvar_get_index`
pub fn cvar_get_index(_t: &mut Token, name: &CStr, index: Option<&mut i32>) -> Result<()> {
    open()?;
    let found = REGISTRY.all().iter().position(|param| param.name.as_bytes() == name.to_bytes());
    put(index, found.ok_or(NO_NAME)? as i32);
    Ok(())
}

/// `MPI_T_cvar_get_info`
pub fn cvar_get_info(
    _t: &mut Token,
    index: i32,
    mut name: TextOut<'_>,
    verbosity: Option<&mut i32>,
    datatype: Option<&mut abi::Datatype>,
    enumtype: Option<&mut TEnum>,
    mut desc: TextOut<'_>,
    bind: Option<&mut i32>,
    scope: Option<&mut i32>,
) -> Result<()> {
    open()?;
    let param = at(REGISTRY.all(), index)?;
    name.set(param.name);
    put(verbosity, self::verbosity(param.level));
    put(datatype, self::datatype(param.kind));
    put(enumtype, enum_of(index, param.kind));
    desc.set(&format!("{} ({})", param.description(), param.expectation()));
    put(bind, abi::T_BIND_NO_OBJECT);
    put(scope, self::scope(param.scope));
    Ok(())
}

fn verbosity(level: Level) -> i32 {
    match level {
        Level::User => abi::T_VERBOSITY_USER_BASIC,
        Level::Tuner => abi::T_VERBOSITY_TUNER_BASIC,
        Level::Developer => abi::T_VERBOSITY_MPIDEV_BASIC,
    }
}

fn scope(scope: Scope) -> i32 {
    match scope {
        Scope::Constant => abi::T_SCOPE_CONSTANT,
        Scope::Local => abi::T_SCOPE_LOCAL,
        Scope::AllEq => abi::T_SCOPE_ALL_EQ,
    }
}

/// How a value of this kind stands in memory.
fn datatype(kind: Kind) -> abi::Datatype {
    match kind {
        Kind::Bool | Kind::Choice(_) => abi::INT,
        Kind::Int | Kind::Size => abi::COUNT,
        Kind::Text | Kind::List | Kind::Words(_) | Kind::Word(_) => abi::CHAR,
    }
}

/// `MPI_T_cvar_handle_alloc`: a handle is the variable's index plus one, so there is nothing to free.
pub fn cvar_handle_alloc(
    _t: &mut Token,
    index: i32,
    _object: Address,
    handle: &mut TCvarHandle,
    count: Option<&mut i32>,
) -> Result<()> {
    open()?;
    let param = at(REGISTRY.all(), index)?;
    *handle = TCvarHandle(index as usize + 1);
    put(count, if datatype(param.kind) == abi::CHAR { TEXT_CAPACITY as i32 } else { 1 });
    Ok(())
}

/// `MPI_T_cvar_handle_free`
pub fn cvar_handle_free(_t: &mut Token, handle: &mut TCvarHandle) -> Result<()> {
    open()?;
    param(*handle)?;
    *handle = TCvarHandle(abi::T_CVAR_HANDLE_NULL);
    Ok(())
}

fn param(handle: TCvarHandle) -> Result<&'static Param> {
    let index = handle.0.checked_sub(1).ok_or(NO_HANDLE)?;
    REGISTRY.all().get(index).copied().ok_or(NO_HANDLE)
}

const NO_BUFFER: Error = Error::new(abi::T_ERR_INVALID, "the buffer is NULL");

/// `MPI_T_cvar_read`: the value in force.
pub fn cvar_read(t: &mut Token, handle: TCvarHandle, buf: Address) -> Result<()> {
    open()?;
    let param = param(handle)?;
    if buf.0 == 0 {
        return Err(NO_BUFFER);
    }
    let bytes = encode(param, &t.lock().params.values);
    of_vec(&bytes).copy_to(of_user(buf, bytes.len()));
    Ok(())
}

/// The value as it stands in the caller's memory. A value that does not fit its declaration is shown as zero, as
/// the library would not have started with it.
fn encode(param: &Param, values: &Values) -> Vec<u8> {
    let text = values.setting(param).text;
    match param.kind {
        Kind::Bool => i32::from(Bool::parse(&text).unwrap_or(false)).to_ne_bytes().to_vec(),
        Kind::Choice(words) => {
            let index = words.iter().position(|word| *word == text).unwrap_or(0);
            (index as i32).to_ne_bytes().to_vec()
        }
        Kind::Int => Int::parse(&text).unwrap_or(0).to_ne_bytes().to_vec(),
        Kind::Size => (Size::parse(&text).unwrap_or(0) as i64).to_ne_bytes().to_vec(),
        Kind::Text | Kind::List | Kind::Words(_) | Kind::Word(_) => {
            let mut bytes = text.into_bytes();
            bytes.truncate(TEXT_CAPACITY - 1);
            bytes.push(0);
            bytes
        }
    }
}

/// `MPI_T_cvar_write`: until MPI is initialised, which is when values are taken.
pub fn cvar_write(t: &mut Token, handle: TCvarHandle, buf: Address) -> Result<()> {
    open()?;
    let param = param(handle)?;
    if param.scope == Scope::Constant {
        return Err(Error::new(abi::T_ERR_CVAR_SET_NEVER, "the variable cannot be changed"));
    }
    if mode() != Mode::Before {
        return Err(Error::new(abi::T_ERR_CVAR_SET_NOT_NOW, "values are taken when MPI is initialised"));
    }
    let text = decode(param, buf)?;
    t.lock().params.set(param, &text).map_err(|_| Error::new(abi::T_ERR_INVALID, "the value does not fit"))
}

/// The value in the caller's memory, as a user would write it.
fn decode(param: &Param, buf: Address) -> Result<String> {
    if buf.0 == 0 {
        return Err(NO_BUFFER);
    }
    let bytes = |len| of_user(buf, len).as_bytes().to_vec();
    let number = match datatype(param.kind) {
        abi::INT => i64::from(i32::from_ne_bytes(bytes(4).try_into().expect("four bytes"))),
        abi::COUNT => i64::from_ne_bytes(bytes(8).try_into().expect("eight bytes")),
        _ => return Ok(memory::text(buf).ok_or(NO_BUFFER)?.to_string_lossy().into_owned()),
    };
    match param.kind {
        Kind::Bool => Ok((number != 0).to_string()),
        Kind::Choice(words) => Ok((*at(words, number as i32)?).to_string()),
        _ => Ok(number.to_string()),
    }
}
