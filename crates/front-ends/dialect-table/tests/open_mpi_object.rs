//! Handles of Open MPI's dialect, which are addresses of objects. Its library exports all names of MPI, so no test is built with it; this
//! crate stands beside it.

#[allow(dead_code, reason = "the library uses the rest")]
#[path = "../../open-mpi/src/object.rs"]
mod object;

use object::{Object, dynamic, value};

#[test]
fn the_first_word_of_an_object_is_the_value() {
    let object = Object::<64>::of(0x101);
    assert_eq!(value((&raw const object).expose_provenance()), 0x101);
}

#[test]
fn the_handle_of_what_a_program_made_has_the_value() {
    for ours in [0x1000, 0x0400_0000, 0x7fff_ffff] {
        assert_eq!(value(dynamic(ours)), ours);
    }
}

#[test]
fn what_is_no_object_has_none() {
    let object = Object::<64>::of(0x101);
    let address = (&raw const object).expose_provenance();
    for handle in [0, 1, 8, 4088, 4095, 4097, address + 1, address + 4, 1 << 62, 1 << 57, (1 << 63) - 8] {
        assert_eq!(value(handle), 0, "{handle:#x}");
    }
}
