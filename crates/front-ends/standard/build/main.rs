//! Generates the C entry points from the function table and names the library.
#![forbid(unsafe_code)]

mod argument;
mod function;

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    name_the_library();
    let table = function_table::table().expect("the function table is well-formed");
    let extensions = function_table::extensions().expect("the table of extensions is well-formed");
    let removed = function_table::removed().expect("the table of removed functions is well-formed");
    let standard = table.entries().chain(removed.entries()).map(|entry| function::generate(entry, "MPI"));
    let beyond = extensions.entries().map(|entry| function::generate(entry, "MPIX"));
    let mut text: String = standard.chain(beyond).collect();
    text += &for_front_ends(&table, &extensions);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("functions.rs"), text).expect("cargo's OUT_DIR is writable");
}

/// The table by which other front-ends call, in the order of the function table.
fn for_front_ends(table: &function_table::Table, extensions: &function_table::Table) -> String {
    let functions: Vec<String> = function_table::for_front_ends(table, extensions)
        .map(|(entry, prefix)| format!("P{prefix}{} as *const ()", entry.name()))
        .collect();
    format!(
        "/// See `crate::front_end`.\n\
         #[unsafe(no_mangle)]\n\
         static alhena_front_end_v1: crate::front_end::Functions<{}> = crate::front_end::Functions {{ \
         version: {:#x}, functions: [{}] }};\n",
        functions.len(),
        function_table::version(table, extensions),
        functions.join(", ")
    )
}

fn name_the_library() {
    let arguments = [
        // The name that every MPI program asks the loader for.
        "-Wl,-soname,libmpi_abi.so.1",
        // Threads and exit handlers of the library outlive any dlclose.
        "-Wl,-z,nodelete",
        // MPI_X jumps to the PMPI_X beside it, not through the loader's table.
        "-Wl,-Bsymbolic-functions",
    ];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
