//! Generates the entry points of Open MPI's ABI and names the library.
#![forbid(unsafe_code)]

fn main() {
    let dialect = dialect_table::open_mpi().expect("the table of Open MPI's ABI is well-formed");
    dialect_table::build(&dialect);
}
