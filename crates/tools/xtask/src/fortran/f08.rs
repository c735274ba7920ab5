//! The module `mpi_f08`.

use std::collections::BTreeMap;
use std::fmt::Write;

use function_table::Table;
use function_table::fortran::{HANDLES, Procedure, procedures};

use super::constants::OBJECTS;
use super::interface::{Module, body};
use super::mpi::parameters;

const OPENING: &str = "\
! The module mpi_f08 of MPI 5.0, standard ABI: constants, types and interfaces, no code.
! Generated from Alhena's function table.
module mpi_f08
  use mpi, only: SHARED
  use, intrinsic :: iso_c_binding, only: c_ptr, c_char, c_int
  implicit none
  public
  private :: c_ptr, c_char, c_int
  type, bind(C) :: MPI_Status
    integer(c_int) :: MPI_SOURCE
    integer(c_int) :: MPI_TAG
    integer(c_int) :: MPI_ERROR
    integer(c_int) :: MPI_internal(5)
  end type
";

/// The whole module.
pub fn render(table: &Table) -> String {
    let shared = OBJECTS.iter().filter(|(_, _, kind)| !kind.starts_with("status"));
    let shared: Vec<&str> = shared.map(|(name, ..)| *name).collect();
    let mut text = OPENING.replace("SHARED", &shared.join(", "));
    for handle in HANDLES {
        let _ = writeln!(text, "  type, bind(C) :: MPI_{handle}\n    integer(c_int) :: MPI_VAL\n  end type");
    }
    parameters(&mut text, true);
    objects(&mut text);
    text += ABSTRACT;
    comparisons(&mut text);
    let mut generics: BTreeMap<String, Vec<Procedure<'_>>> = BTreeMap::new();
    for procedure in procedures(table).filter(|it| it.in_f08(table)) {
        let same = generics.entry(procedure.generic()).or_default();
        // Where kinds coincide, the procedure with small counts stays.
        if !same.iter().any(|other| other.signature() == procedure.signature()) {
            same.push(procedure);
        }
    }
    for (name, procedures) in &generics {
        for prefix in ["MPI_", "PMPI_"] {
            let _ = writeln!(text, "    interface {prefix}{name}");
            for procedure in procedures {
                text += &one(procedure, prefix);
            }
            text += "    end interface\n";
        }
    }
    super::folded(&(text + EXTRA + "end module mpi_f08\n"))
}

fn one(procedure: &Procedure<'_>, prefix: &str) -> String {
    let end = if procedure.has_choice() { "f08ts" } else { "f08" };
    let name = format!("{prefix}{}_{end}", procedure.name());
    let symbol = format!("{}_", name.to_lowercase());
    // Only where buffers come as descriptors must the compiler call as C does.
    body(procedure, Module::F08, &name, procedure.has_choice().then_some(symbol.as_str()))
}

/// Statuses have a type here. The other objects are those of the module `mpi`, so that a program may use both.
fn objects(text: &mut String) {
    for (name, bounds) in [("STATUS_IGNORE", ""), ("STATUSES_IGNORE", ", dimension(1)")] {
        let symbol = name.to_lowercase();
        let _ =
            writeln!(text, "  type(MPI_Status){bounds}, bind(C, name=\"mpi_f08_{symbol}_\") :: MPI_{name}");
    }
}

/// Handles are compared by one procedure for all types.
fn comparisons(text: &mut String) {
    for (operator, name) in [("==", "mpi_handle_eq_f08_"), ("/=", "mpi_handle_ne_f08_")] {
        let _ = writeln!(text, "  interface operator({operator})");
        for handle in HANDLES {
            let word = if operator == "==" { "eq" } else { "ne" };
            let _ = write!(
                text,
                "      function MPI_{handle}_{word}(left, right) result(same) bind(C, name=\"{name}\")\n        \
                 import\n        implicit none\n        type(MPI_{handle}), intent(in) :: left, right\n        \
                 logical :: same\n      end function\n"
            );
        }
        text.push_str("  end interface\n");
    }
}

/// Types of procedures that a program hands to MPI.
const ABSTRACT: &str = include_str!("abstract.f90");

/// What Fortran alone has.
const EXTRA: &str = r#"    interface MPI_Sizeof
      subroutine MPI_Sizeof_f08ts(x, size, ierror) bind(C, name="mpi_sizeof_f08ts_")
        type(*), dimension(..) :: x
        integer, intent(out) :: size
        integer, optional, intent(out) :: ierror
      end subroutine
    end interface
    interface MPI_F_sync_reg
      subroutine MPI_F_sync_reg_f08ts(buf) bind(C, name="mpi_f_sync_reg_f08ts_")
        type(*), dimension(..), asynchronous :: buf
      end subroutine
    end interface
    interface
      subroutine MPI_Status_f2f08(f_status, f08_status, ierror)
        import
        implicit none
        integer, intent(in) :: f_status(MPI_STATUS_SIZE)
        type(MPI_Status), intent(out) :: f08_status
        integer, optional, intent(out) :: ierror
      end subroutine
      subroutine MPI_Status_f082f(f08_status, f_status, ierror)
        import
        implicit none
        type(MPI_Status), intent(in) :: f08_status
        integer, intent(out) :: f_status(MPI_STATUS_SIZE)
        integer, optional, intent(out) :: ierror
      end subroutine
    end interface
"#;
