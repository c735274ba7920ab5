//! Generates the entry points of MPICH's ABI and names the library.
#![forbid(unsafe_code)]

fn main() {
    let dialect = dialect_table::mpich().expect("the table of MPICH's ABI is well-formed");
    dialect_table::build(&dialect);
}
