//! Interface bodies of procedures.

use std::fmt::Write;

use function_table::fortran::{Dummy, Form, Procedure, Width};

/// Which module a body is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Module {
    /// `mpi`: handles are integers, buffers addresses.
    Mpi,
    /// The same with C pointers for addresses of memory.
    MpiPointers,
    /// `mpi_f08`: handles have types, buffers are of assumed rank.
    F08,
}

/// Asks compilers not to look at type, kind and rank of a buffer.
const ANY: &str = "\
        !DIR$ IGNORE_TKR {}
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: {}
        !$PRAGMA IGNORE_TKR {}
        !IBM* IGNORE_TKR {}
";

/// One body, called `name`, which the linker finds as `symbol` where that is not for the compiler to say.
pub fn body(procedure: &Procedure<'_>, module: Module, name: &str, symbol: Option<&str>) -> String {
    let mut text = String::new();
    let dummies = procedure.dummies();
    let mut names: Vec<&str> = dummies.iter().map(Dummy::name).collect();
    if procedure.has_ierror() {
        names.push("ierror");
    }
    let bind = symbol.map_or(String::new(), |symbol| format!(" bind(C, name=\"{symbol}\")"));
    let word = if procedure.returns().is_some() { "function" } else { "subroutine" };
    let _ = writeln!(text, "      {word} {name}({}){bind}", names.join(", "));
    let _ = writeln!(text, "        import\n        implicit none");
    if let Some(returns) = procedure.returns() {
        let kind = if returns == Form::Double { "double precision" } else { "integer(MPI_ADDRESS_KIND)" };
        let _ = writeln!(text, "        {kind} :: {name}");
    }
    for dummy in sorted(&dummies) {
        text += &declaration(dummy, procedure, module);
    }
    if procedure.has_ierror() {
        let optional = if module == Module::F08 { "optional, " } else { "" };
        let _ = writeln!(text, "        integer, {optional}intent(out) :: ierror");
    }
    let _ = writeln!(text, "      end {word} {name}");
    text
}

/// The procedure `name`, with the body of `of`: compilers read a third less than with two bodies.
pub fn twin(name: &str, of: &str, symbol: Option<&str>) -> String {
    let bind = symbol.map_or(String::new(), |symbol| format!(", bind(C, name=\"{symbol}\")"));
    format!("    procedure({of}){bind} :: {name}\n")
}

/// A name for several procedures.
pub fn generic(name: &str, specific: impl IntoIterator<Item = String>) -> String {
    let specific: String =
        specific.into_iter().map(|specific| format!("      procedure {specific}\n")).collect();
    format!("    interface {name}\n{specific}    end interface\n")
}

/// What bounds of others name comes first.
fn sorted<'a>(dummies: &'a [Dummy<'a>]) -> impl Iterator<Item = &'a Dummy<'a>> {
    let first = |it: &&Dummy<'_>| it.name() == "count";
    dummies.iter().filter(first).chain(dummies.iter().filter(move |it| !first(it)))
}

fn declaration(dummy: &Dummy<'_>, procedure: &Procedure<'_>, module: Module) -> String {
    let name = dummy.name();
    if let Form::Procedure(kind) = dummy.form {
        return match module {
            Module::F08 => format!("        procedure(MPI_{kind}) :: {name}\n"),
            _ => format!("        external :: {name}\n"),
        };
    }
    let intent = dummy.intent().map_or(String::new(), |intent| format!(", intent({intent})"));
    if let Form::Choice { .. } = dummy.form {
        if module != Module::F08 {
            return format!("{}        real :: {name}(*)\n", ANY.replace("{}", name));
        }
        let asynchronous = if procedure.keeps_buffers() { ", asynchronous" } else { "" };
        return format!("        type(*), dimension(..){intent}{asynchronous} :: {name}\n");
    }
    // Not all compilers have text of any length in `bind(C)`; as what may be anything it comes as the same descriptor.
    if dummy.form == Form::TextIn && module == Module::F08 && procedure.has_choice() {
        return format!("        type(*), dimension(..){intent} :: {name}\n");
    }
    // A default LOGICAL is none of C's types, which `bind(C)` asks for from F2008 on; of what may be anything the address comes, too.
    if dummy.form == Form::Logical && module == Module::F08 && procedure.has_choice() {
        return format!("        type(*) :: {name}\n");
    }
    if dummy.form == Form::Pointer
        && module == Module::Mpi
        && dummy.argument.is(function_table::Mark::Detached)
    {
        return format!("{}        real :: {name}(*)\n", ANY.replace("{}", name));
    }
    let asynchronous = if dummy.is_kept() && module == Module::F08 { ", asynchronous" } else { "" };
    format!("        {}{intent}{asynchronous} :: {name}{}\n", kind(dummy, module), bounds(dummy, module))
}

fn bounds(dummy: &Dummy<'_>, module: Module) -> &'static str {
    match (dummy.form, module) {
        (Form::Status, Module::F08) => dummy.bounds(),
        (Form::Status, _) if dummy.is_array() => "(8, *)",
        (Form::Status, _) => "(8)",
        _ => dummy.bounds(),
    }
}

fn kind(dummy: &Dummy<'_>, module: Module) -> String {
    match dummy.form {
        Form::Integer(Width::Default) => "integer".into(),
        Form::Integer(Width::Address) => "integer(MPI_ADDRESS_KIND)".into(),
        Form::Integer(Width::Count) => "integer(MPI_COUNT_KIND)".into(),
        Form::Integer(Width::Offset) => "integer(MPI_OFFSET_KIND)".into(),
        Form::Double => "double precision".into(),
        Form::Logical => "logical".into(),
        Form::Handle(handle) if module == Module::F08 => format!("type(MPI_{handle})"),
        Form::Status if module == Module::F08 => "type(MPI_Status)".into(),
        Form::Handle(_) | Form::Status => "integer".into(),
        // In `bind(C)`, text of any length would come as a descriptor, which not all compilers have.
        Form::TextIn | Form::TextOut => "character(len=*)".into(),
        Form::Pointer if module == Module::Mpi => "integer(MPI_ADDRESS_KIND)".into(),
        Form::Pointer => "type(c_ptr)".into(),
        Form::Choice { .. } | Form::Procedure(_) => unreachable!("declared above"),
    }
}
