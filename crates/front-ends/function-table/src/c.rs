//! The C side of a row: declarations for the header, the man pages and the tests.

use crate::model::*;

/// The prototype of `entry` with `prefix` (`MPI_` or `PMPI_`), without a semicolon.
pub fn prototype(entry: Entry<'_>, prefix: &str) -> String {
    let function = entry.function;
    let mut parameters: Vec<String> =
        function.arguments.iter().map(|argument| declaration(argument, entry.wide)).collect();
    if function.variadic {
        parameters.push("...".into());
    }
    if parameters.is_empty() {
        parameters.push("void".into());
    }
    let returns = function.returns.map_or("int", |kind| kind.c);
    format!("{returns} {prefix}{}({})", entry.name(), parameters.join(", "))
}

/// One parameter as C declares it.
pub fn declaration(argument: &Argument, wide: bool) -> String {
    let name = &argument.name;
    let kind = match &argument.what {
        // Function types of the tool interface are passed as such and decay to pointers.
        What::Callback(callback) if callback.starts_with("T_") => return format!("MPI_{callback} {name}"),
        What::Callback(callback) => return format!("MPI_{callback} *{name}"),
        What::Kind(kind) => kind,
    };
    let c = if wide { kind.wide_c } else { kind.c };
    let input = argument.direction == Direction::In;
    match (kind.word, &argument.shape) {
        ("range", _) => format!("{c} {name}[][3]"),
        ("str", Shape::Array(_)) => format!("{c} *{name}[]"),
        ("argv", Shape::Array(_)) => format!("{c}*{name}[]"),
        ("argv", _) => format!("{c}{name}[]"),
        ("str", Shape::One) => format!("const {c} *{name}"),
        ("chars", _) => format!("const {c} {name}[]"),
        ("status", _) if input => format!("const {c} *{name}"),
        ("status", _) => format!("{c} *{name}"),
        // MPI passes the address of a pointer as `void *`, so that any pointer type fits.
        ("ptr" | "mainargc" | "mainargv", _) => format!("{c}{name}"),
        ("buf" | "cbuf", _) => format!("{c}{name}"),
        (_, Shape::Array(_)) if input => format!("const {c} {name}[]"),
        (_, Shape::Array(_)) => format!("{c} {name}[]"),
        (_, Shape::Bounded(_)) => format!("{c} *{name}"),
        (_, Shape::One) if input => format!("{c} {name}"),
        (_, Shape::One) => format!("{c} *{name}"),
    }
}
