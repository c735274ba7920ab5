//! Performance variables, events and their sources: none exist, so every index, name and handle is unknown.

use std::ffi::CStr;

use abi::{Error, Result, TPvarSession};

use super::{NO_HANDLE, NO_INDEX, NO_NAME, open, put};
use objects::domain::Token;

/// `MPI_T_pvar_get_num`, `MPI_T_event_get_num` and `MPI_T_source_get_num`
pub fn none(_t: &mut Token, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, 0);
    Ok(())
}

/// Calls that name a variable, event or source by its index.
pub fn no_index(_t: &mut Token) -> Result<()> {
    open()?;
    Err(NO_INDEX)
}

/// Calls that look one up by its name.
pub fn no_name(_t: &mut Token, _name: &CStr) -> Result<()> {
    open()?;
    Err(NO_NAME)
}

/// Calls that take a handle of one.
pub fn no_handle(_t: &mut Token) -> Result<()> {
    open()?;
    Err(NO_HANDLE)
}

/// The one session that exists: nothing can be in it.
const SESSION: TPvarSession = TPvarSession(1);
const NO_SESSION: Error = Error::new(abi::T_ERR_INVALID_SESSION, "the handle is not a session");

/// `MPI_T_pvar_session_create`
pub fn pvar_session_create(_t: &mut Token, session: &mut TPvarSession) -> Result<()> {
    open()?;
    *session = SESSION;
    Ok(())
}

/// `MPI_T_pvar_session_free`
pub fn pvar_session_free(_t: &mut Token, session: &mut TPvarSession) -> Result<()> {
    open()?;
    if *session != SESSION {
        return Err(NO_SESSION);
    }
    *session = TPvarSession(abi::T_PVAR_SESSION_NULL);
    Ok(())
}
