//! Generates the Fortran procedures over the standard ABI's C library and names the library.
#![forbid(unsafe_code)]

fn main() {
    fortran_table::build("libmpifort_abi.so.1", None);
}
