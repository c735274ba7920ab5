//! One entry point of a dialect.

use function_table::{Argument, Direction, Entry, Function, What};

use crate::Dialect;
use crate::argument::{Passed, passed};

/// Functions that a front-end has by hand: the reason stands beside each there.
const BY_HAND: [&str; 12] = [
    "Abi_get_version",
    "Get_library_version",
    "Get_version",
    "Pcontrol",
    "Type_get_contents",
    "Type_get_contents_c",
    "Buffer_attach",
    "Buffer_attach_c",
    "Buffer_detach",
    "Buffer_detach_c",
    "Comm_spawn",
    "Comm_spawn_multiple",
];

/// The place of a function in the engine's table.
pub fn row(at: usize, entry: Entry<'_>) -> String {
    format!("pub const {}: usize = {at};\n", entry.name())
}

/// The entry point, whose name begins with `prefix`, unless the front-end has it by hand.
pub fn generate(dialect: &Dialect, entry: Entry<'_>, prefix: &str) -> Option<String> {
    let (function, name) = (entry.function, entry.name());
    if BY_HAND.contains(&name.as_str()) {
        return None;
    }
    if let Some(kind) = function.returns {
        return Some(returning(entry, kind.word));
    }
    let passed: Vec<(String, Passed)> = function
        .arguments
        .iter()
        .map(|argument| (argument.rust_name(), passed(dialect, function, argument, entry.wide)))
        .collect();
    let parameters: Vec<String> = passed.iter().map(|(name, it)| format!("{name}: {}", it.comes)).collect();
    let types: Vec<&str> = passed.iter().map(|(_, it)| it.goes.as_str()).collect();
    let values: Vec<&str> = passed.iter().map(|(_, it)| it.value.as_str()).collect();
    let before: String = passed.iter().map(|(_, it)| it.before.as_str()).collect();
    let after: String = passed.iter().map(|(_, it)| it.after.as_str()).collect();
    let origin = origin(function, &values) + &copies(dialect, function);
    Some(format!(
        "entry! {{ {prefix}{name} P{prefix}{name} ({}) -> i32 {{ {before} {origin} let code = call!(row::{name}, ({}) -> i32)({}); \
         {after} errcode::give(code) }} }}\n",
        parameters.join(", "),
        types.join(", "),
        values.join(", "),
    ))
}

/// Functions of the program are called in the dialect's terms: the engine gets to know by a place among the arguments.
fn origin(function: &Function, values: &[&str]) -> String {
    let calls_back =
        |it: &Argument| matches!(&it.what, What::Callback(callback) if !callback.starts_with("T_"));
    if !function.arguments.iter().any(calls_back) {
        return String::new();
    }
    let all = &function.arguments;
    let place = all.iter().position(|it| it.direction == Direction::Out);
    let place = place.or_else(|| all.iter().position(|it| it.word() == "str"));
    let place = place.expect("a function with callbacks gives an answer or has a name");
    format!("let _origin = origin::call({}, {}, &callers::CALLERS);", all[place].rust_name(), values[place])
}

/// Where buffers come as descriptors, Fortran gives a collective that goes on after the call copies of sections, and states them by
/// the place of its request. The engine gets another place.
fn copies(dialect: &Dialect, function: &Function) -> String {
    let new = |it: &&Argument| it.word() == "request" && it.direction == Direction::Out;
    match function.arguments.iter().find(new) {
        Some(request) if dialect.has_descriptors && function.is_collective() => {
            let n = request.rust_name();
            format!("origin::hand_on_copies({n}, {n}_c.place());")
        }
        _ => String::new(),
    }
}

/// A function that returns a value.
fn returning(entry: Entry<'_>, kind: &str) -> String {
    let name = entry.name();
    match kind {
        "double" => {
            format!("entry! {{ MPI_{name} PMPI_{name} () -> f64 {{ call!(row::{name}, () -> f64)() }} }}\n")
        }
        "aint" => {
            let [left, right] = [0, 1].map(|at| entry.function.arguments[at].rust_name());
            format!(
                "entry! {{ MPI_{name} PMPI_{name} ({left}: i64, {right}: i64) -> i64 {{ \
                 call!(row::{name}, (i64, i64) -> i64)({left}, {right}) }} }}\n"
            )
        }
        // The integer of a handle is for the program's own use, and the handle's number serves.
        "int" => {
            let argument = &entry.function.arguments[0];
            let kind = argument.word();
            let comes = if kind == "file" { "usize" } else { "Handle" };
            format!("entry! {{ MPI_{name} PMPI_{name} (it: {comes}) -> i32 {{ integer::{kind}_of(it) }} }}\n")
        }
        kind => {
            let comes = if kind == "file" { "usize" } else { "Handle" };
            format!("entry! {{ MPI_{name} PMPI_{name} (it: i32) -> {comes} {{ integer::{kind}_to(it) }} }}\n")
        }
    }
}
