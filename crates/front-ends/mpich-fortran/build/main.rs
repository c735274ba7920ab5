//! Generates the Fortran procedures over MPICH's ABI and names the library.
#![forbid(unsafe_code)]

fn main() {
    let dialect = dialect_table::mpich().expect("the table of MPICH's ABI is well-formed");
    fortran_table::build("libmpifort.so.12", Some(&dialect));
}
