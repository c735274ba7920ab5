//! One argument: the type that crosses the ABI and the value that a crate of `mpi` gets.

use function_table::{Argument, Direction, Function, Length, Mark, Shape, What};

/// An argument in Rust.
pub struct Parameter {
    /// Its name, never a keyword of Rust.
    pub name: String,
    /// The type that crosses the ABI.
    pub crossing: String,
    /// What the target gets.
    pub value: Value,
}

/// What the target of a row gets for an argument.
pub enum Value {
    /// The argument as it crossed.
    Same,
    /// A safe expression.
    Safe(String),
    /// An expression that relies on the MPI caller's promise.
    Promised(String),
    /// Nothing: another argument carries it, or the target needs none.
    Merged,
}

/// The Rust side of `argument`.
pub fn parameter(function: &Function, argument: &Argument, wide: bool) -> Parameter {
    let name = argument.rust_name();
    let (crossing, value) = match &argument.what {
        What::Callback(callback) => user_function(function, argument, callback, &name),
        What::Kind(kind) => {
            let rust = if wide { kind.wide_rust } else { kind.rust };
            match &argument.shape {
                Shape::One if argument.direction == Direction::In => input(argument, rust, &name),
                Shape::One => output(argument, rust, &name, wide),
                Shape::Array(Length::Argument(length)) => {
                    sized(argument, rust, &name, wide, &self::length(function, length))
                }
                Shape::Array(Length::Known) => unsized_array(argument, rust, &name, wide),
                Shape::Bounded(bound) => text(function, argument, &name, bound),
            }
        }
    };
    let value = if function.is_length(argument) { Value::Merged } else { value };
    Parameter { name, crossing, value }
}

fn user_function(function: &Function, argument: &Argument, callback: &str, name: &str) -> (String, Value) {
    let rust = match callback {
        _ if callback.ends_with("opy_function") || callback.ends_with("copy_attr_function") => {
            let of = format!("ffi::CopyAttr::of({name}, {})", origin(function));
            return ("usize".into(), Value::Promised(of));
        }
        _ if callback.ends_with("elete_function") || callback.ends_with("delete_attr_function") => {
            "DeleteAttrFunction"
        }
        _ if callback.ends_with("errhandler_function") => "ErrhandlerFunction",
        "User_function" => "UserFunction",
        "User_function_c" => "UserFunctionC",
        "Grequest_query_function" => "GrequestQueryFunction",
        "Grequest_free_function" => "GrequestFreeFunction",
        "Grequest_cancel_function" => "GrequestCancelFunction",
        "Datarep_extent_function" => "DatarepExtentFunction",
        "Datarep_conversion_function" => "DatarepConversionFunction",
        "Datarep_conversion_function_c" => "DatarepConversionFunctionC",
        "T_event_cb_function" => "TEventFunction",
        "T_event_free_cb_function" => "TEventFreeFunction",
        "T_event_dropped_cb_function" => "TEventDroppedFunction",
        _ => panic!("no Rust type for the user function {callback}"),
    };
    let of = format!("ffi::{rust}::of({name}, {})", origin(function));
    let value = if argument.optional { of } else { format!("ffi::given({of}, \"{name} is NULL\")?") };
    ("usize".into(), Value::Promised(value))
}

/// Whose the functions are that a row gets: the call is known by where its answer goes, or by its first pointer.
fn origin(function: &Function) -> String {
    if function.is_tool() {
        return "ffi::Origin::STANDARD".into();
    }
    let answer = function.arguments.iter().find(|argument| argument.direction == Direction::Out);
    let text = function.arguments.iter().find(|argument| argument.word() == "str");
    match (answer, text) {
        (Some(answer), _) => format!("ffi::origin::of_call({}.cast_const())", answer.rust_name()),
        (_, Some(text)) => format!("ffi::origin::of_call({})", text.rust_name()),
        _ => panic!("{}: nothing of the call has a place", function.name),
    }
}

fn input(argument: &Argument, rust: &str, name: &str) -> (String, Value) {
    match argument.word() {
        "count" | "displ" if rust == "i32" => (rust.into(), Value::Safe(format!("i64::from({name})"))),
        "status" => {
            (format!("*const {rust}"), Value::Promised(format!("ffi::in_ref({name}, \"{name} is NULL\")?")))
        }
        "str" if argument.is(Mark::AtRoot) => {
            let text = format!("ffi::RootText::new({name}, \"{name} is NULL\")");
            (format!("*const {rust}"), Value::Promised(text))
        }
        "str" | "chars" => {
            (format!("*const {rust}"), Value::Promised(format!("ffi::c_str({name}, \"{name} is NULL\")?")))
        }
        "mainargc" | "mainargv" => (rust.into(), Value::Merged),
        "argv" => (format!("*const {rust}"), Value::Promised(format!("ffi::Argv::new({name})"))),
        _ if argument.is(Mark::Attribute) => {
            (rust.into(), Value::Promised(format!("ffi::Attribute::given({name})")))
        }
        _ => (rust.into(), Value::Same),
    }
}

fn output(argument: &Argument, rust: &str, name: &str, wide: bool) -> (String, Value) {
    let required = format!("ffi::out({name}, \"{name} is NULL\")?");
    let value = match argument.word() {
        "strlen" | "textlen" => Value::Merged,
        "count" | "displ" => Value::Promised(format!("ffi::CountMut::{}({required})", width(wide))),
        "status" if argument.direction == Direction::Out => Value::Promised(format!("ffi::optional({name})")),
        _ if argument.optional => Value::Promised(format!("ffi::optional({name})")),
        _ if argument.is(Mark::Kept) => Value::Safe(format!("abi::Address({name}.expose_provenance())")),
        _ if argument.is(Mark::Attribute) => Value::Promised(format!("ffi::AttributeOut::new({required})")),
        _ => Value::Promised(required),
    };
    (format!("*mut {rust}"), value)
}

/// The value of the argument `name` as a length, or the error class that fits a negative one.
fn length(function: &Function, name: &str) -> String {
    let argument = function.argument(name).expect("the parser checked lengths");
    let class = match name {
        "ndims" | "maxdims" => "ERR_DIMS",
        _ if argument.word() == "count" || name.ends_with("count") => "ERR_COUNT",
        _ => "ERR_ARG",
    };
    let name = argument.rust_name();
    // Lengths are 32 bits in most functions; where they are 64 already, `i64::from` is the identity.
    format!("ffi::length(i64::from({name}), abi::{class}, \"{name} is negative\")?")
}

fn sized(argument: &Argument, rust: &str, name: &str, wide: bool, length: &str) -> (String, Value) {
    let null = format!("\"{name} is NULL\"");
    if argument.direction == Direction::In {
        let slice = format!("ffi::slice({name}, {length}, {null})?");
        let value = match argument.word() {
            "weights" => format!("ffi::Weights::new({name}, {null})"),
            "str" => return (format!("*const *const {rust}"), strings(name)),
            "count" | "displ" => format!("ffi::Counts::{}({slice})", width(wide)),
            _ => slice,
        };
        return (format!("*const {rust}"), Value::Promised(value));
    }
    let value = match argument.word() {
        "weights" => format!("ffi::Weights::out({name}, {length}, {null})?"),
        "status" => format!("ffi::optional_slice({name}, {length})"),
        _ => format!("ffi::slice_mut({name}, {length}, {null})?"),
    };
    (format!("*mut {rust}"), Value::Promised(value))
}

fn unsized_array(argument: &Argument, rust: &str, name: &str, wide: bool) -> (String, Value) {
    let null = format!("\"{name} is NULL\"");
    if argument.direction != Direction::In {
        let value = format!("ffi::ArrayMut::optional({name}, {null})");
        return (format!("*mut {rust}"), Value::Promised(value));
    }
    let array = format!("ffi::Array::new({name}, {null})");
    let value = match argument.word() {
        "weights" => format!("ffi::Weights::new({name}, {null})"),
        "str" => return (format!("*const *const {rust}"), strings(name)),
        "argv" => {
            return (format!("*const *const {rust}"), Value::Promised(format!("ffi::Argvs::new({name})")));
        }
        "count" | "displ" => format!("ffi::CountArray::{}({array})", width(wide)),
        _ => array,
    };
    (format!("*const {rust}"), Value::Promised(value))
}

fn strings(name: &str) -> Value {
    Value::Promised(format!("ffi::Strings::new({name}, \"{name} is NULL\")"))
}

/// Output text, which carries the length argument beside it.
fn text(function: &Function, argument: &Argument, name: &str, bound: &str) -> (String, Value) {
    let length_out = |argument: &Argument| match argument.optional {
        true => format!("ffi::optional({})", argument.name),
        false => format!("Some(ffi::out({0}, \"{0} is NULL\")?)", argument.name),
    };
    let value = if argument.word() == "text" {
        let length = function.argument(bound).expect("two-way text names its length");
        format!("ffi::TextOut::new({name}, {})", length_out(length))
    } else {
        let capacity = match bound.strip_suffix("+1") {
            Some(argument) => format!("{} + 1", length(function, argument)),
            None => format!("abi::{bound} as usize"),
        };
        let length = function.arguments.iter().find(|argument| argument.word() == "strlen");
        let length = length.map_or("None".into(), length_out);
        format!("ffi::StrOut::new({name}, {capacity}, {length}, \"{name} is NULL\")?")
    };
    ("*mut c_char".into(), Value::Promised(value))
}

fn width(wide: bool) -> &'static str {
    if wide { "Wide" } else { "Narrow" }
}
