//! The one table of MPI functions: its rows, their model and the C side of every argument kind.
//!
//! The rows live in `functions/*.table`, one file per chapter of the standard, maintained by hand:
//!
//! ```text
//! chapter 3 Point-to-Point Communication
//!
//! Recv(buf:buf, count:count, datatype:datatype, source:int, tag:int, comm:comm, status:out status) -> messages::p2p::recv
//! Wtime() returns double anytime -> startup::env::wtime
//! ```
//!
//! A row is `Name(argument:[direction] [marks] kind, …) [attributes] -> target`.
//!
//! * **direction**: nothing for input, `out`, `inout`; a question mark after it (`out?`) lets the caller pass NULL.
//! * **kind**: a word of [`kind`]; `[n]` makes it an array whose length is the argument `n`, `[*]` one whose length
//!   only the library knows (the size of the communicator, say); `(x)` bounds an output string.
//! * **marks**, in front of the kind: what C's type does not express and other languages must know, see [`Mark`]:
//!   `logical`, `index` (Fortran counts from 1), `c` (no other language has the argument), `per_peer` and the like (how many
//!   elements an array of `[*]` has) …
//! * **attributes**: `c_only` (no other language has the function), `narrow` (no large-count twin, although a kind widens), `keeps` (buffers are the library's after the return,
//!   although there is no request), `anytime` (callable before `MPI_Init` and after `MPI_Finalize`), `deprecated`, `on_file`
//!   (errors without a file argument are raised on `MPI_FILE_NULL`), `returns kind`, `fast path` (a function of
//!   the crates of `mpi` that is tried first: it gets all arguments and no token, and returns whether it did all),
//!   `second path` (another one, tried next).
//! * **target**: the function of a crate of `mpi` that does the work, given the token and the arguments in their order,
//!   without those that are lengths of slices or of text. A target may
//!   lead with expressions, where `..` stands for the arguments not named in them and capitalised paths are in the
//!   target's module: `coll::bcast(Mode::Persistent(request), -info, ..)`; `-info` leaves that argument out, and
//!   `LARGE` is whether the large-count twin was called. Without `..` only the expressions are given.
//!
//! What a target gets for an argument (types of the crates `abi` and `ffi`):
//!
//! | in the row | in C | the target gets |
//! |---|---|---|
//! | `int`, `aint`, `offset`, `large`, handles | the value | the value |
//! | `rank`, `root`, `tag`, `level` and the like | as `int` | as `int`; the words name what other ABIs number otherwise |
//! | `count`, `displ`, `bytes` | `int` or `MPI_Aint`, wider in the twin | `i64` |
//! | `buf`, `cbuf`, `ptr` | `void *` | `Address` |
//! | `out int`, `inout comm`, … | pointer | `&mut i32`, `&mut Comm`; NULL is `MPI_ERR_ARG` |
//! | `out? int`, … | pointer or NULL | `Option<&mut i32>` |
//! | `inout kept int` | pointer | `Address`, which may be NULL |
//! | `out ptr` | `void *` (address of a pointer) | `&mut Address` |
//! | `out count`, `inout count`, `out displ` | pointer | `CountMut` |
//! | `status`; `out status`; `inout status` | pointer | `&Status`; `Option<&mut Status>`; `&mut Status` |
//! | `int[n]`; `out int[n]` | array | `&[i32]`; `&mut [i32]`, and `n` is left out |
//! | `out status[n]` | array or `MPI_STATUSES_IGNORE` | `Option<&mut [Status]>` |
//! | `count[n]`, `displ[n]`; `bytes[n]` | array | `Counts`; `&[i64]` |
//! | `int[*]`; `count[*]`, `displ[*]` | array | `Array<i32>`; `CountArray` |
//! | `out? int[*]` | array or NULL | `Option<ArrayMut<i32>>` |
//! | `weights[…]`; `out weights[n]` | array or `MPI_UNWEIGHTED` | `Weights`; `Option<&mut [i32]>` |
//! | `str`; `str[…]`; `argv`; `argv[*]` | strings | `&CStr`; `Strings`; `Argv`; `Argvs` |
//! | `at_root str` | a string, or anything elsewhere than at the root | `RootText` |
//! | `out str(MAX_X)` with `out strlen` | `char *`, `int *` | `StrOut` |
//! | `out text(n)` with `inout textlen` | `char *`, `int *` | `TextOut` |
//! | `fn X`; `fn? X` | function pointer | `XFunction`; `Option<XFunction>`, with whose it is |
//! | `attribute ptr`; `out attribute ptr` | pointer | `Attribute`; `AttributeOut` |
//! | `fn Comm_copy_attr_function` and the like | function pointer or a magic value | `CopyAttr` |
//! | `mainargc`, `mainargv` | pointers | nothing |
//!
//! A row with a widening kind (`count`, `displ`, `bytes`) stands for two functions: itself and its large-count
//! twin `Name_c`, which share the target. Twins that differ otherwise have rows of their own.
#![forbid(unsafe_code)]

pub mod c;
pub mod fortran;
pub mod kind;
pub mod link;
mod model;
mod parse;

pub use kind::Kind;
pub use model::{
    Argument, Callback, Chapter, Direction, Entry, Function, Length, Mark, OnObject, Per, Shape, Table,
    Target, What,
};

/// The chapters in the order of the standard.
const CHAPTERS: &[(&str, &str)] = &[
    ("messages", include_str!("../functions/messages.table")),
    ("partitioned", include_str!("../functions/partitioned.table")),
    ("datatypes", include_str!("../functions/datatypes.table")),
    ("collectives", include_str!("../functions/collectives.table")),
    ("communicators", include_str!("../functions/communicators.table")),
    ("topologies", include_str!("../functions/topologies.table")),
    ("environment", include_str!("../functions/environment.table")),
    ("info", include_str!("../functions/info.table")),
    ("startup", include_str!("../functions/startup.table")),
    ("windows", include_str!("../functions/windows.table")),
    ("external", include_str!("../functions/external.table")),
    ("files", include_str!("../functions/files.table")),
    ("tools", include_str!("../functions/tools.table")),
    ("deprecated", include_str!("../functions/deprecated.table")),
    ("language_bindings", include_str!("../functions/language_bindings.table")),
    ("abi", include_str!("../functions/abi.table")),
];

const EXTENSIONS: &str = include_str!("../functions/extensions.table");
const REMOVED: &str = include_str!("../functions/removed.table");
const CALLBACKS: &str = include_str!("../functions/callbacks.table");

/// Reads the whole table.
///
/// # Errors
/// The first row that cannot be read, as `file:line: what is wrong`. The table is compiled in, so a caller outside
/// the tests of this crate may treat an error as a defect of the build.
pub fn table() -> Result<Table, String> {
    let mut chapters = Vec::new();
    let mut functions = Vec::new();
    for (index, (file, text)) in CHAPTERS.iter().enumerate() {
        chapters.push(parse::chapter(file, text, index, &mut functions)?);
    }
    Ok(Table { prefix: "MPI_", chapters, functions, callbacks: parse::callbacks(CALLBACKS)? })
}

/// The functions beyond the standard, whose names begin with `MPIX_`: C has them in the header `mpi-ext.h`, Fortran in `mpif-ext.h` and
/// the modules `mpi_ext` and `mpi_f08_ext`.
///
/// # Errors
/// As [`table`].
pub fn extensions() -> Result<Table, String> {
    let mut functions = Vec::new();
    let chapter = parse::chapter("extensions", EXTENSIONS, 0, &mut functions)?;
    Ok(Table { prefix: "MPIX_", chapters: vec![chapter], functions, callbacks: Vec::new() })
}

/// The functions that MPI-3.0 removed and programs still call. MPICH and Open MPI export them, so programs that were linked with MPICH's
/// library of the standard ABI need them. C alone has them from here: Fortran's take default integers for addresses, and other ABIs
/// number more datatypes.
///
/// # Errors
/// As [`table`].
pub fn removed() -> Result<Table, String> {
    let mut functions = Vec::new();
    let chapter = parse::chapter("removed", REMOVED, 0, &mut functions)?;
    Ok(Table { prefix: "MPI_", chapters: vec![chapter], functions, callbacks: Vec::new() })
}

/// All functions that other front-ends call, in the order of the table of addresses: those of the standard and those beyond, each
/// with what its name begins with.
pub fn for_front_ends<'a>(
    table: &'a Table,
    extensions: &'a Table,
) -> impl Iterator<Item = (Entry<'a>, &'static str)> {
    [table, extensions].into_iter().flat_map(|table| table.entries().map(|entry| (entry, table.prefix)))
}

/// A number for the order and the prototypes of all functions. The standard front-end states it beside its table of addresses,
/// and a front-end that was made from another table refuses to call.
pub fn version(table: &Table, extensions: &Table) -> u64 {
    // FNV-1a.
    let prototypes = for_front_ends(table, extensions).map(|(entry, prefix)| c::prototype(entry, prefix));
    prototypes.flat_map(String::into_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
