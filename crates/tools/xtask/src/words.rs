//! What the table says about a function in words, for manual pages and for the pages of the book.

use function_table::{Argument, Direction, Function, Length, OnObject, Shape, What};

/// How the name of an argument is set.
pub type Emphasis = fn(&str) -> String;

/// Direction, kind and extent of an argument.
pub fn describe(argument: &Argument, name: Emphasis) -> String {
    let direction = match argument.direction {
        Direction::In => "IN",
        Direction::Out => "OUT",
        Direction::InOut => "INOUT",
    };
    let kind = match &argument.what {
        What::Callback(name) => format!("function of type MPI_{name}"),
        What::Kind(kind) => match kind.c.trim_end_matches([' ', '*']).trim_start_matches("const ") {
            "void" => "address".into(),
            "char" if kind.c.contains('*') => "strings".into(),
            "char" => "string".into(),
            other => other.into(),
        },
    };
    let extent = match &argument.shape {
        Shape::One => String::new(),
        Shape::Array(Length::Argument(length)) => format!(", array of {} elements", name(length)),
        Shape::Array(Length::Known) => ", array".into(),
        Shape::Bounded(bound) if bound.starts_with("MAX_") => format!(", at most MPI_{bound} bytes"),
        Shape::Bounded(bound) => format!(", room for {} bytes", name(bound)),
    };
    let optional = if argument.optional { ", may be NULL" } else { "" };
    format!("{direction}: {kind}{extent}{optional}")
}

/// Where an error of the function goes.
pub fn errors(function: &Function, name: Emphasis) -> String {
    let on = match function.on() {
        _ if function.returns.is_some() => return "None.".into(),
        OnObject::Nothing => {
            return "Returned as the value of the function; no error handler is called.".into();
        }
        OnObject::Argument(argument) => name(&argument.name),
        OnObject::FileNull => "MPI_FILE_NULL".into(),
        OnObject::CommSelf if takes_request(function) => {
            "the communicator of the request, else on MPI_COMM_SELF".into()
        }
        OnObject::CommSelf => "MPI_COMM_SELF".into(),
    };
    format!("Raised on {on}: its error handler decides whether the error code is returned.")
}

fn takes_request(function: &Function) -> bool {
    function
        .arguments
        .iter()
        .any(|argument| argument.word() == "request" && argument.direction != Direction::Out)
}

/// What else there is to know, a sentence each.
pub fn notes(function: &Function) -> String {
    let mut notes = Vec::new();
    if function.anytime {
        notes.push("May be called before MPI_Init and after MPI_Finalize.".to_string());
    }
    if function.deprecated {
        notes.push("Deprecated.".into());
    }
    notes.push(format!("Also callable under its profiling name, PMPI_{}.", function.name));
    notes.join("\n")
}
