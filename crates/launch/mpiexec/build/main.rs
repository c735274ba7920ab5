//! Keeps the names that debuggers look for in a program that is stripped.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=MPIR_*");
}
