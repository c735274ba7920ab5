//! What the C++ bindings are compiled with: the header of another library's ABI, as far as they call it.

use std::fmt::Write;
use std::path::Path;

use dialect_table::{Dialect, Value};
use function_table::{Entry, Table, c};

use crate::write;

/// Writes `mpi.h` and `calls.h` of each ABI to a folder of its own.
pub fn write_all(table: &Table, folder: &Path) -> Result<(), String> {
    for (name, dialect) in [("mpich", dialect_table::mpich()?), ("open-mpi", dialect_table::open_mpi()?)] {
        write(&folder.join(name).join("mpi.h"), &header(&dialect, table))?;
        write(&folder.join(name).join("calls.h"), &calls(table))?;
    }
    Ok(())
}

/// The kinds of handles: the name in C, which the dialect's table has in small letters, and the tag of Open MPI's struct.
const HANDLES: [(&str, &str); 11] = [
    ("Comm", "communicator"),
    ("Datatype", "datatype"),
    ("Errhandler", "errhandler"),
    ("File", "file"),
    ("Group", "group"),
    ("Info", "info"),
    ("Message", "message"),
    ("Op", "op"),
    ("Request", "request"),
    ("Session", "instance"),
    ("Win", "win"),
];

fn header(dialect: &Dialect, table: &Table) -> String {
    let mut text = String::from("#pragma once\n#include <stddef.h>\nextern \"C\" {\n");
    let (offset, status) = if dialect.has_integers() {
        ("long", "int count_low, count_high_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR;")
    } else {
        ("long long", "int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled; size_t count;")
    };
    let _ =
        writeln!(text, "typedef long MPI_Aint;\ntypedef {offset} MPI_Offset;\ntypedef {offset} MPI_Count;");
    let _ = writeln!(text, "typedef int MPI_Fint;\ntypedef struct MPI_Status {{ {status} }} MPI_Status;");
    for (name, tag) in HANDLES {
        let _ = match name {
            "File" if dialect.has_integers() => writeln!(text, "typedef struct ADIOI_FileD *MPI_File;"),
            _ if dialect.has_integers() => writeln!(text, "typedef int MPI_{name};"),
            _ => writeln!(text, "typedef struct ompi_{tag}_t *MPI_{name};"),
        };
    }
    for callback in table.callbacks.iter().filter(|callback| !callback.name.starts_with("T_")) {
        let _ =
            writeln!(text, "typedef {} (MPI_{})({});", callback.returns, callback.name, callback.parameters);
    }
    constants(&mut text, dialect);
    for entry in entries(table) {
        let _ = writeln!(text, "{};\n{};", c::prototype(entry, "MPI_"), c::prototype(entry, "PMPI_"));
    }
    text + "}\n"
}

fn constants(text: &mut String, dialect: &Dialect) {
    for constant in &dialect.constants {
        let kind = constant.kind.strip_suffix("_object").unwrap_or(&constant.kind);
        let handle = HANDLES.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind));
        if let (Value::Symbol(symbol), Some((_, tag))) = (&constant.theirs, handle) {
            let _ = writeln!(text, "extern struct ompi_{tag}_t {symbol};");
        }
        if kind.ends_with("_integer") || constant.kind.ends_with("_object") {
            continue;
        }
        let value = match &constant.theirs {
            Value::Symbol(symbol) => format!("(&{symbol})"),
            Value::Number(number) => match (handle, kind) {
                (Some((name, _)), _) => format!("((MPI_{name}){number})"),
                (None, "status") => format!("((MPI_Status *){number})"),
                (None, "buffer" | "weights") => format!("((void *){number})"),
                (None, _) => format!("({number})"),
            },
        };
        let _ = writeln!(text, "#define MPI_{} {value}", constant.name);
    }
    let _ = writeln!(text, "#define MPI_UNDEFINED ({})", abi::UNDEFINED);
    text.push_str("#define MPI_ERRCODES_IGNORE ((int *)0)\n");
}

/// The functions that the bindings know: MPI-2's and what came since, with counts that are integers.
fn entries(table: &Table) -> impl Iterator<Item = Entry<'_>> {
    table.entries().filter(|entry| {
        let name = entry.name();
        !entry.wide && !name.starts_with("T_") && !name.starts_with("Abi_")
    })
}

/// The functions that throw: those that give an error code, but for what the bindings have by hand.
fn calls(table: &Table) -> String {
    let mut text = String::new();
    for entry in entries(table) {
        let (function, name) = (entry.function, entry.name());
        let by_hand = name.ends_with("_set_errhandler") || name.ends_with("_get_errhandler");
        if function.returns.is_some() || function.variadic || by_hand || name == "Errhandler_free" {
            continue;
        }
        let names: Vec<&str> = function.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let (outer, inner) = (c::prototype(entry, "MPI_"), c::prototype(entry, "PMPI_"));
        // One whose handler was called at the program's wish has succeeded.
        let thrown = if name.ends_with("_call_errhandler") { "thrown_always" } else { "thrown" };
        let _ = writeln!(text, "{inner} {{ return {thrown}(BELOW(PMPI_{name})({})); }}", names.join(", "));
        let _ = writeln!(text, "{outer} ALIAS(PMPI_{name});");
    }
    text
}
