//! The module `mpi`.

use std::fmt::Write;

use function_table::Table;
use function_table::fortran::{Procedure, procedures};

use super::constants::{PREDEFINED, values};
use super::interface::{Module, body, generic, twin};

const OPENING: &str = "\
! The module mpi of MPI 5.0, standard ABI: constants and interfaces, no code.
! Generated from Alhena's function table.
module mpi
  use alhena_types
  use, intrinsic :: iso_c_binding, only: c_ptr, c_char, c_int
  implicit none
  public
  private :: c_ptr, c_char, c_int
";

/// The whole module.
pub fn render(table: &Table) -> String {
    let mut text = String::from(OPENING);
    parameters(&mut text, false);
    interfaces(&mut text, table);
    text += "    interface\n";
    for name in PREDEFINED {
        text += &predefined(name);
    }
    text += "    end interface\n";
    text += EXTRA;
    text += &twin("PMPI_Sizeof_any", "MPI_Sizeof_any", Some("pmpi_sizeof_f08ts_"));
    text += &generic("PMPI_Sizeof", ["PMPI_Sizeof_any".to_string()]);
    text += &twin("PMPI_F_sync_reg", "MPI_F_sync_reg", None);
    super::folded(&(text + "end module mpi\n"))
}

/// All procedures of a table.
pub fn interfaces(text: &mut String, table: &Table) {
    for procedure in procedures(table).filter(Procedure::in_older) {
        let own = format!("{}{}", table.prefix, procedure.name());
        let twin_name = format!("P{own}");
        // Only what has two bodies has a generic name: by one of those, an element of an array does not stand for the array.
        if procedure.has_pointer() {
            *text += &two_bodies(&procedure, &own);
            *text += &two_bodies(&procedure, &twin_name);
        } else {
            *text +=
                &format!("    interface\n{}    end interface\n", body(&procedure, Module::Mpi, &own, None));
            *text += &twin(&twin_name, &own, None);
        }
    }
}

fn two_bodies(procedure: &Procedure<'_>, name: &str) -> String {
    let addresses = body(procedure, Module::Mpi, name, None);
    let pointers = body(procedure, Module::MpiPointers, &format!("{name}_cptr"), None);
    format!("    interface {name}\n{addresses}{pointers}    end interface\n")
}

/// Constants that have a value; with `types` handles have theirs.
pub fn parameters(text: &mut String, types: bool) {
    for constant in values() {
        let (name, value) = (constant.name, constant.value);
        let _ = match constant.handle {
            _ if constant.offset => {
                writeln!(text, "  integer(MPI_OFFSET_KIND), parameter :: {name} = {value}")
            }
            handle if types && !handle.is_empty() => {
                writeln!(text, "  type(MPI_{handle}), parameter :: {name} = MPI_{handle}({value})")
            }
            _ => writeln!(text, "  integer, parameter :: {name} = {value}"),
        };
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        let value = if types { ".true." } else { ".false." };
        let _ = writeln!(text, "  logical, parameter :: {name} = {value}");
    }
}

/// The interface of a procedure that is a number in C; its arguments are those that a program's has.
fn predefined(name: &str) -> String {
    let old = matches!(name, "MPI_NULL_COPY_FN" | "MPI_NULL_DELETE_FN" | "MPI_DUP_FN");
    let word = if old { "integer" } else { "integer(MPI_ADDRESS_KIND)" };
    let (dummies, declared) = if name.contains("CONVERSION") {
        (
            "userbuf, datatype, count, filebuf, position, extra_state, ierror",
            format!(
                "        real :: userbuf(*), filebuf(*)\n        integer :: datatype, count, ierror\n        \
                 integer(MPI_OFFSET_KIND) :: position\n        {word} :: extra_state\n",
            ),
        )
    } else if name.contains("DELETE") {
        (
            "object, keyval, attribute_val, extra_state, ierror",
            format!(
                "        integer :: object, keyval, ierror\n        {word} :: attribute_val, extra_state\n"
            ),
        )
    } else {
        (
            "oldobject, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror",
            format!(
                "        integer :: oldobject, keyval, ierror\n        {word} :: extra_state, attribute_val_in, \
                 attribute_val_out\n        logical :: flag\n"
            ),
        )
    };
    format!(
        "      subroutine {name}({dummies})\n        import\n        implicit none\n{declared}      end subroutine\n"
    )
}

/// What Fortran alone has.
const EXTRA: &str = r#"    interface MPI_Sizeof
      subroutine MPI_Sizeof_any(x, size, ierror) bind(C, name="mpi_sizeof_f08ts_")
        type(*), dimension(..) :: x
        integer, intent(out) :: size
        integer, optional, intent(out) :: ierror
      end subroutine
    end interface
    interface
      subroutine MPI_F_sync_reg(buf)
        !DIR$ IGNORE_TKR buf
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
        !$PRAGMA IGNORE_TKR buf
        !IBM* IGNORE_TKR buf
        real :: buf(*)
      end subroutine
    end interface
"#;
