//! Compiles what debuggers look for. They find the type of the table by its name in debug information, so it has that always.
#![forbid(unsafe_code)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=src/mpir.c");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let mut build = cc::Build::new();
    build.file("src/mpir.c").debug(true).opt_level(0).warnings(true);
    // Debug information names the folder of the sources as rustc's does, so that two folders give the same bytes.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    for map in flags.split('\u{1f}').filter_map(|flag| flag.strip_prefix("--remap-path-prefix=")) {
        build.flag(format!("-ffile-prefix-map={map}"));
    }
    build.compile("mpir");
}
