//! The module `mpi`.

use std::fmt::Write;

use function_table::Table;
use function_table::fortran::{Procedure, procedures};

use super::constants::{OBJECTS, PREDEFINED, values};
use super::interface::{Module, body};

const OPENING: &str = "\
! The module mpi of MPI 5.0, standard ABI: constants and interfaces, no code.
! Generated from Alhena's function table.
module mpi
  use, intrinsic :: iso_c_binding, only: c_ptr, c_char, c_int
  implicit none
  public
  private :: c_ptr, c_char, c_int
";

/// The whole module.
pub fn render(table: &Table) -> String {
    let mut text = String::from(OPENING);
    parameters(&mut text, false);
    objects(&mut text);
    for procedure in procedures(table).filter(Procedure::in_older) {
        let name = procedure.name();
        for prefix in ["MPI_", "PMPI_"] {
            let own = format!("{prefix}{name}");
            let pointers = procedure.has_pointer();
            // Only what has two bodies has a generic name: by one of those, an element of an array does not stand for the array.
            let _ =
                writeln!(text, "    interface{}", if pointers { format!(" {own}") } else { String::new() });
            text += &body(&procedure, Module::Mpi, &own, None);
            if pointers {
                text += &body(&procedure, Module::MpiPointers, &format!("{own}_cptr"), None);
            }
            text += "    end interface\n";
        }
    }
    text += "    interface\n";
    for name in PREDEFINED {
        text += &predefined(name);
    }
    text += "    end interface\n";
    text += EXTRA;
    super::folded(&(text + "end module mpi\n"))
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

fn objects(text: &mut String) {
    for (name, symbol, kind) in OBJECTS {
        let declared = match kind {
            "status" => "integer(c_int), dimension(8)",
            "statuses" => "integer(c_int), dimension(8, 1)",
            "text" => "character(kind=c_char), dimension(16)",
            "texts" => "character(kind=c_char), dimension(16, 1)",
            _ => "integer(c_int), dimension(4)",
        };
        let _ = writeln!(text, "  {declared}, bind(C, name=\"{symbol}_\") :: {name}");
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
