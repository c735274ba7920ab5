//! Error classes, codes and strings: the standard's and the user's (MPI-5.0 sections 9.4 and 9.5).

use std::ffi::CStr;

use abi::{Error, Result};

use ffi::StrOut;

use crate::domain::Token;
use crate::tables::error_codes::{ErrorTable, standard};

/// `MPI_Error_class`
pub fn class(t: &mut Token, code: i32, class: &mut i32) -> Result<()> {
    *class = t.lock().errors.class(code).ok_or(UNKNOWN)?;
    Ok(())
}

const UNKNOWN: Error = Error::new(abi::ERR_ARG, "no such error code");

/// `MPI_Error_string`
pub fn error_string(t: &mut Token, code: i32, mut text: StrOut<'_>) -> Result<()> {
    let state = t.lock();
    let plain = state.errors.string(code).ok_or(UNKNOWN)?;
    match &state.errors.explained {
        Some((of, seen)) if *of == code => text.set(&format!("{plain}: {seen}")),
        _ => text.set(plain),
    }
    Ok(())
}

/// `MPI_Add_error_class`
pub fn add_class(t: &mut Token, class: &mut i32) -> Result<()> {
    change(t, |table| {
        *class = table.add(None);
        Ok(())
    })
}

/// `MPI_Add_error_code`
pub fn add_code(t: &mut Token, class: i32, code: &mut i32) -> Result<()> {
    change(t, |table| {
        if standard(class).is_none() && !table.user_class(class) {
            return Err(Error::new(abi::ERR_ARG, "no such error class"));
        }
        *code = table.add(Some(class));
        Ok(())
    })
}

/// `MPI_Add_error_string`; only for the user's own classes and codes.
pub fn add_string(t: &mut Token, code: i32, text: &CStr) -> Result<()> {
    change(t, |table| {
        if !table.class_of.contains_key(&code) {
            return Err(Error::new(abi::ERR_ARG, "only a code that the user added can be given a string"));
        }
        table.strings.insert(code, text.to_string_lossy().into_owned());
        Ok(())
    })
}

/// `MPI_Remove_error_class`; its codes must be gone.
pub fn remove_class(t: &mut Token, class: i32) -> Result<()> {
    change(t, |table| {
        if !table.user_class(class) {
            return Err(Error::new(abi::ERR_ARG, "no such user-defined error class"));
        }
        if table.class_of.iter().any(|(&code, &of)| of == class && code != class) {
            return Err(Error::new(abi::ERR_OTHER, "the error class still has error codes"));
        }
        if table.strings.contains_key(&class) {
            return Err(Error::new(abi::ERR_OTHER, "the error class still has an error string"));
        }
        table.class_of.remove(&class);
        Ok(())
    })
}

/// `MPI_Remove_error_code`
pub fn remove_code(t: &mut Token, code: i32) -> Result<()> {
    change(t, |table| {
        match table.class_of.get(&code) {
            Some(&class) if class != code => {}
            _ => return Err(Error::new(abi::ERR_ARG, "no such user-defined error code")),
        }
        if table.strings.contains_key(&code) {
            return Err(Error::new(abi::ERR_OTHER, "the error code still has an error string"));
        }
        table.class_of.remove(&code);
        Ok(())
    })
}

/// `MPI_Remove_error_string`
pub fn remove_string(t: &mut Token, code: i32) -> Result<()> {
    change(t, |table| {
        table
            .strings
            .remove(&code)
            .map(drop)
            .ok_or(Error::new(abi::ERR_ARG, "the code has no user-defined error string"))
    })
}

fn change(t: &mut Token, f: impl FnOnce(&mut ErrorTable) -> Result<()>) -> Result<()> {
    let mut state = t.lock();
    f(&mut state.errors)?;
    state.predefined.last_used_code = state.errors.last_used();
    Ok(())
}
