//! One argument of an entry point: how it comes from the program, what the standard function gets, what goes back.

use function_table::{Argument, Direction, Function, Length, Mark, Per, Shape, What};

use crate::Dialect;
use crate::conversion::HANDLES;

/// An argument in Rust.
#[derive(Default)]
pub struct Passed {
    /// The type in which it comes from the program.
    pub comes: String,
    /// The type in which the standard function gets it.
    pub goes: String,
    /// Statements before the call.
    pub before: String,
    /// What the standard function gets.
    pub value: String,
    /// Statements after the call.
    pub after: String,
}

/// The module of conversions for a kind, if its values differ.
fn module<'a>(dialect: &Dialect, word: &'a str) -> Option<&'a str> {
    let word = if word == "root" { "rank" } else { word };
    let known = dialect.constants.iter().any(|constant| constant.kind == word);
    (known && !matches!(word, "length" | "buffer" | "status" | "weights")).then_some(word)
}

/// Converts an argument.
pub fn passed(dialect: &Dialect, function: &Function, argument: &Argument, wide: bool) -> Passed {
    let n = argument.rust_name();
    let kind = match &argument.what {
        What::Kind(kind) => kind,
        // The functions that copy or not are addresses there, and numbers here.
        What::Callback(callback) if callback.contains("opy_") => {
            return Passed { value: format!("callback::copy({n})"), ..same(n, "P") };
        }
        What::Callback(callback) if callback.contains("elete_") => {
            return Passed { value: format!("callback::delete({n})"), ..same(n, "P") };
        }
        What::Callback(callback) if callback == "User_function" => {
            return Passed { value: format!("callback::reduction({n})"), ..same(n, "P") };
        }
        What::Callback(_) => return same(n, "P"),
    };
    let word = kind.word;
    if HANDLES.contains(&word) {
        return handle(function, argument, &n);
    }
    match (word, &argument.shape) {
        ("status", Shape::One) if argument.direction == Direction::In => Passed {
            comes: "*mut Status".into(),
            goes: "P".into(),
            before: format!("let {n}_c = status::of({n});"),
            value: format!("status::place({n}, &{n}_c)"),
            after: String::new(),
        },
        ("status", Shape::One) => Passed {
            comes: "*mut Status".into(),
            goes: "P".into(),
            before: format!(
                "let mut {n}_c = status::Out::{}({n});",
                if argument.direction == Direction::Out { "new" } else { "both" }
            ),
            value: format!("{n}_c.place()"),
            after: format!("{n}_c.give();"),
        },
        ("status", _) => Passed {
            comes: "*mut Status".into(),
            goes: "P".into(),
            before: format!("let mut {n}_c = status::List::new({n}, {});", length(argument)),
            value: format!("{n}_c.place()"),
            after: format!("{n}_c.give();"),
        },
        ("buf" | "cbuf", _) if may_be_special(function, argument) => Passed {
            comes: "P".into(),
            goes: "P".into(),
            value: format!("address::buffer({n})"),
            ..Passed::default()
        },
        ("weights", _) => Passed {
            comes: "P".into(),
            goes: "P".into(),
            value: format!("address::weights({n})"),
            ..Passed::default()
        },
        ("t_pvar", Shape::One) if argument.direction == Direction::In => Passed {
            comes: "P".into(),
            goes: "P".into(),
            value: format!("address::pvar({n})"),
            ..Passed::default()
        },
        (_, Shape::Bounded(bound)) => text(function, &n, bound),
        ("ptr", _) if argument.is(Mark::Attribute) && argument.direction == Direction::Out => {
            Passed { after: attribute(function, &n), ..same(n.clone(), "P") }
        }
        ("ptr", _) if argument.is(Mark::Detached) => {
            Passed { after: format!("if code == 0 {{ address::detached({n}); }}"), ..same(n.clone(), "P") }
        }
        _ => number(dialect, function, argument, wide, &n),
    }
}

fn same(n: String, kind: &str) -> Passed {
    Passed { comes: kind.into(), goes: kind.into(), value: n, ..Passed::default() }
}

/// Whether a buffer may be `MPI_IN_PLACE` or `MPI_BUFFER_AUTOMATIC`: of collectives and of attached buffers.
fn may_be_special(function: &Function, argument: &Argument) -> bool {
    let collective =
        matches!(argument.name.as_str(), "sendbuf" | "recvbuf" | "buffer" | "inbuf" | "inoutbuf")
            && function.argument("sendtag").is_none()
            && (function.argument("comm").is_some() || function.argument("op").is_some());
    collective || function.name.to_lowercase().contains("attach") && argument.name == "buffer"
}

/// The type of one value as it crosses.
fn scalar(argument: &Argument, wide: bool) -> &'static str {
    let What::Kind(kind) = &argument.what else { return "P" };
    match if wide { kind.wide_c } else { kind.c } {
        "int" | "MPI_T_cb_safety" | "MPI_T_source_order" => "i32",
        "MPI_Aint" | "MPI_Count" | "MPI_Offset" => "i64",
        "double" => "f64",
        _ => "P",
    }
}

fn number(dialect: &Dialect, function: &Function, argument: &Argument, wide: bool, n: &str) -> Passed {
    let scalar = scalar(argument, wide);
    let input = argument.direction == Direction::In;
    // A message that is sent has a tag of its own: what stands for any tag is an error in every ABI.
    let sent = matches!(argument.word(), "tag")
        && match argument.name.as_str() {
            "sendtag" => true,
            _ => function.argument("dest").is_some() && function.argument("source").is_none(),
        };
    if sent && input && !function.name.starts_with("Precv") {
        return same(n.to_string(), scalar);
    }
    let Some(module) = module(dialect, argument.word()) else {
        let pointer = argument.shape != Shape::One || !input;
        return same(n.to_string(), if pointer { "P" } else { scalar });
    };
    match &argument.shape {
        Shape::One if input => Passed {
            comes: scalar.into(),
            goes: scalar.into(),
            value: format!("{module}::of({n})"),
            ..Passed::default()
        },
        Shape::One => Passed {
            comes: "*mut i32".into(),
            goes: "P".into(),
            before: format!(
                "let mut {n}_c = value::{}({n}, {module}::of);",
                if argument.direction == Direction::Out { "out" } else { "both" }
            ),
            value: format!("{n}_c.place()"),
            after: format!("{n}_c.give({module}::to);"),
        },
        _ => Passed {
            comes: "*mut i32".into(),
            goes: "P".into(),
            before: format!(
                "let mut {n}_c = value::List::{}({n}, {}, {module}::of);",
                if argument.direction == Direction::Out { "out" } else { "new" },
                length(argument)
            ),
            value: format!("{n}_c.place()"),
            after: if input { String::new() } else { format!("{n}_c.give({n}, {module}::to);") },
        },
    }
}

fn handle(function: &Function, argument: &Argument, n: &str) -> Passed {
    let kind = argument.word();
    let comes = if kind == "file" { "usize" } else { "Handle" };
    let input = argument.direction == Direction::In;
    match &argument.shape {
        Shape::One if input => Passed {
            comes: comes.into(),
            goes: "usize".into(),
            value: match kind {
                "comm" if function.fast.is_some() => format!("comm::quick({n})"),
                _ => format!("{kind}::of({n})"),
            },
            ..Passed::default()
        },
        Shape::One => Passed {
            comes: format!("*mut {comes}"),
            goes: "P".into(),
            before: format!(
                "let mut {n}_c = handle::{}({n}, {kind}::of);",
                if argument.direction == Direction::Out { "out" } else { "both" }
            ),
            value: format!("{n}_c.place()"),
            after: format!("{n}_c.give({kind}::to);"),
        },
        _ => Passed {
            comes: format!("*mut {comes}"),
            goes: "P".into(),
            before: format!(
                "let mut {n}_c = handle::List::{}({n}, {}, {kind}::of);",
                if argument.direction == Direction::Out { "out" } else { "new" },
                length(argument)
            ),
            value: format!("{n}_c.place()"),
            after: if input { String::new() } else { format!("{n}_c.give({n}, {kind}::to);") },
        },
    }
}

/// How many elements an array has.
fn length(argument: &Argument) -> String {
    let per =
        argument.marks.iter().find_map(|mark| if let Mark::Per(per) = mark { Some(*per) } else { None });
    let known = match (&argument.shape, per) {
        (Shape::Array(Length::Argument(length)), _) => return format!("{length} as i64"),
        (_, Some(Per::Peer)) => "extent::peers(comm::of(comm))".to_string(),
        (_, Some(Per::Destination)) => "extent::neighbours(comm::of(comm)).1".into(),
        (_, Some(Per::Source)) => "extent::neighbours(comm::of(comm)).0".into(),
        (_, Some(Per::Command)) => "extent::commands(count, root, comm::of(comm))".into(),
        // The edges of a graph, as many as all degrees together.
        _ if argument.name == "destinations" => "extent::sum(degrees, n as i64)".into(),
        // The fields of an event, as many as the program has room for.
        _ => "extent::given(num_elements)".into(),
    };
    match argument.name.as_str() {
        // Types beside a buffer that is not looked at need not be there.
        "sendtypes" => format!("if address::is_in_place(sendbuf) {{ 0 }} else {{ {known} }}"),
        _ => known,
    }
}

/// Text that comes out: into a place of our length where the program's is shorter.
fn text(function: &Function, n: &str, bound: &str) -> Passed {
    if !bound.starts_with("MAX_") {
        return same(n.to_string(), "P");
    }
    let result = function.arguments.iter().find(|it| it.word() == "strlen").map(Argument::rust_name);
    Passed {
        comes: "P".into(),
        goes: "P".into(),
        before: format!(
            "let mut {n}_c = text::Output::<{{ abi::{bound} as usize }}, {{ length::{bound} }}>::new({n});"
        ),
        value: format!("{n}_c.place()"),
        after: format!(
            "if code == 0 {{ {n}_c.give({}); }}",
            result.unwrap_or("core::ptr::null_mut()".into())
        ),
    }
}

/// Predefined attributes are pointers to numbers, some of which have other values.
fn attribute(function: &Function, n: &str) -> String {
    let key = function
        .arguments
        .iter()
        .find(|it| it.word() == "keyval")
        .map(Argument::rust_name)
        .expect("an attribute has a key");
    format!("if code == 0 {{ attribute::give({key}, {n}, flag); }}")
}
