//! The Fortran interfaces as text: `mpif.h`, the modules `mpi` and `mpi_f08`. They hold constants and interface bodies only, so
//! that no object file of theirs is needed: every procedure is in `libmpifort_abi`.

mod checks;
mod constants;
mod ext;
mod f08;
mod header;
mod interface;
mod mpi;
mod types;

use std::path::Path;

pub use checks::write as write_checks;

use function_table::Table;

/// Writes the headers and the modules.
pub fn write(table: &Table, extensions: &Table, folder: &Path) -> Result<(), String> {
    crate::write(&folder.join("mpif-ext.h"), &ext::header())?;
    crate::write(&folder.join("mpi_ext.f90"), &ext::module(extensions))?;
    crate::write(&folder.join("mpi_f08_ext.f90"), &ext::module_f08(extensions))?;
    crate::write(&folder.join("mpif.h"), &header::render())?;
    crate::write(&folder.join("alhena_types.f90"), &types::render())?;
    crate::write(&folder.join("mpi.f90"), &mpi::render(table))?;
    crate::write(&folder.join("mpi_f08.f90"), &f08::render(table))
}

/// Breaks lines of free form at 100 columns.
fn folded(text: &str) -> String {
    let mut folded = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut column = 0;
        for word in line.split_inclusive(", ") {
            if column + word.len() > 100 && !line.trim_start().starts_with('!') {
                folded.push_str("&\n");
                folded.push_str(&" ".repeat(indent + 4));
                column = indent + 4;
            }
            folded.push_str(word);
            column += word.len();
        }
        folded.push('\n');
    }
    folded
}
