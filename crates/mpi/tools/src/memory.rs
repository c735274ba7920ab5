//! Values of control variables in the caller's memory.
#![allow(unsafe_code)]

use std::ffi::CStr;

use abi::Address;

/// The string at the address that a tool passes to write a control variable of characters.
pub fn text<'a>(address: Address) -> Option<&'a CStr> {
    if address.0 == 0 {
        return None;
    }
    // SAFETY: not NULL, and MPI-5.0 section 15.3.6.3 makes the caller pass a string where the variable is one.
    Some(unsafe { CStr::from_ptr(address.0 as *const std::ffi::c_char) })
}
