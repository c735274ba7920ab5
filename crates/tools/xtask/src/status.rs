//! `docs/status.md`: what is implemented, by chapter of the standard.

use std::fmt::Write;

use function_table::fortran::Procedure;
use function_table::{Entry, Table};

/// The whole page.
pub fn render(table: &Table) -> String {
    let all: Vec<Entry<'_>> = table.entries().collect();
    let mut text = format!(
        "# Status\n\n\
         Generated from the function table by `cargo run -p xtask -- status`.\n\n\
         All {} functions of MPI 5.0 are implemented.\n\n\
         | Chapter | Functions |\n|---|---:|\n",
        all.len()
    );
    for (index, chapter) in table.chapters.iter().enumerate() {
        let count = of_chapter(&all, index).len();
        let _ = writeln!(text, "| {} {} | {count} |", chapter.number, chapter.title);
    }
    text += "\nThe tables say in which interfaces a function is: C, the older ones of Fortran (`mpif.h` and `use mpi`), and \
             `use mpi_f08`.\n`[_c]` is a twin with large counts; `mpi_f08` has that under the name without `_c`, but where a procedure \
             of the program differs.\n";
    for (index, chapter) in table.chapters.iter().enumerate() {
        let _ = write!(text, "\n## {} {}\n\n", chapter.number, chapter.title);
        text += "| Function | C | `mpif.h`, `mpi` | `mpi_f08` |\n|---|---|---|---|\n";
        for entry in of_chapter(&all, index).iter().filter(|entry| !entry.wide) {
            row(&mut text, table, *entry);
        }
    }
    text
}

/// One function and its twin in each interface.
fn row(text: &mut String, table: &Table, entry: Entry<'_>) {
    let twin = if entry.function.has_twin() { "[_c]" } else { "" };
    let of_c = entry.function.is_tool() || entry.function.c_only;
    let has = |there: bool| if there && !of_c { "yes" } else { "" };
    let procedure = Procedure { entry };
    let (older, f08) = (has(procedure.in_older()), has(procedure.in_f08(table)));
    let _ = writeln!(text, "| `{}{twin}` | yes | {older} | {f08} |", entry.name());
}

fn of_chapter<'a>(entries: &[Entry<'a>], chapter: usize) -> Vec<Entry<'a>> {
    entries.iter().copied().filter(|entry| entry.function.chapter == chapter).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_current() {
        let table = function_table::table().unwrap();
        crate::check(&crate::status_page(), &super::render(&table)).unwrap();
    }
}
