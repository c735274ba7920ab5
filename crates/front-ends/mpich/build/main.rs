//! Generates the entry points of MPICH's ABI and names the library.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    name_the_library(&out);
    let table = function_table::table().expect("the function table is well-formed");
    let dialect = dialect_table::mpich().expect("the table of MPICH's ABI is well-formed");
    fs::write(out.join("functions.rs"), dialect_table::generate(&dialect, &table))
        .expect("cargo's OUT_DIR is writable");
}

/// The engine is in the library of the standard ABI. An empty library of that name stands for it here, so that the loader looks
/// for it and nothing of the real one has to be built first.
fn name_the_library(out: &Path) {
    let stand_in = out.join("libmpi_abi.so");
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "/dev/null", "-o"])
        .arg(&stand_in)
        .status()
        .expect("cc links Rust programs too");
    assert!(status.success(), "cc makes no shared library: {status}");
    let arguments = [
        "-Wl,-soname,libmpi.so.12".to_string(),
        "-Wl,-z,nodelete".to_string(),
        // MPI_X jumps to the PMPI_X beside it. Data stays where the executable has it.
        "-Wl,-Bsymbolic-functions".to_string(),
        "-Wl,--enable-new-dtags,-rpath,$ORIGIN/..:$ORIGIN/../..:$ORIGIN".to_string(),
        format!("-Wl,--push-state,--no-as-needed,{},--pop-state", stand_in.display()),
    ];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
