//! What other libraries' compiled modules have beside procedures: variables with handles, comparisons of handles, sizes of types.
//! Modules of this library's own are interfaces alone, and have none of it but names of comparisons.

use dialect_table::Dialect;
use function_table::fortran::HANDLES;

use crate::procedure::names;

/// The procedures that compare handles of any type.
const EQUAL: &str = "crate::extra::mpi_handle_eq_f08_";
const UNEQUAL: &str = "crate::extra::mpi_handle_ne_f08_";

/// The source of all of them.
pub fn generate(dialect: &Dialect) -> String {
    let of = |role: &str| -> Vec<&str> {
        let lines = dialect.modules.iter().filter(|it| it.role == role);
        lines.flat_map(|it| it.names.iter().map(String::as_str)).collect()
    };
    variables(dialect, &of("variable"))
        + &comparisons(&of("equal"), EQUAL)
        + &comparisons(&of("unequal"), UNEQUAL)
        + &sizes(dialect)
}

/// The comparisons by the names that the own modules' interfaces have: one for each type of handle, as compilers write it.
pub fn of_interfaces() -> String {
    let mut text = String::new();
    for kind in HANDLES.map(str::to_lowercase) {
        for (word, to) in [("eq", EQUAL), ("ne", UNEQUAL)] {
            let base = format!("mpi_{kind}_{word}");
            text += &format!("alias! {{ {base}_ = {to} }}\n");
            text += &names(&base, to);
        }
    }
    text
}

/// `__mpi_f08_types_MOD_mpi_comm_world`: the integer of a handle.
fn variables(dialect: &Dialect, prefixes: &[&str]) -> String {
    let mut text = String::new();
    for kind in HANDLES.map(str::to_lowercase) {
        for (name, integer) in dialect.named_integers(&kind) {
            for prefix in prefixes {
                text += &format!(
                    "#[unsafe(no_mangle)] #[used] static {prefix}mpi_{}: i32 = {integer}_i64 as i32;\n",
                    name.to_lowercase()
                );
            }
        }
    }
    text
}

/// Names with the type of handle in place of braces.
fn comparisons(names: &[&str], to: &str) -> String {
    let mut text = String::new();
    for kind in HANDLES.map(str::to_lowercase) {
        for name in names {
            text += &format!("alias! {{ {} = {to} }}\n", name.replace("{}", &kind));
        }
    }
    text
}

/// `MPI_SIZEOF` of a type: a procedure for each, and for each rank.
fn sizes(dialect: &Dialect) -> String {
    let mut text = String::new();
    let mut known = Vec::new();
    for line in &dialect.modules {
        let Some(bytes) = line.role.strip_prefix("size") else { continue };
        if !known.contains(&bytes) {
            known.push(bytes);
            text += &format!(
                "// SAFETY: the program's places.\n\
                 unsafe extern \"C\" fn size_{bytes}(_: P, size: *mut i32, ierror: *mut i32) {{\n\
                 unsafe {{ *size = {bytes}; give(ierror, 0); }} }}\n"
            );
        }
        for name in line.names.iter().flat_map(|name| of_ranks(name)) {
            text += &format!("alias! {{ {name} = size_{bytes} }}\n");
        }
    }
    text
}

/// `mpi_sizeof_int8_@_`: a scalar and arrays of up to 15 dimensions, each with its P twin; `__x_i1|v`: a scalar and arrays.
fn of_ranks(name: &str) -> Vec<String> {
    if let Some((scalar, array)) = name.split_once('|') {
        return vec![scalar.to_string(), format!("{scalar}{array}")];
    }
    let ranks = (1..=15).map(|rank| format!("r{rank}")).chain(["scalar".to_string()]);
    ranks.flat_map(|rank| ["", "p"].map(|prefix| prefix.to_string() + &name.replace('@', &rank))).collect()
}
