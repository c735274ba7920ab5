//! How the library of a front-end is linked that calls `libmpi_abi.so.1`, for its build script.

use std::path::Path;
use std::process::Command;

/// Names the library and has it need `libmpi_abi.so.1`. An empty library of that name stands for it here, so that the loader
/// looks for it and nothing of the real one has to be built first. `further`: arguments for the linker besides.
///
/// # Panics
/// The linker that Rust programs need, too, makes no shared library.
pub fn name_the_library(soname: &str, further: &[&str], out: &Path) {
    let stand_in = out.join("libmpi_abi.so");
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "/dev/null", "-o"])
        .arg(&stand_in)
        .status()
        .expect("cc links Rust programs too");
    assert!(status.success(), "cc makes no shared library: {status}");
    let own = [
        format!("-Wl,-soname,{soname}"),
        "-Wl,-z,nodelete".to_string(),
        format!("-Wl,--push-state,--no-as-needed,{},--pop-state", stand_in.display()),
    ];
    for argument in own.iter().map(String::as_str).chain(further.iter().copied()) {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
