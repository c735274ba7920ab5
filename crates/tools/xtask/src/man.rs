//! Manual pages: one per row of the function table, with links for the twin and the profiling names.

use std::fmt::Write;
use std::path::Path;

use function_table::{Argument, Direction, Function, Length, OnObject, Shape, Table, What, c};

/// Writes the pages to `directory/man3`.
pub fn write(table: &Table, directory: &Path) -> Result<(), String> {
    let section = directory.join("man3");
    for function in &table.functions {
        let page = format!("MPI_{}.3", function.name);
        crate::write(&section.join(&page), &render(table, function))?;
        for entry in function.entries().filter(|entry| entry.wide) {
            let link = section.join(format!("MPI_{}.3", entry.name()));
            crate::write(&link, &format!(".so man3/{page}\n"))?;
        }
    }
    Ok(())
}

fn render(table: &Table, function: &Function) -> String {
    let chapter = &table.chapters[function.chapter];
    let name = &function.name;
    let mut text = format!(
        ".TH MPI_{name} 3 \"\" Alhena \"MPI 5.0\"\n\
         .SH NAME\nMPI_{name} \\- MPI 5.0, chapter {}: {}\n\
         .SH SYNOPSIS\n.nf\n#include <mpi.h>\n\n",
        chapter.number, chapter.title
    );
    for entry in function.entries() {
        let _ = writeln!(text, "{};", c::prototype(entry, "MPI_"));
    }
    text.push_str(".fi\n");
    if !function.arguments.is_empty() {
        text.push_str(".SH ARGUMENTS\n");
    }
    for argument in &function.arguments {
        let _ = write!(text, ".TP\n.I {}\n{}\n", argument.name, describe(argument));
    }
    let _ = write!(text, ".SH ERRORS\n{}\n.SH NOTES\n{}\n", errors(function), notes(function));
    text
}

/// Direction, kind and extent of an argument.
fn describe(argument: &Argument) -> String {
    let direction = match argument.direction {
        Direction::In => "IN",
        Direction::Out => "OUT",
        Direction::InOut => "INOUT",
    };
    let kind = match &argument.what {
        What::Callback(name) => format!("function of type MPI_{name}"),
        What::Kind(kind) => kind.c.trim_end_matches([' ', '*']).to_string(),
    };
    let extent = match &argument.shape {
        Shape::One => String::new(),
        Shape::Array(Length::Argument(length)) => format!(", array of \\fI{length}\\fR elements"),
        Shape::Array(Length::Known) => ", array".into(),
        Shape::Bounded(bound) if bound.starts_with("MAX_") => format!(", at most MPI_{bound} bytes"),
        Shape::Bounded(bound) => format!(", room for \\fI{bound}\\fR bytes"),
    };
    let optional = if argument.optional { ", may be NULL" } else { "" };
    format!("{direction}: {kind}{extent}{optional}")
}

fn errors(function: &Function) -> String {
    let on = match function.on() {
        _ if function.returns.is_some() => return "None.".into(),
        OnObject::Nothing => {
            return "Returned as the value of the function; no error handler is called.".into();
        }
        OnObject::Argument(argument) => format!("\\fI{}\\fR", argument.name),
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

fn notes(function: &Function) -> String {
    let mut notes = Vec::new();
    if function.anytime {
        notes.push("May be called before MPI_Init and after MPI_Finalize.");
    }
    if function.deprecated {
        notes.push("Deprecated.");
    }
    if function.target.is_none() {
        notes.push("Not implemented yet: answers MPI_ERR_UNSUPPORTED_OPERATION.");
    }
    notes.push("Also callable under its profiling name, PMPI_.");
    notes.join("\n")
}
