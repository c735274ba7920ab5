//! How the library of a front-end is linked that calls another library of this installation, for its build script.

use std::env;
use std::path::Path;
use std::process::Command;

/// Names the library and has it need others. An empty library of that name stands for each here, so that the loader looks for it
/// and nothing of the real one has to be built first. `further`: arguments for the linker besides.
///
/// # Panics
/// The linker that Rust programs need, too, makes no shared library.
pub fn name_the_library(soname: &str, needed: &[&str], further: &[&str], out: &Path) {
    let mut own = vec![format!("-Wl,-soname,{soname}"), "-Wl,-z,nodelete".to_string()];
    // The one that links for the target, which may be another processor; cargo names it where it is not the usual one.
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    for name in needed {
        let stand_in = out.join(name);
        let status = Command::new(&linker)
            .args(["-shared", "-nostdlib", &format!("-Wl,-soname,{name}"), "-x", "c", "/dev/null", "-o"])
            .arg(&stand_in)
            .status()
            .expect("the linker links Rust programs too");
        assert!(status.success(), "{linker:?} makes no shared library: {status}");
        own.push(format!("-Wl,--push-state,--no-as-needed,{},--pop-state", stand_in.display()));
    }
    for argument in own.iter().map(String::as_str).chain(further.iter().copied()) {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
