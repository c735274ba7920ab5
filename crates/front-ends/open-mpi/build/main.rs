//! Generates the entry points of Open MPI's ABI and names the library.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let further = ["-Wl,-Bsymbolic-functions", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../.."];
    function_table::link::name_the_library("libmpi.so.40", &further, &out);
    let table = function_table::table().expect("the function table is well-formed");
    let dialect = dialect_table::open_mpi().expect("the table of Open MPI's ABI is well-formed");
    let files = [
        ("functions.rs", dialect_table::generate(&dialect, &table)),
        ("by_hand.rs", dialect_table::BY_HAND.to_string()),
        ("former.rs", dialect_table::FORMER.to_string()),
    ];
    for (name, text) in files {
        fs::write(out.join(name), text).expect("cargo's OUT_DIR is writable");
    }
}
