//! Handles: the integer of a handle of this ABI is its number (MPI-5.0 section 20.2).

/// The C handle of an integer.
#[inline(always)]
pub fn of(handle: i32) -> usize {
    handle as u32 as usize
}

/// The integer of a C handle.
#[inline(always)]
pub fn to(handle: usize) -> i32 {
    handle as u32 as i32
}

/// The C handles of an array.
///
/// # Safety
/// The array has as many elements.
pub unsafe fn list(handles: *const i32, length: i64) -> Vec<usize> {
    // SAFETY: the caller's promise.
    (0..length.max(0) as usize).map(|at| of(unsafe { *handles.add(at) })).collect()
}

/// Writes C handles to an array.
///
/// # Safety
/// The array has as many elements as the list.
pub unsafe fn give_list(handles: *mut i32, list: &[usize]) {
    for (at, handle) in list.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { *handles.add(at) = to(*handle) };
    }
}
