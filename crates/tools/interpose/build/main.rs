//! Writes the descriptions of all wrapped functions, and macros that name each function, from the function table.
#![forbid(unsafe_code)]

use function_table::{Argument, Direction, Entry, Length, Shape};
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let table = function_table::table().expect("the function table");
    let extensions = function_table::extensions().expect("the table of extensions");
    let all = || function_table::for_front_ends(&table, &extensions);
    let wrapped: Vec<Entry<'_>> = table.entries().filter(is_wrapped).collect();
    let descriptions: String = wrapped
        .iter()
        .map(|entry| description(entry, table.chapters[entry.function.chapter].number))
        .collect();
    let names: String =
        wrapped.iter().enumerate().map(|(number, entry)| row(number, entry, "MPI_")).collect();
    // Tools do not see functions beyond the standard.
    let is_seen = |entry: &Entry<'_>, prefix: &str| prefix == "MPI_" && is_wrapped(entry);
    let others: Vec<(Entry<'_>, &str)> = all().filter(|(entry, prefix)| !is_seen(entry, prefix)).collect();
    let reals: String =
        others.iter().map(|(it, prefix)| format!("Real::new(c\"P{prefix}{}\"), ", it.name())).collect();
    let rows: String =
        others.iter().enumerate().map(|(number, (entry, prefix))| other(number, entry, prefix)).collect();
    let module = |it: &Entry<'_>, prefix: &str| if is_seen(it, prefix) { "wrapped" } else { "others" };
    let in_order: String =
        all().map(|(it, prefix)| format!("{}::{prefix}{} ", module(&it, prefix), it.name())).collect();
    let text = format!(
        "/// Every wrapped function, in the order of the function table.\n\
         pub static FUNCTIONS: [Function; {count}] = [\n{descriptions}];\n\n\
         /// Calls a macro with a row for each of [`FUNCTIONS`]: number, name, and the types of the arguments.\n\
         #[macro_export]\nmacro_rules! functions {{\n    ($each:ident) => {{ $each! {{\n{names}    }} }};\n}}\n\n\
         /// The functions that are not wrapped.\n\
         pub static OTHERS: [Real; {other_count}] = [{reals}];\n\n\
         /// Calls a macro with a row for each of [`OTHERS`]: number, name, the types of the arguments, and of the result.\n\
         #[macro_export]\nmacro_rules! others {{\n    ($each:ident) => {{ $each! {{\n{rows}    }} }};\n}}\n\n\
         /// Calls a macro with all functions in the order of the function table.\n\
         #[macro_export]\nmacro_rules! in_order {{\n    ($each:ident) => {{ $each! {{ {in_order} }} }};\n}}\n\n\
         /// The version of the table by which front-ends call.\n\
         pub const FRONT_END_VERSION: u64 = {version:#x};\n",
        count = wrapped.len(),
        other_count = others.len(),
        version = function_table::version(&table, &extensions),
    );
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("functions.rs"), text).expect("OUT_DIR is writable");
}

/// Functions that return an error code. The others (`MPI_Wtime`, conversions of handles) neither wait nor send, and the tool
/// interface belongs to tools.
fn is_wrapped(entry: &Entry<'_>) -> bool {
    !entry.function.is_tool() && entry.function.returns.is_none()
}

fn description(entry: &Entry<'_>, chapter: u32) -> String {
    let arguments: String = entry.function.arguments.iter().map(|it| argument(entry, it)).collect();
    format!(
        "    Function {{ name: \"MPI_{name}\", real: Real::new(c\"PMPI_{name}\"), chapter: {chapter}, anytime: {anytime}, wide: {wide}, arguments: &[{arguments}] }},\n",
        name = entry.name(),
        anytime = entry.function.anytime,
        wide = entry.wide,
    )
}

fn argument(entry: &Entry<'_>, argument: &Argument) -> String {
    let direction = match argument.direction {
        Direction::In => "In",
        Direction::Out => "Out",
        Direction::InOut => "InOut",
    };
    let place = |name: &str| entry.function.arguments.iter().position(|it| it.name == name);
    let shape = match &argument.shape {
        Shape::One => "One".to_owned(),
        Shape::Array(Length::Argument(length)) => {
            format!("Array({})", place(length).expect("a length is an argument"))
        }
        Shape::Array(Length::Known) => "Known".to_owned(),
        Shape::Bounded(_) => "Text".to_owned(),
    };
    format!(
        "Argument {{ name: \"{}\", kind: Kind::{}, direction: Direction::{direction}, shape: Shape::{shape} }}, ",
        argument.name,
        kind(argument),
    )
}

fn kind(argument: &Argument) -> &'static str {
    match argument.word() {
        _ if argument.is_int() => "Int",
        "count" => "Count",
        "displ" => "Displ",
        "bytes" => "Bytes",
        "large" => "Large",
        "aint" => "Aint",
        "offset" | "view_offset" => "Offset",
        "comm" => "Comm",
        "group" => "Group",
        "datatype" => "Datatype",
        "request" => "Request",
        "op" => "Op",
        "win" => "Win",
        "file" => "File",
        "info" => "Info",
        "errhandler" => "Errhandler",
        "session" => "Session",
        "message" => "Message",
        "status" => "Status",
        "buf" => "Buffer",
        "cbuf" => "ConstBuffer",
        _ => "Other",
    }
}

fn row(number: usize, entry: &Entry<'_>, prefix: &str) -> String {
    let types: Vec<&str> = entry.function.arguments.iter().map(|it| crossing(it, entry.wide)).collect();
    format!("        {number} {prefix}{} ({})\n", entry.name(), types.join(" "))
}

fn other(number: usize, entry: &Entry<'_>, prefix: &str) -> String {
    let result = match entry.function.returns.map(|kind| kind.word) {
        None | Some("int") => "i32",
        Some("double") => "f64",
        Some(_) => "usize",
    };
    format!("{} {result}\n", row(number, entry, prefix).trim_end())
}

/// The type in which an argument crosses: a number, or a word for handles and pointers.
fn crossing(argument: &Argument, wide: bool) -> &'static str {
    if argument.shape != Shape::One || argument.direction != Direction::In {
        return "usize";
    }
    match argument.word() {
        _ if argument.is_int() => "i32",
        "count" | "displ" if !wide => "i32",
        _ => "usize",
    }
}
