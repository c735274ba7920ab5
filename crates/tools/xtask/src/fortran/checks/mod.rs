//! Checks of every procedure: programs that call each one, in each interface, and a C library that sees the calls.
//!
//! ```text
//!   all-f08.f90: call MPI_Send(buf, 200, type, 400, …) ──▶ libmpifort_abi ──▶ library.c: MPI_Send(buf, 200, …) as it must be
//!                status as it must be ◀──────────────────────────────────── answers
//! ```

mod library;
mod program;
mod values;

use std::path::Path;

use function_table::{Entry, Table};

use program::Interface;

/// Writes the library and a program for each interface.
pub fn write(tables: &[&Table], folder: &Path) -> Result<(), String> {
    crate::write(&folder.join("library.c"), &library::render(tables))?;
    for (name, interface) in
        [("header", Interface::Header), ("module", Interface::Mpi), ("f08", Interface::F08)]
    {
        crate::write(&folder.join(format!("all-{name}.f90")), &program::render(tables, interface))?;
    }
    Ok(())
}

/// All functions, each with its table.
fn functions<'a>(tables: &'a [&'a Table]) -> impl Iterator<Item = (&'a Table, Entry<'a>)> {
    tables.iter().flat_map(|table| table.entries().map(|entry| (*table, entry)))
}
