// Predefined attributes: pointers to numbers, some of which the ABI has other values for.

use core::sync::atomic::{AtomicI32, Ordering};

use crate::functions::{errcode, flavor, keyval, model, rank};

/// What a predefined attribute points to, where its value is not ours: source of input and output, host, last error code, and
/// the flavours and models of windows, which differ between windows.
static CONTENT: [AtomicI32; 11] = [const { AtomicI32::new(0) }; 11];

/// Has the program see the value that its ABI has for a predefined attribute.
///
/// # Safety
/// `value` and `flag` are the program's, and the standard function has written them.
pub unsafe fn give(key: i32, value: P, flag: P) {
    // SAFETY: the caller's promise.
    if value.is_null() || flag.is_null() || unsafe { *flag.cast::<i32>() } == 0 {
        return;
    }
    // Fortran has integers for values.
    let is_integer = origin::has_integers(value);
    // SAFETY: as above; a predefined attribute points to a number, or is one.
    let number = || unsafe { if is_integer { *value.cast::<i64>() as i32 } else { *(*value.cast::<*const i32>()) } };
    let (at, content) = match keyval::of(key) {
        abi::IO => (0, rank::to(number())),
        abi::HOST => (1, rank::to(number())),
        abi::LASTUSEDCODE => (2, errcode::to(number())),
        abi::WIN_CREATE_FLAVOR => (3 + flavor::to(number()).clamp(0, 4) as usize, flavor::to(number())),
        abi::WIN_MODEL => (8 + model::to(number()).clamp(0, 2) as usize, model::to(number())),
        _ => return,
    };
    if is_integer {
        // SAFETY: as above.
        unsafe { *value.cast::<i64>() = i64::from(content) };
        return;
    }
    CONTENT[at].store(content, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { *value.cast::<*const i32>() = CONTENT[at].as_ptr() };
}
