//! Generates the Fortran procedures from the function table and names the library.
#![forbid(unsafe_code)]

mod argument;
mod procedure;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    name_the_library(&out);
    let table = function_table::table().expect("the function table is well-formed");
    let text: String =
        function_table::fortran::procedures(&table).map(|it| procedure::generate(&table, it)).collect();
    fs::write(out.join("procedures.rs"), text).expect("cargo's OUT_DIR is writable");
}

/// The library calls the C functions of whichever library has the standard ABI's name. An empty library of that name stands
/// for it here, so that the loader looks for it and nothing of the real one has to be built first.
fn name_the_library(out: &Path) {
    let stand_in = out.join("libmpi_abi.so");
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "/dev/null", "-o"])
        .arg(&stand_in)
        .status()
        .expect("cc links Rust programs too");
    assert!(status.success(), "cc makes no shared library: {status}");
    let arguments = [
        "-Wl,-soname,libmpifort_abi.so.1".to_string(),
        "-Wl,-z,nodelete".to_string(),
        // The C library of the same installation, for programs that the linker lets need this library alone.
        "-Wl,--enable-new-dtags,-rpath,$ORIGIN".to_string(),
        format!("-Wl,--push-state,--no-as-needed,{},--pop-state", stand_in.display()),
    ];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
