//! Programs that call every procedure of an interface once. They are compiled and linked to see that each interface body agrees
//! with a call as the standard has it, and that the library has what the compiler asks for; the calls are never reached.

use std::fmt::Write;
use std::path::Path;

use function_table::Table;
use function_table::fortran::{Dummy, Form, HANDLES, Procedure, Width, procedures};

/// An interface.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interface {
    Header,
    Mpi,
    F08,
}

/// Writes a program for each interface.
pub fn write(table: &Table, folder: &Path) -> Result<(), String> {
    for (name, interface) in
        [("header", Interface::Header), ("module", Interface::Mpi), ("f08", Interface::F08)]
    {
        let text = program(table, interface);
        crate::write(&folder.join(format!("all-{name}.f90")), &text)?;
    }
    Ok(())
}

fn program(table: &Table, interface: Interface) -> String {
    let calls: Vec<String> = procedures(table)
        .filter(|it| is_there(it, table, interface))
        .flat_map(|it| ["MPI_", "PMPI_"].map(|prefix| call(&it, prefix, interface)))
        .collect();
    let mut text = String::from("program all\n");
    text += match interface {
        Interface::Header => "  implicit none\n  include 'mpif.h'\n",
        Interface::Mpi => "  use mpi\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  implicit none\n",
        Interface::F08 => "  use mpi_f08\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  implicit none\n",
    };
    text += VARIABLES;
    variables(&mut text, table, interface);
    // The compiler cannot know how many arguments there are.
    text += "  if (command_argument_count() > 0) then\n";
    for call in &calls {
        let _ = writeln!(text, "    {call}");
    }
    let _ = writeln!(text, "  end if\n  print '(a, i0)', 'procedures: ', {}", calls.len() / 2);
    text += "end program\n";
    if interface != Interface::F08 {
        text += "subroutine user()\nend subroutine\n";
    }
    super::folded(&text)
}

/// Large counts are there for `mpi_f08` alone; where kinds coincide both names call the same procedure.
fn is_there(procedure: &Procedure<'_>, table: &Table, interface: Interface) -> bool {
    match interface {
        Interface::F08 => procedure.in_f08(table),
        _ => procedure.in_older(),
    }
}

const VARIABLES: &str = "\
  integer :: i, ia(8), ra(3, 8)
  integer(MPI_ADDRESS_KIND) :: a, aa(8)
  integer(MPI_COUNT_KIND) :: c, ca(8)
  integer(MPI_OFFSET_KIND) :: o
  double precision :: d, buf(8)
  logical :: l, la(8)
  character(len=16) :: t, ta(8), tt(2, 8)
";

fn variables(text: &mut String, table: &Table, interface: Interface) {
    if interface != Interface::F08 {
        text.push_str("  integer :: s(8), sa(8, 8)\n  external :: user\n");
        if interface == Interface::Header {
            text.push_str("  integer(MPI_ADDRESS_KIND), external :: MPI_Aint_add, MPI_Aint_diff\n");
            text.push_str("  integer(MPI_ADDRESS_KIND), external :: PMPI_Aint_add, PMPI_Aint_diff\n");
        }
        return;
    }
    text.push_str("  type(c_ptr) :: p\n  type(MPI_Status) :: s, sa(8)\n");
    for handle in HANDLES {
        let _ = writeln!(text, "  type(MPI_{handle}) :: h_{handle}, ha_{handle}(8)");
    }
    let mut kinds: Vec<String> = procedures(table)
        .filter(|it| it.in_f08(table))
        .flat_map(|it| it.dummies().iter().filter_map(user_function).collect::<Vec<_>>())
        .collect();
    kinds.sort();
    kinds.dedup();
    for kind in kinds {
        let _ = writeln!(text, "  procedure(MPI_{kind}), pointer :: u_{kind}");
    }
}

fn user_function(dummy: &Dummy<'_>) -> Option<String> {
    if let Form::Procedure(kind) = dummy.form { Some(kind.to_string()) } else { None }
}

fn call(procedure: &Procedure<'_>, prefix: &str, interface: Interface) -> String {
    let mut actual: Vec<String> = procedure.dummies().iter().map(|it| argument(it, interface)).collect();
    if procedure.has_ierror() {
        actual.push("i".into());
    }
    let name = if interface == Interface::F08 { procedure.generic() } else { procedure.name() };
    let arguments = actual.join(", ");
    match procedure.returns() {
        Some(Form::Double) => format!("d = {prefix}{name}({arguments})"),
        Some(_) => format!("a = {prefix}{name}({arguments})"),
        None => format!("call {prefix}{name}({arguments})"),
    }
}

fn argument(dummy: &Dummy<'_>, interface: Interface) -> String {
    let several = dummy.is_array();
    let of = |one: &str, array: &str| if several { array.to_string() } else { one.to_string() };
    let typed = interface == Interface::F08;
    match dummy.form {
        Form::Choice { .. } => "buf".into(),
        Form::Integer(_) if dummy.bounds() == "(3, *)" => "ra".into(),
        Form::Integer(Width::Default) => of("i", "ia"),
        Form::Integer(Width::Address) => of("a", "aa"),
        Form::Integer(Width::Count) => of("c", "ca"),
        Form::Integer(Width::Offset) => "o".into(),
        Form::Double => "d".into(),
        Form::Logical => of("l", "la"),
        Form::Handle(handle) if typed => of(&format!("h_{handle}"), &format!("ha_{handle}")),
        Form::Handle(_) => of("i", "ia"),
        Form::Status => of("s", "sa"),
        Form::TextIn | Form::TextOut if dummy.bounds() == "(count, *)" => "tt".into(),
        Form::TextIn | Form::TextOut => of("t", "ta"),
        Form::Pointer if typed => "p".into(),
        Form::Pointer if dummy.argument.is(function_table::Mark::Detached) => "buf".into(),
        Form::Pointer => "a".into(),
        Form::Procedure(kind) if typed => format!("u_{kind}"),
        Form::Procedure(_) => "user".into(),
    }
}
