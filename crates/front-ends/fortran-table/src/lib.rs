//! Fortran's front-ends: every procedure, from the function table.
//!
//! A front-end of Fortran stands on a C library: that of the standard ABI, or that of a dialect, whose values, handles and
//! statuses are its own (`dialect-table`). The crate `fortran` has what the procedures share, once; a front-end is that source
//! with what [`build`] writes beside it:
//!
//! | file | what |
//! |---|---|
//! | `procedures.rs` | the procedures |
//! | `library.rs` | the values that the C library's functions take and give |
//! | `objects.rs` | what Fortran programs have by address, where C has numbers |
//! | `handles.rs` | the C library's functions between handles and integers |
//! | `functions.rs` | conversions of what a dialect's status has |
#![forbid(unsafe_code)]

mod argument;
mod library;
mod module;
mod objects;
mod procedure;

use std::path::PathBuf;
use std::{env, fs};

use dialect_table::Dialect;
use function_table::fortran::procedures;

/// The build script of a front-end over the C library of the standard ABI, or of a dialect.
///
/// # Panics
/// Where cargo or the system's linker is not as it must be.
pub fn build(soname: &str, dialect: Option<&Dialect>) {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // The C libraries of the same installation, for programs that the linker lets need this library alone.
    let (needed, place) = match dialect.map(|dialect| dialect.soname) {
        None => (vec!["libmpi_abi.so.1"], "-Wl,--enable-new-dtags,-rpath,$ORIGIN"),
        Some(name) => (vec![name, "libmpi_abi.so.1"], "-Wl,--enable-new-dtags,-rpath,$ORIGIN:$ORIGIN/../.."),
    };
    function_table::link::name_the_library(soname, &needed, &[place], &out);
    let table = function_table::table().expect("the function table is well-formed");
    let extensions = function_table::extensions().expect("the table of extensions is well-formed");
    let write =
        |name: &str, text: String| fs::write(out.join(name), text).expect("cargo's OUT_DIR is writable");
    let modules = dialect.map(module::generate).unwrap_or_default();
    write(
        "procedures.rs",
        [&table, &extensions]
            .into_iter()
            .flat_map(|table| procedures(table).map(|it| procedure::generate(table, it, dialect)))
            .chain([modules, module::of_interfaces()])
            .collect(),
    );
    write("library.rs", library::values(dialect));
    write("handles.rs", library::handles(dialect));
    write("objects.rs", objects::generate(dialect));
    println!("cargo::rustc-check-cfg=cfg(dialect, values(none(), \"mpich\", \"open-mpi\"))");
    if let Some(dialect) = dialect {
        write("functions.rs", dialect_table::of_status(dialect));
        let name = dialect.name.to_lowercase().replace(' ', "-");
        println!("cargo::rustc-cfg=dialect");
        println!("cargo::rustc-cfg=dialect=\"{name}\"");
    }
}
