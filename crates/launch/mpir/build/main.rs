//! Compiles what debuggers look for. They find the type of the table by its name in debug information, so it has that always.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=src/mpir.c");
    cc::Build::new().file("src/mpir.c").debug(true).opt_level(0).warnings(true).compile("mpir");
}
