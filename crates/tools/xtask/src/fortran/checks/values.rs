//! What each argument is in the checks: the same for the program in Fortran and for the C functions that see its calls.

use function_table::fortran::{Dummy, Form, Procedure, Width};
use function_table::{Argument, Direction, Length, Mark, Shape};

/// Text that goes in, and comes out.
pub const TEXT: [&str; 2] = ["a text", "an answer"];

/// What the array of an argument begins with, or what it is. Each argument has numbers of its own; those of kinds with 64 bits do
/// not fit into 32.
pub fn number(procedure: &Procedure<'_>, dummy: &Dummy<'_>, out: bool) -> i64 {
    let all = &procedure.entry.function.arguments;
    let at = all.iter().position(|it| it.name == dummy.argument.name).expect("the row's own") as i64;
    let own = 100 * (at + 1);
    match dummy.form {
        Form::Integer(_) if !out && is_length(procedure, dummy.argument) => 2,
        // Room for text.
        Form::Integer(_) if !out && bounds_text(procedure, dummy.argument) => 40,
        // The process is the one with the commands.
        Form::Integer(_) if !out && dummy.argument.name == "root" => 2,
        Form::Integer(_) if out && matches!(dummy.argument.word(), "strlen" | "textlen") => {
            TEXT[1].len() as i64
        }
        Form::Integer(Width::Default) if out && dummy.argument.is(Mark::Index) => own,
        Form::Integer(width) => own + i64::from(out) * 7 + if width == Width::Default { 0 } else { 1 << 40 },
        Form::Handle(_) => own + 70_000 + i64::from(out) * 7,
        Form::Pointer => (1 << 40) + own,
        _ => own,
    }
}

/// Whether it says how many elements another argument has.
pub fn is_length(procedure: &Procedure<'_>, argument: &Argument) -> bool {
    let length = Shape::Array(Length::Argument(argument.name.clone()));
    let commands = argument.name == "count"
        && procedure
            .entry
            .function
            .arguments
            .iter()
            .any(|it| it.marks.iter().any(|mark| matches!(mark, Mark::Per(_))))
        && argument.word() == "int";
    commands || procedure.entry.function.arguments.iter().any(|it| it.shape == length)
}

/// Whether it bounds text that comes out.
pub fn bounds_text(procedure: &Procedure<'_>, argument: &Argument) -> bool {
    procedure.entry.function.arguments.iter().any(|it| match &it.shape {
        Shape::Bounded(bound) => bound.trim_end_matches("+1") == argument.name,
        _ => false,
    })
}

/// Whether C sees what the program has given, and so can compare it.
pub fn goes_in(dummy: &Dummy<'_>) -> bool {
    dummy.argument.direction != Direction::Out
}

/// Whether the program sees what C has given.
pub fn comes_out(dummy: &Dummy<'_>) -> bool {
    dummy.argument.direction != Direction::In
}

/// Whether the function behind it is another procedure's: where kinds coincide, one name calls the one with small counts.
pub fn is_hidden(procedure: &Procedure<'_>) -> bool {
    let mut entry = procedure.entry;
    entry.wide = false;
    let small = Procedure { entry };
    procedure.is_large()
        && small.generic() == procedure.generic()
        && small.signature() == procedure.signature()
}
