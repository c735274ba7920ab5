//! Functions that call others keep a record of their caller's frame pointer and return address, to which x29 leads.

use super::is_in_shim;
use crate::Frame;

/// The address that the program's call returns to.
pub fn of(frame: &Frame) -> usize {
    let (mut here, mut record) = (frame.return_address, frame.frame_pointer);
    while is_in_shim(here) && record != 0 {
        // SAFETY: the calling convention has the frame pointer lead to the caller's one and the return address.
        [record, here] = unsafe { *(record as *const [usize; 2]) };
    }
    here
}
