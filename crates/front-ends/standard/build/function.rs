//! One function of the ABI: its exported names and the body that checks arguments and calls the target.

use function_table::{Argument, Direction, Entry, Function, Mark, OnObject, Shape, Target, What};

use crate::argument::{Parameter, Value, parameter};

/// The Rust source of `entry`, whose names begin with `MPI`, or with `MPIX` beyond the standard.
pub fn generate(entry: Entry<'_>, prefix: &str) -> String {
    let function = entry.function;
    let parameters: Vec<Parameter> =
        function.arguments.iter().map(|argument| parameter(function, argument, entry.wide)).collect();
    match function.returns {
        Some(kind) => plain(entry, &parameters, kind.rust, &function.target),
        _ if function.is_tool() => tool(entry, &parameters),
        _ => raising(entry, &parameters, prefix),
    }
}

/// A function that returns its value and cannot fail.
fn plain(entry: Entry<'_>, parameters: &[Parameter], returns: &str, target: &Target) -> String {
    let name = entry.name();
    let values: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let call = format!("{}({})", path(target), values.join(", "));
    format!("direct! {{ MPI_{name}, PMPI_{name}, ({}) -> {returns} {{ {call} }} }}\n", crossing(parameters))
}

/// A function of the tool interface: returns its code and raises nothing.
fn tool(entry: Entry<'_>, parameters: &[Parameter]) -> String {
    let name = entry.name();
    let body = format!("tool(|| {{ {} }})", work(entry, parameters, &entry.function.target));
    format!("direct! {{ MPI_{name}, PMPI_{name}, ({}) -> i32 {{ {body} }} }}\n", crossing(parameters))
}

/// A function whose errors go to the handler of an object.
fn raising(entry: Entry<'_>, parameters: &[Parameter], prefix: &str) -> String {
    let name = entry.name();
    let on = on(entry.function);
    let given = given(entry, parameters, prefix);
    let work = work(entry, parameters, &entry.function.target);
    let body = format!("answer({on}, || {given}, || {{ {work} }})");
    let stack = parameters.len().saturating_sub(in_registers());
    let crossing = crossing(parameters);
    match &entry.function.fast {
        None => {
            format!(
                "entry! {{ {prefix}_{name}, P{prefix}_{name}, body_{name}, {stack}, ({crossing}) {{ {body} }} }}\n"
            )
        }
        Some(fast) => {
            let lines = [Some(fast), entry.function.second.as_ref()];
            let named =
                ["fast", "second"].into_iter().zip(lines).filter_map(|(kind, line)| Some((kind, line?)));
            let (mut text, mut names) = (String::new(), Vec::new());
            for (kind, line) in named {
                let call = fast_line(line, parameters);
                text += &format!("line! {{ {kind}_{name}, ({crossing}) {{ {call} }} }}\n");
                names.push(format!("{kind}_{name}"));
            }
            text + &format!(
                "entry! {{ {prefix}_{name}, P{prefix}_{name}, [{}], long_{name}, body_{name}, {stack}, ({crossing}) {{ {body} }} }}\n",
                names.join(" ")
            )
        }
    }
}

/// The function's name and its arguments with a word for each, as `ffi::Call` reads them.
fn signature(entry: Entry<'_>, parameters: &[Parameter], prefix: &str) -> String {
    let mut text = format!("{prefix}_{}", entry.name());
    for (argument, parameter) in entry.function.arguments.iter().zip(parameters) {
        text += &format!(" {}:{}", argument.name, shown(argument, parameter));
    }
    text
}

/// How an argument is shown in the message about a failed call.
fn shown(argument: &Argument, parameter: &Parameter) -> &'static str {
    let What::Kind(kind) = &argument.what else { return "address" };
    match kind.word {
        "buf" | "cbuf" => "buffer",
        "str" if argument.is(Mark::AtRoot) => "address",
        "str" | "chars" if argument.direction == Direction::In && argument.shape == Shape::One => "text",
        _ if matches!(parameter.crossing.as_str(), "i32" | "i64" | "abi::Aint" | "abi::Offset") => "int",
        _ if parameter.crossing == kind.rust && kind.c.starts_with("MPI_") => kind.c,
        _ => "address",
    }
}

/// What the function was given, as `ffi::Given`.
fn given(entry: Entry<'_>, parameters: &[Parameter], prefix: &str) -> String {
    let value = |Parameter { name, crossing, .. }: &Parameter| match crossing.as_str() {
        "i32" | "i64" | "abi::Aint" | "abi::Offset" => format!("{name} as i64 as u64"),
        "f64" => format!("{name}.to_bits()"),
        "usize" => format!("{name} as u64"),
        pointer if pointer.starts_with('*') => format!("{name} as usize as u64"),
        _ => format!("{name}.0 as u64"),
    };
    let values: Vec<_> = parameters.iter().map(value).collect();
    format!(
        "\n// SAFETY: the caller keeps MPI's contract for strings.\n\
         unsafe {{ ffi::Given::new({:?}, [{}]) }}",
        signature(entry, parameters, prefix),
        values.join(", ")
    )
}

/// The fast path's call: 0 when it did everything.
fn fast_line(fast: &str, parameters: &[Parameter]) -> String {
    let values: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let values = values.join(", ");
    format!("fast(|| {{ {} Ok({fast}({values})) }})", conversions(parameters))
}

/// Integer arguments that the target's calling convention passes in registers.
fn in_registers() -> usize {
    match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => 6,
        _ => 8,
    }
}

fn crossing(parameters: &[Parameter]) -> String {
    let typed = parameters.iter().map(|parameter| format!("{}: {}", parameter.name, parameter.crossing));
    typed.collect::<Vec<_>>().join(", ")
}

/// Enters MPI, converts the arguments and calls the target.
fn work(entry: Entry<'_>, parameters: &[Parameter], target: &Target) -> String {
    let enter = if entry.function.anytime { "objects::enter_any()" } else { "objects::enter()?" };
    format!("let token = &mut {enter}; ") + &conversions(parameters) + &call(parameters, target, entry.wide)
}

/// Gives the arguments the types of the crates of `mpi`.
fn conversions(parameters: &[Parameter]) -> String {
    let mut text = String::new();
    let mut promised = Vec::new();
    for parameter in parameters {
        match &parameter.value {
            Value::Same | Value::Merged => {}
            Value::Safe(expression) => text += &format!("let {} = {expression}; ", parameter.name),
            Value::Promised(expression) => promised.push((parameter.name.as_str(), expression.as_str())),
        }
    }
    if !promised.is_empty() {
        let (names, expressions): (Vec<_>, Vec<_>) = promised.into_iter().unzip();
        text += &format!(
            "\n// SAFETY: the caller keeps MPI's contract for these pointers (see the crate `ffi`).\n\
             let ({},) = unsafe {{ ({},) }}; ",
            names.join(", "),
            expressions.join(", ")
        );
    }
    text
}

fn call(parameters: &[Parameter], target: &Target, wide: bool) -> String {
    let path = path(target);
    let module = path.rsplit_once("::").map_or("", |(module, _)| module);
    let mut arguments = vec!["token".to_string()];
    let given = target.leading.iter().filter(|expression| !expression.starts_with('-'));
    arguments.extend(given.map(|expression| match expression.as_str() {
        "LARGE" => wide.to_string(),
        _ => qualify(expression, module),
    }));
    for parameter in parameters.iter().filter(|_| target.rest) {
        let carried = matches!(parameter.value, Value::Merged)
            || target.leading.iter().any(|expression| mentions(expression, &parameter.name));
        if !carried {
            arguments.push(parameter.name.clone());
        }
    }
    format!("{path}({})", arguments.join(", "))
}

/// `expression` with `module::` before every path that starts with a capital letter.
fn qualify(expression: &str, module: &str) -> String {
    let mut text = String::new();
    for letter in expression.chars() {
        let inside = text.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == ':');
        if letter.is_uppercase() && !inside {
            text += &format!("{module}::");
        }
        text.push(letter);
    }
    text
}

/// Whether `expression` uses the variable `name`.
fn mentions(expression: &str, name: &str) -> bool {
    let words = expression.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.into_iter().any(|word| word == name)
}

/// Paths start with a crate of `mpi`, or with `standard::` for what this crate does itself.
fn path(target: &Target) -> String {
    match target.path.strip_prefix("standard::") {
        Some(own) => format!("crate::{own}"),
        None => target.path.clone(),
    }
}

/// The expression for the object on which errors are raised.
fn on(function: &Function) -> String {
    let argument = match function.on() {
        OnObject::Argument(argument) => argument,
        OnObject::FileNull => return "On::File(abi::FILE_NULL)".into(),
        OnObject::CommSelf | OnObject::Nothing => return "On::SelfComm".into(),
    };
    let variant = match argument.word() {
        "comm" => "Comm",
        "win" => "Win",
        "file" => "File",
        _ => "Session",
    };
    if argument.direction == Direction::In {
        return format!("On::{variant}({})", argument.name);
    }
    let null = format!("abi::{}_NULL", variant.to_uppercase());
    format!(
        "On::{variant}(\n// SAFETY: as for the other pointers of this function.\nunsafe {{ ffi::peek({}, {null}) }})",
        argument.name
    )
}
