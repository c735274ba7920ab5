//! Generates the Fortran procedures from the function table and names the library.
#![forbid(unsafe_code)]

mod argument;
mod procedure;

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // The C library of the same installation, for programs that the linker lets need this library alone.
    let place = "-Wl,--enable-new-dtags,-rpath,$ORIGIN";
    function_table::link::name_the_library("libmpifort_abi.so.1", &[place], &out);
    let table = function_table::table().expect("the function table is well-formed");
    let text: String =
        function_table::fortran::procedures(&table).map(|it| procedure::generate(&table, it)).collect();
    fs::write(out.join("procedures.rs"), text).expect("cargo's OUT_DIR is writable");
}
