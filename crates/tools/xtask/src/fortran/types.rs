//! The module `alhena_types`, which both others use: types of handles and of a status with what compares and converts them, and the
//! objects that stand for a meaning. Compilers read each module that a program's module uses, so it is small.

use std::fmt::Write;

use function_table::fortran::HANDLES;

use super::constants::OBJECTS;
use super::interface::twin;

const OPENING: &str = "\
! What the modules mpi and mpi_f08 share: types, and objects with a meaning of their own.
! Generated from Alhena's function table.
module alhena_types
  use, intrinsic :: iso_c_binding, only: c_char, c_int
  implicit none
  public
  private :: c_char, c_int
  type, bind(C) :: MPI_Status
    integer(c_int) :: MPI_SOURCE
    integer(c_int) :: MPI_TAG
    integer(c_int) :: MPI_ERROR
    integer(c_int) :: MPI_INTERNAL(5)
  end type
";

/// The whole module.
pub fn render() -> String {
    let mut text = String::from(OPENING);
    for handle in HANDLES {
        let _ = writeln!(text, "  type, bind(C) :: MPI_{handle}\n    integer(c_int) :: MPI_VAL\n  end type");
    }
    objects(&mut text);
    comparisons(&mut text);
    text += CONVERSIONS;
    for name in ["Status_f2f08", "Status_f082f"] {
        text += &twin(&format!("PMPI_{name}"), &format!("MPI_{name}"), None);
    }
    super::folded(&(text + "end module alhena_types\n"))
}

fn objects(text: &mut String) {
    for (name, symbol, kind) in OBJECTS {
        let declared = match kind {
            "status" => "integer(c_int), dimension(8)",
            "statuses" => "integer(c_int), dimension(8, 1)",
            "text" => "character(kind=c_char), dimension(16)",
            "texts" => "character(kind=c_char), dimension(16, 1)",
            _ => "integer(c_int), dimension(4)",
        };
        // `c_loc` is to take it.
        let target = if name == "MPI_BUFFER_AUTOMATIC" { ", target" } else { "" };
        let _ = writeln!(text, "  {declared}{target}, bind(C, name=\"{symbol}_\") :: {name}");
    }
}

/// Handles are compared by one procedure for all types, which has a name for each: a result of default LOGICAL is none of C's types,
/// so that `bind(C)` could not name it.
fn comparisons(text: &mut String) {
    for (operator, word) in [("==", "eq"), ("/=", "ne")] {
        let _ = writeln!(text, "  interface operator({operator})");
        for handle in HANDLES {
            let _ = write!(
                text,
                "      function MPI_{handle}_{word}(left, right) result(same)\n        \
                 import\n        implicit none\n        type(MPI_{handle}), intent(in) :: left, right\n        \
                 logical :: same\n      end function\n"
            );
        }
        text.push_str("  end interface\n");
    }
}

const CONVERSIONS: &str = "    interface
      subroutine MPI_Status_f2f08(f_status, f08_status, ierror)
        import
        implicit none
        integer, intent(in) :: f_status(8)
        type(MPI_Status), intent(out) :: f08_status
        integer, optional, intent(out) :: ierror
      end subroutine
      subroutine MPI_Status_f082f(f08_status, f_status, ierror)
        import
        implicit none
        type(MPI_Status), intent(in) :: f08_status
        integer, intent(out) :: f_status(8)
        integer, optional, intent(out) :: ierror
      end subroutine
    end interface
";
