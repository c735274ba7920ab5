//! `docs/status.md`: what is implemented, by chapter of the standard.

use std::fmt::Write;

use function_table::{Entry, Table};

/// The whole page.
pub fn render(table: &Table) -> String {
    let all: Vec<Entry<'_>> = table.entries().collect();
    let mut text = format!(
        "# Status\n\n\
         Generated from the function table by `cargo run -p xtask -- status`.\n\n\
         All {} functions of MPI 5.0 can be linked and called. {} are implemented; the others answer\n\
         `MPI_ERR_UNSUPPORTED_OPERATION` through the error handler (`MPI_T_ERR_NOT_SUPPORTED` in the tool interface).\n\n\
         | Chapter | Functions | Implemented |\n|---|---:|---:|\n",
        all.len(),
        implemented(&all).len()
    );
    for (index, chapter) in table.chapters.iter().enumerate() {
        let entries = of_chapter(&all, index);
        let done = implemented(&entries).len();
        let _ = writeln!(text, "| {} {} | {} | {done} |", chapter.number, chapter.title, entries.len());
    }
    for (index, chapter) in table.chapters.iter().enumerate() {
        let _ = write!(text, "\n## {} {}\n", chapter.number, chapter.title);
        let entries = of_chapter(&all, index);
        let (done, missing) = entries.into_iter().partition(|entry| entry.function.target.is_some());
        list(&mut text, "Implemented", done);
        list(&mut text, "Not yet", missing);
    }
    text
}

fn of_chapter<'a>(entries: &[Entry<'a>], chapter: usize) -> Vec<Entry<'a>> {
    entries.iter().copied().filter(|entry| entry.function.chapter == chapter).collect()
}

fn implemented<'a>(entries: &[Entry<'a>]) -> Vec<Entry<'a>> {
    entries.iter().copied().filter(|entry| entry.function.target.is_some()).collect()
}

/// One paragraph of names; a twin is shown as its row's name with `[_c]`.
fn list(text: &mut String, label: &str, entries: Vec<Entry<'_>>) {
    if entries.is_empty() {
        return;
    }
    let rows = entries.iter().filter(|entry| !entry.wide);
    let names: Vec<String> = rows
        .map(|entry| format!("`{}{}`", entry.name(), if entry.function.has_twin() { "[_c]" } else { "" }))
        .collect();
    let _ = write!(text, "\n**{label}** ({}): {}\n", entries.len(), names.join(", "));
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_current() {
        let table = function_table::table().unwrap();
        crate::check(&crate::status_page(), &super::render(&table)).unwrap();
    }
}
