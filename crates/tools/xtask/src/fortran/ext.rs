//! What lies beyond the standard, in files that have the names of Open MPI's: `mpif-ext.h`, and the modules `mpi_ext` and `mpi_f08_ext`.

use std::fmt::Write;

use abi::extension::CLASSES;
use function_table::Table;

use super::{f08, mpi};

const OPENING: &str = "\
! User-level failure mitigation (ULFM), which is no part of MPI 5.0.
! Generated from Alhena's function table. Start the job with mpiexec -with-ft ulfm.
";

/// What a source can ask for, and the error classes.
fn constants() -> impl Iterator<Item = (&'static str, i32)> {
    [("OMPI_HAVE_MPI_EXT", 1), ("OMPI_HAVE_MPI_EXT_FTMPI", 1)].into_iter().chain(CLASSES)
}

/// `mpif-ext.h`, in fixed and free form as `mpif.h`.
pub fn header() -> String {
    let mut text = String::from(OPENING);
    for (name, value) in constants() {
        let _ = write!(text, "      INTEGER {name}\n      PARAMETER ({name}={value})\n");
    }
    text
}

/// The module `mpi_ext`.
pub fn module(extensions: &Table) -> String {
    let mut text = opening("mpi_ext", "");
    mpi::interfaces(&mut text, extensions);
    super::folded(&(text + "end module mpi_ext\n"))
}

/// The module `mpi_f08_ext`.
pub fn module_f08(extensions: &Table) -> String {
    let mut text = opening("mpi_f08_ext", "  use alhena_types, only: MPI_Comm, MPI_Group, MPI_Request\n");
    f08::interfaces(&mut text, extensions);
    super::folded(&(text + "end module mpi_f08_ext\n"))
}

fn opening(name: &str, uses: &str) -> String {
    let mut text = format!("{OPENING}module {name}\n{uses}  implicit none\n  public\n");
    for (name, value) in constants() {
        let _ = writeln!(text, "  integer, parameter :: {name} = {value}");
    }
    text
}
