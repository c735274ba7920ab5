//! The dialects: ABIs of other MPI libraries, whose programs run on this one as they are.
//!
//! A dialect is data. `tables/*.table` has its values; the function table says which argument holds which kind of value.
//! From both, [`generate`] writes a front-end: the entry points of a dialect, which convert what the program gives, call the
//! standard function by the table of addresses that `libmpi_abi` exports, and convert the answers.
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

use std::path::PathBuf;
use std::{env, fs};

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

/// What the tables cannot say, and the same in all dialects: the sources of further modules of a front-end.
const TEMPLATES: [(&str, &str); 4] = [
    ("attribute.rs", include_str!("../templates/attribute.rs")),
    ("by_hand.rs", include_str!("../templates/by_hand.rs")),
    ("callers.rs", include_str!("../templates/callers.rs")),
    ("former.rs", include_str!("../templates/former.rs")),
];

/// The build script of a front-end: writes its generated modules to cargo's `OUT_DIR`, and names the library.
///
/// # Panics
/// Where cargo or the system's linker is not as it must be.
pub fn build(soname: &str, dialect: &Dialect) {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    function_table::link::name_the_library(
        soname,
        &[
            // MPI_X jumps to the PMPI_X beside it. Data stays where the executable has it.
            "-Wl,-Bsymbolic-functions",
            "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../..",
        ],
        &out,
    );
    let table = function_table::table().expect("the function table is well-formed");
    let write =
        |name: &str, text: &str| fs::write(out.join(name), text).expect("cargo's OUT_DIR is writable");
    write("functions.rs", &generate(dialect, &table));
    for (name, text) in TEMPLATES {
        write(name, text);
    }
}

/// The places of all functions in the table of addresses.
pub fn rows(table: &Table) -> String {
    let rows: String = table.entries().enumerate().map(|(at, entry)| function::row(at, entry)).collect();
    let (count, version) = (table.entries().count(), function_table::version(table));
    format!("{rows}pub const COUNT: usize = {count};\npub const VERSION: u64 = {version:#x};\n")
}
