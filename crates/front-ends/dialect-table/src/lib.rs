//! The dialects: ABIs of other MPI libraries, whose programs run on this one as they are.
//!
//! A dialect is data. `tables/*.table` has its values; the function table says which argument holds which kind of value.
//! From both, [`generate`] writes a front-end: the entry points of a dialect, which convert what the program gives, call the
//! standard function by the table of addresses that `libmpi_abi` exports, and convert what comes back.
//!
//! ```text
//!  program ── MPI_Recv ──▶ libmpi.so.12: MPICH's handles, ranks, tags ─▶ ours
//!                              │  alhena_front_end_v1.functions[row::Recv]
//!                              ▼
//!                          libmpi_abi.so.1: PMPI_Recv
//!                              │
//!  program ◀── MPICH's status, error code ◀┘
//! ```
#![forbid(unsafe_code)]

mod argument;
mod conversion;
mod function;
mod parse;

use function_table::Table;

/// An ABI of another library.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// The name of the library whose ABI it is.
    pub name: &'static str,
    /// Its constants, in the table's order.
    pub constants: Vec<Constant>,
}

/// A constant that both ABIs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The kind of argument that takes it.
    pub kind: String,
    /// Its name without `MPI_`.
    pub name: String,
    /// Its value there.
    pub theirs: Value,
    /// Its value in the standard ABI.
    pub ours: i64,
}

/// A value of a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// The address of an object with this name.
    Symbol(String),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Symbol(_) => None,
        }
    }
}

const MPICH: &str = include_str!("../tables/mpich.table");
const OPEN_MPI: &str = include_str!("../tables/open-mpi.table");

/// MPICH's ABI.
///
/// # Errors
/// The first line that cannot be read. The tables are compiled in, so an error is a defect of the build.
pub fn mpich() -> Result<Dialect, String> {
    Ok(Dialect { name: "MPICH", constants: parse::constants(MPICH)? })
}

/// Open MPI's ABI.
///
/// # Errors
/// As [`mpich`].
pub fn open_mpi() -> Result<Dialect, String> {
    Ok(Dialect { name: "Open MPI", constants: parse::constants(OPEN_MPI)? })
}

impl Dialect {
    /// The constants of a kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Constant> {
        self.constants.iter().filter(move |constant| constant.kind == kind)
    }

    /// The number that a constant has there.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.constants.iter().find(|constant| constant.name == name)?.theirs.number()
    }
}

/// The Rust source of a front-end: conversions and entry points.
pub fn generate(dialect: &Dialect, table: &Table) -> String {
    let functions: String = table.entries().filter_map(|entry| function::generate(dialect, entry)).collect();
    format!("{}\n{}\n{functions}", conversion::generate(dialect), conversion::statics(dialect))
}

/// What the tables cannot say, and the same in all dialects: the source of two further modules of a front-end.
pub const BY_HAND: &str = include_str!("../templates/by_hand.rs");

/// See [`BY_HAND`]: what MPI had before, and what these libraries have beside the standard.
pub const FORMER: &str = include_str!("../templates/former.rs");

/// The places of all functions in the table of addresses.
pub fn rows(table: &Table) -> String {
    let rows: String = table.entries().enumerate().map(|(at, entry)| function::row(at, entry)).collect();
    let (count, version) = (table.entries().count(), function_table::version(table));
    format!("{rows}pub const COUNT: usize = {count};\npub const VERSION: u64 = {version:#x};\n")
}
