//! `mpif.h`: fixed and free form at once, so each line is a statement that begins in column 7 and ends before column 73.

use std::fmt::Write;

use super::constants::{OBJECTS, PREDEFINED, declared, values};

const OPENING: &str = "\
! mpif.h: the oldest Fortran interface of MPI 5.0, standard ABI.
! Generated from Alhena's function table.
";

/// The whole header.
pub fn render() -> String {
    let mut text = String::from(OPENING);
    let mut line = |statement: String| {
        let _ = writeln!(text, "      {statement}");
    };
    for constant in values() {
        let kind = if constant.offset { "INTEGER(KIND=8)" } else { "INTEGER" };
        line(format!("{kind} {}", constant.name));
        line(format!("PARAMETER ({}={})", constant.name, constant.value));
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        line(format!("LOGICAL {name}"));
        line(format!("PARAMETER ({name}=.FALSE.)"));
    }
    for (name, symbol, kind) in OBJECTS {
        line(declared(name, kind));
        line(format!("COMMON /{symbol}/ {name}"));
        line(format!("SAVE /{symbol}/"));
    }
    // MPI_AINT_ADD and MPI_AINT_DIFF are the program's to declare, as with other libraries.
    for name in ["MPI_WTIME", "MPI_WTICK", "PMPI_WTIME", "PMPI_WTICK"] {
        line(format!("DOUBLE PRECISION {name}"));
        line(format!("EXTERNAL {name}"));
    }
    for name in PREDEFINED {
        line(format!("EXTERNAL {name}"));
    }
    text
}
