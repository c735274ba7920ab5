//! How a front-end's library is linked, for its build script.

use std::path::Path;
use std::process::Command;

/// Names the library and has it need `libmpi_abi.so.1`, which holds the engine. An empty library of that name stands for it
/// here, so that the loader looks for it and nothing of the real one has to be built first.
///
/// # Panics
/// The linker that Rust programs need, too, makes no shared library.
pub fn name_the_library(soname: &str, out: &Path) {
    let stand_in = out.join("libmpi_abi.so");
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "/dev/null", "-o"])
        .arg(&stand_in)
        .status()
        .expect("cc links Rust programs too");
    assert!(status.success(), "cc makes no shared library: {status}");
    let arguments = [
        format!("-Wl,-soname,{soname}"),
        "-Wl,-z,nodelete".to_string(),
        // MPI_X jumps to the PMPI_X beside it. Data stays where the executable has it.
        "-Wl,-Bsymbolic-functions".to_string(),
        "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../..".to_string(),
        format!("-Wl,--push-state,--no-as-needed,{},--pop-state", stand_in.display()),
    ];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
