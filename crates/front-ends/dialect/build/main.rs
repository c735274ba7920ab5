//! Writes the places of all functions in the engine's table.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let table = function_table::table().expect("the function table is well-formed");
    let extensions = function_table::extensions().expect("the table of extensions is well-formed");
    fs::write(out.join("rows.rs"), dialect_table::rows(&table, &extensions))
        .expect("cargo's OUT_DIR is writable");
}
