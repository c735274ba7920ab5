//! What the C library gets to know of the Fortran compiler (MPI-5.0 section 20.3), when the program is loaded.

use core::ffi::CStr;

use crate::place::P;
use crate::{library, logical, origin};

unsafe extern "C" {
    fn PMPI_Info_create(info: P) -> i32;
    fn PMPI_Info_set(info: usize, key: P, value: P) -> i32;
    fn PMPI_Info_free(info: P) -> i32;
    fn PMPI_Abi_get_fortran_booleans(size: i32, yes: P, no: P, is_set: P) -> i32;
    fn PMPI_Abi_set_fortran_booleans(size: i32, yes: P, no: P) -> i32;
    fn PMPI_Abi_get_fortran_info(info: P) -> i32;
    fn PMPI_Abi_set_fortran_info(info: usize) -> i32;
}

/// Sizes of the default types. `DOUBLE PRECISION` and its complex type are in each compiler.
const SIZES: [(&CStr, &CStr); 5] = [
    (c"mpi_logical_size", c"4"),
    (c"mpi_integer_size", c"4"),
    (c"mpi_real_size", c"4"),
    (c"mpi_double_precision_size", c"8"),
    (c"mpi_double_complex_supported", c"true"),
];

/// Types that a compiler may have, each with the number of its bit in [`origin::kinds`], which the wrappers set as the compiler
/// answers (`FACTS` there). A complex type has the bit of its parts.
const KINDS: [(&CStr, u32); 18] = [
    (c"mpi_logical1_supported", 0),
    (c"mpi_logical2_supported", 1),
    (c"mpi_logical4_supported", 2),
    (c"mpi_logical8_supported", 3),
    (c"mpi_logical16_supported", 4),
    (c"mpi_integer1_supported", 5),
    (c"mpi_integer2_supported", 6),
    (c"mpi_integer4_supported", 7),
    (c"mpi_integer8_supported", 8),
    (c"mpi_integer16_supported", 9),
    (c"mpi_real2_supported", 10),
    (c"mpi_real4_supported", 11),
    (c"mpi_real8_supported", 12),
    (c"mpi_real16_supported", 13),
    (c"mpi_complex4_supported", 10),
    (c"mpi_complex8_supported", 11),
    (c"mpi_complex16_supported", 12),
    (c"mpi_complex32_supported", 13),
];

/// The kinds of gfortran: all but `REAL(2)`.
const OF_GFORTRAN: usize = 0x3bff;

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = tell;

/// What Intel's compilers have for `.true.`, in a program with their run-time library. Programs of MPICH's ABI may be
/// theirs, and nothing else in them tells it.
fn of_intel() -> Option<i32> {
    (cfg!(dialect = "mpich") && ffi::weak_address!("for_rtl_init_") != 0).then_some(-1)
}

/// A program that has set these properties by itself keeps what it set.
extern "C" fn tell() {
    // The wrappers state what the program's compiler has for `.true.` where it is not 1.
    let stated = origin::value_of_true().or_else(of_intel);
    logical::set_true(stated.unwrap_or(1));
    // Other C libraries may answer these functions only between initialisation and finalisation.
    if !origin::is_kept() {
        return;
    }
    let kinds = origin::kinds().unwrap_or(OF_GFORTRAN);
    tell_booleans(stated.unwrap_or(1), kinds);
    let mut info = library::info_null();
    // SAFETY: the functions may be called at any time; all answers have places of their own.
    unsafe {
        PMPI_Abi_get_fortran_info(&raw mut info as P);
        if info != library::info_null() {
            PMPI_Info_free(&raw mut info as P);
            return;
        }
        PMPI_Info_create(&raw mut info as P);
        for (key, value) in SIZES {
            PMPI_Info_set(info, key.as_ptr() as P, value.as_ptr() as P);
        }
        for (key, bit) in KINDS {
            let value = if kinds >> bit & 1 == 1 { c"true" } else { c"false" };
            PMPI_Info_set(info, key.as_ptr() as P, value.as_ptr() as P);
        }
        PMPI_Abi_set_fortran_info(info);
        PMPI_Info_free(&raw mut info as P);
    }
}

/// Truth values of each `LOGICAL` that the compiler has.
fn tell_booleans(value: i32, kinds: usize) {
    for size in (0..5).filter(|bit| kinds >> bit & 1 == 1).map(|bit| 1 << bit) {
        let (mut yes, mut no, mut is_set) = (i128::from(value), 0_i128, 0_i32);
        let (yes_place, no_place) = (&raw mut yes as P, &raw mut no as P);
        // SAFETY: as in `tell`; the bytes of a LOGICAL are the first of these numbers, as they are in memory.
        unsafe {
            PMPI_Abi_get_fortran_booleans(size, yes_place, no_place, &raw mut is_set as P);
            if is_set == 0 {
                PMPI_Abi_set_fortran_booleans(size, yes_place, no_place);
            } else if size == 4 {
                logical::set_true(yes as i32);
            }
        }
    }
}
