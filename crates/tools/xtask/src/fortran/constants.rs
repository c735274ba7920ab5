//! Constants, as the interfaces have them.

use abi::constants::{ALL, Constant};
use function_table::fortran::HANDLES;

/// A constant in Fortran.
pub struct Value {
    /// Its name.
    pub name: &'static str,
    /// The handle type, without `MPI_`, or `""` for integers.
    pub handle: &'static str,
    /// An integer of `MPI_OFFSET_KIND`.
    pub offset: bool,
    /// The value.
    pub value: i64,
}

/// What C does not have, or has under other names.
const OWN: [(&str, i64); 8] = [
    ("MPI_STATUS_SIZE", 8),
    ("MPI_SOURCE", 1),
    ("MPI_TAG", 2),
    ("MPI_ERROR", 3),
    ("MPI_ADDRESS_KIND", 8),
    ("MPI_COUNT_KIND", 8),
    ("MPI_OFFSET_KIND", 8),
    ("MPI_INTEGER_KIND", 4),
];

/// All constants that have a value; those of the tool interface and the places of a status are C's alone.
pub fn values() -> Vec<Value> {
    let own = OWN.iter().map(|(name, value)| Value { name, handle: "", offset: false, value: *value });
    own.chain(ALL.iter().filter_map(value)).collect()
}

fn value(constant: &Constant) -> Option<Value> {
    let of_c = constant.name.starts_with("MPI_T_") || constant.name.starts_with("MPI_F_");
    let handle = constant.ctype.strip_prefix("MPI_").unwrap_or("");
    let handle = HANDLES.iter().copied().find(|it| *it == handle);
    let offset = constant.ctype == "MPI_Offset";
    if of_c || handle.is_none() && !offset && constant.ctype != "int" {
        return None;
    }
    // Text of Fortran has no NUL, for which C's lengths have room.
    let text = constant.name.starts_with("MPI_MAX_");
    let value = constant.value - i64::from(text);
    Some(Value { name: constant.name, handle: handle.unwrap_or(""), offset, value })
}

/// Objects with a meaning of their own: name, symbol without the last underscore, and what they stand for ([`declared`]).
pub const OBJECTS: [(&str, &str, &str); 10] = [
    ("MPI_BOTTOM", "mpi_fortran_bottom", ""),
    ("MPI_IN_PLACE", "mpi_fortran_in_place", ""),
    ("MPI_BUFFER_AUTOMATIC", "mpi_fortran_buffer_automatic", ""),
    ("MPI_STATUS_IGNORE", "mpi_fortran_status_ignore", "status"),
    ("MPI_STATUSES_IGNORE", "mpi_fortran_statuses_ignore", "statuses"),
    ("MPI_ERRCODES_IGNORE", "mpi_fortran_errcodes_ignore", "array"),
    ("MPI_UNWEIGHTED", "mpi_fortran_unweighted", "array"),
    ("MPI_WEIGHTS_EMPTY", "mpi_fortran_weights_empty", "array"),
    ("MPI_ARGV_NULL", "mpi_fortran_argv_null", "text"),
    ("MPI_ARGVS_NULL", "mpi_fortran_argvs_null", "texts"),
];

/// The declaration of such an object in the older interfaces: 16 bytes, or those of a status.
pub fn declared(name: &str, kind: &str) -> String {
    match kind {
        "status" => format!("INTEGER {name}(8)"),
        "statuses" => format!("INTEGER {name}(8,1)"),
        "text" => format!("CHARACTER(LEN=1) {name}(16)"),
        "texts" => format!("CHARACTER(LEN=1) {name}(16,1)"),
        _ => format!("INTEGER {name}(4)"),
    }
}

/// Procedures that are numbers in C.
pub const PREDEFINED: [&str; 13] = [
    "MPI_NULL_COPY_FN",
    "MPI_NULL_DELETE_FN",
    "MPI_DUP_FN",
    "MPI_COMM_NULL_COPY_FN",
    "MPI_COMM_NULL_DELETE_FN",
    "MPI_COMM_DUP_FN",
    "MPI_TYPE_NULL_COPY_FN",
    "MPI_TYPE_NULL_DELETE_FN",
    "MPI_TYPE_DUP_FN",
    "MPI_WIN_NULL_COPY_FN",
    "MPI_WIN_NULL_DELETE_FN",
    "MPI_WIN_DUP_FN",
    "MPI_CONVERSION_FN_NULL",
];
