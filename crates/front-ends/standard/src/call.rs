//! A failed call in C's words: its name and what the program gave for each argument.

use ffi::{Argument, Call, Value};

use objects::state::State;
use windows::WINDOWS;

/// Characters of a text that are shown.
const SHOWN: usize = 60;

/// `MPI_Send(buf=0x7ffe1c, count=1, MPI_INT, dest=77, tag=0, MPI_COMM_WORLD of 2)`.
pub(crate) fn describe(state: &mut State, call: Call<'_>) -> String {
    let arguments: Vec<String> = call.arguments().map(|argument| argument_in_c(state, argument)).collect();
    format!("{}({})", call.function(), arguments.join(", "))
}

fn argument_in_c(state: &mut State, Argument { name, value }: Argument<'_>) -> String {
    match value {
        Value::Int(number) => format!("{name}={}", int(name, number)),
        Value::Handle(kind, value) => handle(state, name, kind, value),
        Value::Buffer(address) => {
            format!("{name}={}", constant("void*", address).unwrap_or_else(|| pointer(address)))
        }
        Value::Address(0) if name.ends_with("statuses") => "MPI_STATUSES_IGNORE".to_owned(),
        Value::Address(0) if name.starts_with("status") => "MPI_STATUS_IGNORE".to_owned(),
        Value::Address(address) => format!("{name}={}", pointer(address)),
        Value::Text(None) => format!("{name}=NULL"),
        Value::Text(Some(text)) => {
            let text = text.to_string_lossy();
            let end = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
            format!("{name}={:?}{end}", text.chars().take(SHOWN).collect::<String>())
        }
    }
}

fn int(name: &str, number: i64) -> String {
    let magic = match name {
        _ if name.ends_with("tag") => &[(abi::ANY_TAG, "MPI_ANY_TAG")][..],
        "color" | "key" => &[(abi::UNDEFINED, "MPI_UNDEFINED")],
        "source" | "dest" | "root" | "target_rank" => {
            &[(abi::ANY_SOURCE, "MPI_ANY_SOURCE"), (abi::PROC_NULL, "MPI_PROC_NULL"), (abi::ROOT, "MPI_ROOT")]
        }
        _ => &[],
    };
    let known = magic.iter().find(|(value, _)| i64::from(*value) == number);
    known.map_or_else(|| number.to_string(), |(_, word)| (*word).to_owned())
}

/// The constant of a C type with this value.
fn constant(ctype: &str, value: usize) -> Option<String> {
    let same =
        |constant: &&abi::Constant| constant.ctype == ctype && constant.value as usize == value && value != 0;
    abi::ALL.iter().find(same).map(|constant| constant.name.to_owned())
}

fn pointer(address: usize) -> String {
    if address == 0 { "NULL".to_owned() } else { format!("{address:#x}") }
}

/// A handle of the C type `kind`: the constant's name, the object's, or its value.
pub(crate) fn handle(state: &mut State, name: &str, kind: &str, value: usize) -> String {
    let given = match kind {
        "MPI_Comm" => state.comm(abi::Comm(value)).ok().map(|comm| comm.name.clone()),
        "MPI_Datatype" => state.types.object(abi::Datatype(value)).ok().map(|object| object.name.to_string()),
        "MPI_Win" => WINDOWS.get(&state.tables).get(abi::Win(value)).ok().map(|window| window.name.clone()),
        _ => None,
    };
    let text = match (constant(kind, value), given.filter(|given| !given.is_empty())) {
        (Some(constant), _) => constant,
        (None, Some(given)) => format!("{name} {given:?}"),
        (None, None) => format!("{name}={}", pointer(value)),
    };
    match state.comm(abi::Comm(value)) {
        Ok(comm) if kind == "MPI_Comm" => format!("{text} of {}", comm.size()),
        _ => text,
    }
}
