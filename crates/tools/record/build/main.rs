//! Generates a wrapper for each MPI function from the function table.
#![forbid(unsafe_code)]

use function_table::{Argument, Direction, Entry, Function, Length, Shape};
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let table = function_table::table().expect("the function table");
    let recorded = |entry: &Entry<'_>| {
        let function = entry.function;
        !function.is_tool() && function.returns.is_none() && !function.variadic && !has_double(function)
    };
    let mut text = String::new();
    for (number, entry) in table.entries().filter(recorded).enumerate() {
        text += &wrapper(number, entry);
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("wrappers.rs"), text).expect("OUT_DIR is writable");
}

/// Such arguments do not travel as the others do; no function that matters here has one.
fn has_double(function: &Function) -> bool {
    function.arguments.iter().any(|argument| argument.word() == "double" && is_value(argument))
}

/// Whether the argument itself crosses, and not a pointer.
fn is_value(argument: &Argument) -> bool {
    argument.shape == Shape::One && argument.direction == Direction::In
}

/// The type in which an argument crosses: a number, or a word for handles and pointers.
fn crossing(argument: &Argument, wide: bool) -> &'static str {
    match argument.word() {
        _ if !is_value(argument) => "usize",
        _ if argument.is_int() => "i32",
        "t_safety" | "t_order" => "i32",
        "count" | "displ" if wide => "i64",
        "count" | "displ" => "i32",
        "bytes" | "large" | "aint" | "offset" | "view_offset" => "i64",
        _ => "usize",
    }
}

/// A name that is no word of Rust.
fn name(argument: &Argument) -> String {
    match argument.name.as_str() {
        word @ ("type" | "ref" | "in" | "fn" | "mod" | "move") => format!("{word}_"),
        word => word.to_string(),
    }
}

fn wrapper(number: usize, entry: Entry<'_>) -> String {
    let function = entry.function;
    let typed: Vec<String> = function
        .arguments
        .iter()
        .map(|argument| format!("{}: {}", name(argument), crossing(argument, entry.wide)))
        .collect();
    let names: Vec<String> = function.arguments.iter().map(name).collect();
    let inputs: String = function.arguments.iter().filter_map(|it| input(function, it, entry.wide)).collect();
    let outputs: String = function.arguments.iter().filter_map(|it| output(function, it)).collect();
    format!(
        "wrapper! {{ {number}, MPI_{of}, \"PMPI_{of}\", ({}), ({}), call, {{ {inputs} }}, {{ {outputs} }} }}\n",
        typed.join(", "),
        names.join(", "),
        of = entry.name(),
    )
}

/// What is written of an argument before the call.
fn input(function: &Function, argument: &Argument, wide: bool) -> Option<String> {
    let it = name(argument);
    let goes_in = argument.direction != Direction::Out;
    // At all ranks but the root the library does not look at these, so the caller may pass anything.
    let at_root_only = function.argument("root").is_some()
        && (function.name.contains("ather") && argument.name.starts_with("recv")
            || function.name.contains("catter") && argument.name.starts_with("send"));
    if at_root_only {
        return None;
    }
    Some(match (&argument.shape, argument.word()) {
        (Shape::One, "datatype") if is_value(argument) => format!("call.size_of({it});"),
        (Shape::One, "comm") if is_value(argument) => format!("call.value({it} as i64);"),
        (Shape::One, "count" | "displ" | "bytes") if is_value(argument) => {
            format!("call.value(i64::from({it}));")
        }
        (Shape::One, _) if is_value(argument) && argument.is_int() => {
            format!("call.value(i64::from({it}));")
        }
        (Shape::One, "request") if goes_in => {
            let read = if is_value(argument) { "value" } else { "word_at" };
            let cast = if is_value(argument) { " as i64" } else { "" };
            format!("call.{read}({it}{cast});")
        }
        (Shape::Array(Length::Argument(length)), "request") if goes_in => {
            let length = function.argument(length).map(name)?;
            format!("call.words_at({it}, {length} as usize);")
        }
        (Shape::Array(Length::Known), "count") if argument.direction == Direction::In => {
            let comm = function.arguments.iter().find(|it| it.word() == "comm" && is_value(it))?;
            format!("call.counts_at({it}, {}, {wide});", name(comm))
        }
        _ => return None,
    })
}

/// What is written of an argument after the call.
fn output(function: &Function, argument: &Argument) -> Option<String> {
    let it = name(argument);
    if argument.direction == Direction::In {
        return None;
    }
    Some(match (&argument.shape, argument.word()) {
        (Shape::One, "request") if argument.direction == Direction::Out => format!("call.word_at({it});"),
        (Shape::One, "comm") => format!("call.comm_at({it});"),
        (Shape::One, _) if argument.is_int() => format!("call.int_at({it});"),
        (Shape::Array(Length::Argument(_)), _) if argument.name == "array_of_indices" => {
            let count = function.argument("outcount").map(name)?;
            format!("call.ints_at({it}, {count});")
        }
        _ => return None,
    })
}
