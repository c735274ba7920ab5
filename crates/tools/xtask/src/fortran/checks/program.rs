//! A program that calls each procedure of an interface once, with arguments of known values, and compares the answers.

use std::fmt::Write;

use function_table::fortran::{Dummy, Form, Procedure, Width};
use function_table::{Mark, Table};

use super::values::{TEXT, comes_out, goes_in, is_hidden, number};

/// An interface.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// `mpif.h`
    Header,
    /// `use mpi`
    Mpi,
    /// `use mpi_f08`
    F08,
}

/// Between conditions that must all hold.
const AND: &str = ";";

const VARIABLES: &str = "\
  double precision :: buf(8)
";

/// The whole program.
pub fn render(tables: &[&Table], interface: Interface) -> String {
    let mut text = String::from("program all\n");
    text += match interface {
        Interface::Header => {
            "  implicit none\n  include 'mpif.h'\n  include 'mpif-ext.h'\n  external :: user\n"
        }
        Interface::Mpi => "  use mpi\n  use mpi_ext\n  implicit none\n  external :: user\n",
        Interface::F08 => {
            "  use mpi_f08\n  use mpi_f08_ext\n  use, intrinsic :: iso_c_binding, only: c_ptr, c_intptr_t\n  implicit none\n"
        }
    };
    if interface == Interface::Header {
        for name in ["MPI_Aint_add", "MPI_Aint_diff", "PMPI_Aint_add", "PMPI_Aint_diff"] {
            let _ = writeln!(text, "  integer(MPI_ADDRESS_KIND), external :: {name}");
        }
    }
    text += VARIABLES;
    text += "  call check_buffer(buf)\n";
    let (mut calls, mut bodies) = (String::new(), String::new());
    for (at, (table, entry)) in super::functions(tables).enumerate() {
        let procedure = Procedure { entry };
        let there = !entry.function.is_tool() && !entry.function.c_only && !is_hidden(&procedure);
        let of_interface = match interface {
            Interface::F08 => procedure.in_f08(table),
            _ => procedure.in_older(),
        };
        if there && of_interface {
            let _ = writeln!(calls, "  call s{at}()");
            bodies += &one(&procedure, table.prefix, at, interface);
        }
    }
    text += &calls;
    text += "  call check_over()\ncontains\n";
    text += &bodies;
    text += "  subroutine check(good, what)\n    logical, intent(in) :: good\n    character(len=*), intent(in) :: what\n    \
             call check_answer(merge(1, 0, good), what)\n  end subroutine\n";
    text += "end program\n";
    if interface != Interface::F08 {
        text += "subroutine user()\nend subroutine\n";
    }
    super::super::folded(&text)
}

fn one(procedure: &Procedure<'_>, own_prefix: &str, at: usize, interface: Interface) -> String {
    let dummies = procedure.dummies();
    let variable =
        |dummy: &Dummy<'_>| !matches!(dummy.form, Form::Choice { .. }) && !is_user(dummy, interface);
    let mut text = format!("  subroutine s{at}()\n    integer :: ierror\n");
    for dummy in dummies.iter().filter(|it| variable(it)) {
        let _ = writeln!(text, "    {}", declared(dummy, interface));
    }
    match procedure.returns() {
        Some(Form::Double) => text += "    double precision :: result\n",
        Some(_) => text += "    integer(MPI_ADDRESS_KIND) :: result\n",
        None => {}
    }
    for (own, before) in ["", "P"].into_iter().enumerate() {
        let prefix = format!("{before}{own_prefix}");
        let name = if interface == Interface::F08 { procedure.generic() } else { procedure.name() };
        for dummy in dummies.iter().filter(|it| variable(it)) {
            text += &set(procedure, dummy, interface);
        }
        let mut actual: Vec<String> = dummies.iter().map(|it| argument(it, interface)).collect();
        if procedure.has_ierror() {
            text += "    ierror = -1\n";
            actual.push("ierror".into());
        }
        let arguments = actual.join(", ");
        let _ = writeln!(text, "    call check_next({})", 2 * at + own);
        let _ = match procedure.returns() {
            Some(_) => writeln!(text, "    result = {prefix}{name}({arguments})"),
            None => writeln!(text, "    call {prefix}{name}({arguments})"),
        };
        let _ = writeln!(text, "    call check_called('{prefix}{}')", procedure.name());
        if procedure.has_ierror() {
            text += "    call check(ierror == 0, 'ierror')\n";
        }
        match procedure.returns() {
            Some(Form::Double) => text += "    call check(result == 2.5d0, 'the result')\n",
            Some(_) => text += "    call check(result == 1099511627781_MPI_ADDRESS_KIND, 'the result')\n",
            None => {}
        }
        for dummy in dummies.iter().filter(|it| variable(it) && comes_out(it)) {
            text += &got(procedure, dummy, interface);
        }
    }
    text + "  end subroutine\n"
}

/// A procedure of the program that all interfaces but `mpi_f08` take without an interface of its own.
fn is_user(dummy: &Dummy<'_>, interface: Interface) -> bool {
    matches!(dummy.form, Form::Procedure(_)) && interface != Interface::F08
}

fn name(dummy: &Dummy<'_>) -> String {
    format!("v_{}", dummy.name())
}

fn argument(dummy: &Dummy<'_>, interface: Interface) -> String {
    match dummy.form {
        Form::Choice { .. } => "buf".into(),
        Form::Pointer if dummy.argument.is(Mark::Detached) && interface != Interface::F08 => "buf".into(),
        _ if is_user(dummy, interface) => "user".into(),
        _ => name(dummy),
    }
}

fn kind(width: Width) -> &'static str {
    match width {
        Width::Default => "",
        Width::Address => "_MPI_ADDRESS_KIND",
        Width::Count => "_MPI_COUNT_KIND",
        Width::Offset => "_MPI_OFFSET_KIND",
    }
}

fn declared(dummy: &Dummy<'_>, interface: Interface) -> String {
    let typed = interface == Interface::F08;
    let bounds = match (dummy.bounds(), dummy.form, dummy.is_array()) {
        ("(3, *)", ..) => "(3, 8)",
        ("(count, *)", ..) => "(2, 8)",
        (_, Form::Status, true) if !typed => "(8, 8)",
        (_, Form::Status, false) if !typed => "(8)",
        (_, _, true) => "(8)",
        _ => "",
    };
    let of = match dummy.form {
        Form::Integer(Width::Default) => "integer".into(),
        Form::Integer(width) => format!("integer({})", &kind(width)[1..]),
        Form::Double => "double precision".into(),
        Form::Logical => "logical".into(),
        Form::Handle(handle) if typed => format!("type(MPI_{handle})"),
        Form::Status if typed => "type(MPI_Status)".into(),
        Form::Handle(_) | Form::Status => "integer".into(),
        Form::TextIn | Form::TextOut => "character(len=16)".into(),
        Form::Pointer if typed => "type(c_ptr)".into(),
        Form::Pointer => "integer(MPI_ADDRESS_KIND)".into(),
        Form::Procedure(kind) => format!("procedure(MPI_{kind}), pointer"),
        Form::Choice { .. } => unreachable!("has no variable of its own"),
    };
    format!("{of} :: {}{bounds}", name(dummy))
}

fn set(procedure: &Procedure<'_>, dummy: &Dummy<'_>, interface: Interface) -> String {
    let (n, value) = (name(dummy), number(procedure, dummy, false));
    let typed = interface == Interface::F08;
    let all = format!("[({value} + ierror, ierror = 0, 7)]");
    let statement = match dummy.form {
        Form::Procedure(_) => format!("{n} => null()"),
        Form::Pointer | Form::Choice { .. } => return String::new(),
        _ if !goes_in(dummy) && dummy.form == Form::TextOut => format!("{n} = 'x'"),
        Form::Integer(_) if dummy.bounds() == "(3, *)" => {
            format!("{n} = reshape([({value} + ierror, ierror = 0, 23)], [3, 8])")
        }
        Form::Integer(Width::Default) if dummy.is_array() => format!("{n} = {all}"),
        Form::Integer(width) if dummy.is_array() => {
            let kind = kind(width);
            format!("{n} = [({value}{kind} + ierror, ierror = 0, 7)]")
        }
        Form::Integer(width) => format!("{n} = {value}{}", kind(width)),
        Form::Double => format!("{n} = 1"),
        Form::Logical if dummy.is_array() => format!("{n} = [(mod(ierror, 2) == 0, ierror = 0, 7)]"),
        Form::Logical => format!("{n} = .true."),
        Form::Handle(_) if typed && dummy.is_array() => format!("{n}%MPI_VAL = {all}"),
        Form::Handle(_) if typed => format!("{n}%MPI_VAL = {value}"),
        Form::Handle(_) if dummy.is_array() => format!("{n} = {all}"),
        Form::Handle(_) => format!("{n} = {value}"),
        Form::Status if typed && !dummy.is_array() => {
            format!("{n}%MPI_SOURCE = {value}; {n}%MPI_TAG = {value} + 1")
        }
        Form::Status if dummy.is_array() => return String::new(),
        Form::Status => format!("{n}(MPI_SOURCE) = {value}; {n}(MPI_TAG) = {value} + 1"),
        Form::TextIn if dummy.bounds() == "(count, *)" => {
            format!("{n} = ' '; {n}(:, 1) = '{}'", TEXT[0])
        }
        Form::TextIn if dummy.is_array() && dummy.argument.word() == "argv" => {
            format!("{n} = ' '; {n}(1) = '{}'", TEXT[0])
        }
        Form::TextIn | Form::TextOut => format!("{n} = '{}'", TEXT[0]),
    };
    format!("    {statement}\n")
}

fn got(procedure: &Procedure<'_>, dummy: &Dummy<'_>, interface: Interface) -> String {
    let (n, value) = (name(dummy), number(procedure, dummy, true));
    let typed = interface == Interface::F08;
    let from_one = i64::from(dummy.argument.is(Mark::Index));
    let arrays = dummy.is_array();
    // Each condition has a line of its own: older compilers have lines of 132 columns.
    let good = match dummy.form {
        Form::Integer(width) if arrays => {
            let element = |at: i64| format!("{n}({at}) == {}{}", value + at - 1 + from_one, kind(width));
            [element(1), element(2)].join(AND)
        }
        Form::Integer(width) => format!("{n} == {}{}", value + from_one, kind(width)),
        Form::Logical if arrays => format!("{n}(1){AND}.not. {n}(2)"),
        Form::Logical => n,
        Form::Handle(_) => {
            let part = if typed { "%MPI_VAL" } else { "" };
            match arrays {
                true => format!("{n}(1){part} == {value}{AND}{n}(2){part} == {value} + 1"),
                false => format!("{n}{part} == {value}"),
            }
        }
        Form::Status => match (typed, arrays) {
            (true, true) => format!("{n}(2)%MPI_SOURCE == {value}{AND}{n}(2)%MPI_TAG == {value} + 1"),
            (true, false) => format!("{n}%MPI_SOURCE == {value}{AND}{n}%MPI_TAG == {value} + 1"),
            (false, true) => format!("{n}(MPI_SOURCE, 2) == {value}{AND}{n}(MPI_TAG, 2) == {value} + 1"),
            (false, false) => format!("{n}(MPI_SOURCE) == {value}{AND}{n}(MPI_TAG) == {value} + 1"),
        },
        Form::TextOut => format!("{n} == '{}'", TEXT[1]),
        Form::Pointer if dummy.argument.is(Mark::Detached) => return String::new(),
        Form::Pointer if typed => format!("transfer({n}, 0_c_intptr_t) == {value}_c_intptr_t"),
        Form::Pointer => format!("{n} == {value}_MPI_ADDRESS_KIND"),
        Form::Choice { .. } | Form::TextIn | Form::Double | Form::Procedure(_) => return String::new(),
    };
    good.split(AND).map(|good| format!("    call check({good}, '{}')\n", dummy.name())).collect()
}
