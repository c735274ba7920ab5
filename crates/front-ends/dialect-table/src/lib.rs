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
    /// The name that programs need its C library by.
    pub soname: &'static str,
    /// Whether buffers of the module `mpi_f08` come as descriptors, in the compiler's own form; else as addresses.
    pub has_descriptors: bool,
    /// Its constants, in the table's order.
    pub constants: Vec<Constant>,
    /// The COMMON blocks of Fortran programs.
    pub commons: Vec<Common>,
    /// What the compiled modules of Fortran have beside procedures.
    pub modules: Vec<Module>,
}

/// Names in compiled modules of Fortran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// What they are: `variable`, `equal`, `unequal`, or `size` with the bytes.
    pub role: String,
    /// The names; braces stand for the type of handle.
    pub names: Vec<String>,
}

/// A COMMON block of Fortran programs, or another object whose parts mean something by their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    /// Its symbol.
    pub symbol: String,
    /// Its bytes.
    pub bytes: usize,
    /// What is in it, without `MPI_`, and where that begins.
    pub places: Vec<(String, usize)>,
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
    Dialect::read("MPICH", "libmpi.so.12", true, MPICH)
}

/// Open MPI's ABI.
///
/// # Errors
/// As [`mpich`].
pub fn open_mpi() -> Result<Dialect, String> {
    Dialect::read("Open MPI", "libmpi.so.40", false, OPEN_MPI)
}

impl Dialect {
    fn read(
        name: &'static str,
        soname: &'static str,
        has_descriptors: bool,
        table: &str,
    ) -> Result<Dialect, String> {
        let parse::Table { constants, commons, modules } = parse::table(table)?;
        Ok(Dialect { name, soname, has_descriptors, constants, commons, modules })
    }

    /// The constants of a kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Constant> {
        self.constants.iter().filter(move |constant| constant.kind == kind)
    }

    /// Our values of a kind, and the integers that Fortran programs have for them: those of C, unless they have their own.
    pub fn integers<'a>(&'a self, kind: &'a str) -> Vec<(i64, i64)> {
        let ours = |name: &str| self.constants.iter().find(|it| it.kind == kind && it.name == name);
        let named = self.named_integers(kind).into_iter();
        named.filter_map(|(name, integer)| Some((ours(name)?.ours, integer))).collect()
    }

    /// The names of handles of a kind and their integers in Fortran.
    pub fn named_integers<'a>(&'a self, kind: &str) -> Vec<(&'a str, i64)> {
        let of = |kind: &str| -> Vec<(&'a str, i64)> {
            let kind = self.constants.iter().filter(|constant| constant.kind == kind);
            kind.filter_map(|it| Some((it.name.as_str(), it.theirs.number()?))).collect()
        };
        let own = of(&format!("{kind}_integer"));
        if own.is_empty() { of(kind) } else { own }
    }

    /// Whether handles are integers, and not addresses of objects.
    pub fn has_integers(&self) -> bool {
        self.number("COMM_WORLD").is_some()
    }

    /// The number that a constant has there.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.constants.iter().find(|constant| constant.name == name)?.theirs.number()
    }
}

/// The Rust source of a front-end: conversions and entry points.
pub fn generate(dialect: &Dialect, table: &Table, extensions: &Table) -> String {
    let functions: String = function_table::for_front_ends(table, extensions)
        .filter_map(|(entry, prefix)| function::generate(dialect, entry, prefix))
        .collect();
    format!("{}\n{}\n{functions}", conversion::generate(dialect), conversion::statics(dialect))
}

/// The conversions of what a status has: the modules `rank`, `tag` and `errcode`.
pub fn of_status(dialect: &Dialect) -> String {
    conversion::of_status(dialect)
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
pub fn build(dialect: &Dialect) {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    function_table::link::name_the_library(
        dialect.soname,
        &["libmpi_abi.so.1"],
        &[
            // MPI_X jumps to the PMPI_X beside it. Data stays where the executable has it.
            "-Wl,-Bsymbolic-functions",
            "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../..",
        ],
        &out,
    );
    let table = function_table::table().expect("the function table is well-formed");
    let extensions = function_table::extensions().expect("the table of extensions is well-formed");
    let write =
        |name: &str, text: &str| fs::write(out.join(name), text).expect("cargo's OUT_DIR is writable");
    write("functions.rs", &generate(dialect, &table, &extensions));
    for (name, text) in TEMPLATES {
        write(name, text);
    }
}

/// The places of all functions in the table of addresses.
pub fn rows(table: &Table, extensions: &Table) -> String {
    let all = || function_table::for_front_ends(table, extensions).enumerate();
    let rows: String = all().map(|(at, (entry, _))| function::row(at, entry)).collect();
    let (count, version) = (all().count(), function_table::version(table, extensions));
    format!("{rows}pub const COUNT: usize = {count};\npub const VERSION: u64 = {version:#x};\n")
}
