//! The C library under a front-end, as the shared source sees it: values of its constants, and integers of its handles.

use dialect_table::{Dialect, Value};

use crate::objects::MEANINGS;

/// Numbers of the C library, without `MPI_`.
const NUMBERS: [&str; 28] = [
    "SUCCESS",
    "ERR_BUFFER",
    "ERR_CONVERSION",
    "ERR_UNSUPPORTED_OPERATION",
    "UNDEFINED",
    "CART",
    "GRAPH",
    "DIST_GRAPH",
    "COMBINER_NAMED",
    "COMBINER_DUP",
    "COMBINER_CONTIGUOUS",
    "COMBINER_F90_REAL",
    "COMBINER_F90_COMPLEX",
    "COMBINER_F90_INTEGER",
    "MAX_DATAREP_STRING",
    "MAX_ERROR_STRING",
    "MAX_INFO_KEY",
    "MAX_INFO_VAL",
    "MAX_LIBRARY_VERSION_STRING",
    "MAX_OBJECT_NAME",
    "MAX_PORT_NAME",
    "MAX_PROCESSOR_NAME",
    "MAX_PSET_NAME_LEN",
    "COMM_NULL_COPY_FN",
    "COMM_DUP_FN",
    "DUP_FN",
    "COMM_NULL_DELETE_FN",
    "CONVERSION_FN_NULL",
];

/// Handles that the procedures use by themselves.
const HANDLES: [&str; 4] = ["COMM_SELF", "BYTE", "DATATYPE_NULL", "INFO_NULL"];

/// The value of the standard ABI.
fn ours(name: &str) -> i64 {
    let full = format!("MPI_{name}");
    let found = abi::ALL.iter().find(|constant| constant.name == full);
    found.unwrap_or_else(|| panic!("{full} is no constant of the standard ABI")).value
}

/// Values that the dialect's table does not have are the standard's: the dialect's library takes them as they are.
fn value(dialect: Option<&Dialect>, name: &str) -> i64 {
    dialect.and_then(|dialect| dialect.number(name)).unwrap_or_else(|| ours(name))
}

/// The source of the module `library`.
pub fn values(dialect: Option<&Dialect>) -> String {
    let numbers = NUMBERS.iter().map(|it| format!("pub const {it}: i32 = {};\n", value(dialect, it)));
    let addresses =
        MEANINGS.iter().map(|it| format!("pub const {it}: usize = {}_isize as usize;\n", value(dialect, it)));
    let mut text: String = numbers.chain(addresses).chain(HANDLES.map(|it| handle(dialect, it))).collect();
    let integers = dialect.is_none_or(Dialect::has_integers);
    text += &format!(
        "pub const IS_STANDARD: bool = {};\npub const HANDLES_ARE_INTEGERS: bool = {integers};\n",
        dialect.is_none()
    );
    text += &format!(
        "/// An element of an array of handles.\npub type Element = {};\n\
         pub const fn widened(it: Element) -> usize {{ it as usize }}\n",
        if integers && dialect.is_some() { "u32" } else { "usize" }
    );
    text + &match dialect {
        Some(dialect) => of_ours(dialect),
        None => OWN.to_string(),
    }
}

/// `pub fn comm_self() -> usize { 0x44000001 }`
fn handle(dialect: Option<&Dialect>, name: &str) -> String {
    let theirs = dialect.and_then(|dialect| dialect.constants.iter().find(|it| it.name == name));
    let value = match theirs.map(|constant| &constant.theirs) {
        Some(Value::Symbol(symbol)) => {
            return format!(
                "unsafe extern \"C\" {{ safe static {symbol}: u8; }}\n\
                 pub fn {}() -> usize {{ address_of!({symbol}) as usize }}\n",
                name.to_lowercase()
            );
        }
        Some(Value::Number(number)) => *number,
        None => ours(name),
    };
    format!("pub const fn {}() -> usize {{ {value} }}\n", name.to_lowercase())
}

/// What is the same in Fortran and in the library's own terms.
const OWN: &str = "
/// The integer of an object with attributes or an error handler.
pub fn object(ours: usize) -> i32 { ours as u32 as i32 }
/// The integer of a datatype.
pub fn datatype(ours: usize) -> i32 { ours as u32 as i32 }
/// The key that C has for Fortran's.
pub fn key(it: i32) -> i32 { it }
/// The error code of one that a procedure of the program gives.
pub fn code(theirs: i32) -> i32 { theirs }
/// The program's error code of one of ours.
pub fn code_to(ours: i32) -> i32 { ours }
";

fn arms(pairs: impl IntoIterator<Item = (i64, i64)>) -> String {
    let mut seen = Vec::new();
    let mut text = String::new();
    for (from, to) in pairs {
        if !seen.contains(&from) {
            seen.push(from);
            text += &format!("{from} => {to}_i64 as i32, ");
        }
    }
    text
}

/// The integers of handles in the terms of the engine, which calls procedures of the program.
fn of_ours(dialect: &Dialect) -> String {
    let objects = ["comm", "win", "file", "session", "datatype"];
    let objects = arms(objects.iter().flat_map(|kind| dialect.integers(kind)));
    let datatypes = arms(dialect.integers("datatype"));
    let of_c = |name: &str| dialect.of("keyval").find(|it| it.name == name)?.theirs.number();
    let keys = dialect.of("keyval_integer");
    let keys = arms(keys.filter_map(|it| Some((it.theirs.number()?, of_c(&it.name)?))));
    format!(
        "use crate::functions::errcode;\n\
         pub fn object(ours: usize) -> i32 {{ match ours {{ {objects} dynamic => dynamic as u32 as i32 }} }}\n\
         pub fn datatype(ours: usize) -> i32 {{ match ours {{ {datatypes} dynamic => dynamic as u32 as i32 }} }}\n\
         pub fn key(it: i32) -> i32 {{ match it {{ {keys} _ => it }} }}\n\
         pub fn code(theirs: i32) -> i32 {{ match errcode::of(theirs) {{ i32::MIN => abi::ERR_OTHER, code => code }} }}\n\
         pub fn code_to(ours: i32) -> i32 {{ errcode::to(ours) }}\n",
    )
}

/// The functions between handles and integers: the standard's names say `int`, those of the dialects are of MPI-2.
pub fn handles(dialect: Option<&Dialect>) -> String {
    let rows = function_table::fortran::HANDLES.iter().map(|kind| {
        let function = if *kind == "Datatype" { "Type" } else { kind };
        let [of, to] = if dialect.is_some() { ["f2c", "c2f"] } else { ["fromint", "toint"] };
        format!("{kind} PMPI_{function}_{of} PMPI_{function}_{to}\n")
    });
    format!("conversions! {{\n{}}}\n", rows.collect::<String>())
}
