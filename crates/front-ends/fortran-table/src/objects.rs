//! What Fortran programs have by address: `MPI_BOTTOM`, `MPI_IN_PLACE` … (MPI-5.0 section 2.5.4). They are COMMON blocks in
//! `mpif.h` and variables of the modules, with one symbol for both in the standard's library and several elsewhere.

use dialect_table::{Common, Dialect};

/// All of them, without `MPI_`: in C, they are addresses with a meaning of their own.
pub const MEANINGS: [&str; 10] = [
    "BOTTOM",
    "IN_PLACE",
    "BUFFER_AUTOMATIC",
    "STATUS_IGNORE",
    "STATUSES_IGNORE",
    "ERRCODES_IGNORE",
    "UNWEIGHTED",
    "WEIGHTS_EMPTY",
    "ARGV_NULL",
    "ARGVS_NULL",
];

/// Those of this library's own modules and header: symbol, bytes, meaning.
const STANDARD: [(&str, usize, &str); 12] = [
    ("mpi_fortran_bottom_", 16, "BOTTOM"),
    ("mpi_fortran_in_place_", 16, "IN_PLACE"),
    ("mpi_fortran_buffer_automatic_", 16, "BUFFER_AUTOMATIC"),
    ("mpi_fortran_status_ignore_", 32, "STATUS_IGNORE"),
    ("mpi_fortran_statuses_ignore_", 32, "STATUSES_IGNORE"),
    ("mpi_f08_status_ignore_", 32, "STATUS_IGNORE"),
    ("mpi_f08_statuses_ignore_", 32, "STATUSES_IGNORE"),
    ("mpi_fortran_errcodes_ignore_", 16, "ERRCODES_IGNORE"),
    ("mpi_fortran_unweighted_", 16, "UNWEIGHTED"),
    ("mpi_fortran_weights_empty_", 16, "WEIGHTS_EMPTY"),
    ("mpi_fortran_argv_null_", 16, "ARGV_NULL"),
    ("mpi_fortran_argvs_null_", 16, "ARGVS_NULL"),
];

/// The objects, and for each meaning a function that knows its addresses.
pub fn generate(dialect: Option<&Dialect>) -> String {
    let standard = || {
        let all = STANDARD.iter().map(|(symbol, bytes, meaning)| Common {
            symbol: symbol.to_string(),
            bytes: *bytes,
            places: vec![(meaning.to_string(), 0)],
        });
        all.collect()
    };
    let commons: Vec<Common> = dialect.map_or_else(standard, |dialect| dialect.commons.clone());
    let objects: String = commons
        .iter()
        .map(|it| {
            let form = if it.bytes % 4 == 0 { "Words" } else { "Bytes" };
            format!(
                "#[unsafe(no_mangle)] static mut {}: {form}<{1}> = {form}([0; {1}]);\n",
                it.symbol, it.bytes
            )
        })
        .collect();
    let known: String = MEANINGS.iter().map(|meaning| is(meaning, &commons)).collect();
    objects + &known + &buffer_automatic(&commons)
}

/// What C gives back, too: a function that answers the object's address.
fn buffer_automatic(commons: &[Common]) -> String {
    let place =
        addresses("BUFFER_AUTOMATIC", commons).pop().map_or("None".into(), |it| format!("Some({it})"));
    format!("pub fn buffer_automatic() -> Option<P> {{ {place} }}\n")
}

/// `pub fn is_in_place(address: P) -> bool { address == address_of!(mpipriv1_).wrapping_byte_add(4) }`
fn is(meaning: &str, commons: &[Common]) -> String {
    let places: Vec<String> =
        addresses(meaning, commons).iter().map(|place| format!("address == {place}")).collect();
    let (name, known) =
        if places.is_empty() { ("_address", "false".to_string()) } else { ("address", places.join(" || ")) };
    format!("#[inline(always)] pub fn is_{}({name}: P) -> bool {{ {known} }}\n", meaning.to_lowercase())
}

/// Where the objects of a meaning are.
fn addresses(meaning: &str, commons: &[Common]) -> Vec<String> {
    let mut all = Vec::new();
    for common in commons {
        for (_, offset) in common.places.iter().filter(|(name, _)| name == meaning) {
            let address = format!("address_of!({})", common.symbol);
            all.push(match offset {
                0 => address,
                offset => format!("{address}.wrapping_byte_add({offset})"),
            });
        }
    }
    all
}
