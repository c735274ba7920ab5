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

/// Sizes of the default types, and which types there are.
const FACTS: [(&CStr, &CStr); 19] = [
    (c"mpi_logical_size", c"4"),
    (c"mpi_integer_size", c"4"),
    (c"mpi_real_size", c"4"),
    (c"mpi_double_precision_size", c"8"),
    (c"mpi_logical1_supported", c"true"),
    (c"mpi_logical2_supported", c"true"),
    (c"mpi_logical4_supported", c"true"),
    (c"mpi_logical8_supported", c"true"),
    (c"mpi_logical16_supported", c"false"),
    (c"mpi_integer1_supported", c"true"),
    (c"mpi_integer2_supported", c"true"),
    (c"mpi_integer4_supported", c"true"),
    (c"mpi_integer8_supported", c"true"),
    (c"mpi_real2_supported", c"false"),
    (c"mpi_real4_supported", c"true"),
    (c"mpi_real8_supported", c"true"),
    (c"mpi_complex4_supported", c"false"),
    (c"mpi_complex8_supported", c"true"),
    (c"mpi_complex16_supported", c"true"),
];

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
    let (mut yes, mut no, mut is_set) = (stated.unwrap_or(1), 0_i32, 0_i32);
    let mut info = library::info_null();
    // SAFETY: the functions may be called at any time; all answers have places of their own.
    unsafe {
        PMPI_Abi_get_fortran_booleans(4, &raw mut yes as P, &raw mut no as P, &raw mut is_set as P);
        if is_set == 0 {
            PMPI_Abi_set_fortran_booleans(4, &raw mut yes as P, &raw mut no as P);
        } else {
            logical::set_true(yes);
        }
        PMPI_Abi_get_fortran_info(&raw mut info as P);
        if info != library::info_null() {
            PMPI_Info_free(&raw mut info as P);
            return;
        }
        PMPI_Info_create(&raw mut info as P);
        for (key, value) in FACTS {
            PMPI_Info_set(info, key.as_ptr() as P, value.as_ptr() as P);
        }
        PMPI_Abi_set_fortran_info(info);
        PMPI_Info_free(&raw mut info as P);
    }
}
