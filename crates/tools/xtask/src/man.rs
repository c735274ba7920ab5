//! Manual pages: one per row of the function table, with links for the twin and the profiling names.

use std::fmt::Write;
use std::path::Path;

use function_table::{Function, Table, c};

use crate::words::{describe, errors, notes};

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
        let _ = write!(text, ".TP\n.I {}\n{}\n", argument.name, describe(argument, italic));
    }
    let _ = write!(text, ".SH ERRORS\n{}\n.SH NOTES\n{}\n", errors(function, italic), notes(function));
    text
}

fn italic(name: &str) -> String {
    format!("\\fI{name}\\fR")
}
