//! The sources of the book of documents: the pages of `docs/`, and one page for each chapter of the standard and each
//! function. `docs/SUMMARY.md` has their order; `mdbook` makes a site of them (scripts/docs).

use std::fmt::Write;
use std::fs;
use std::path::Path;

use function_table::{Function, Table, c, fortran};

use crate::words::{describe, errors, notes};

/// The line of the summary that the functions' pages stand for.
const FUNCTIONS: &str = "- [Functions](functions.md)";

/// Pages beside `docs/`, as the book has them.
const BESIDE: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// Writes all pages to `directory`, whose `SUMMARY.md` names each of them.
pub fn write(table: &Table, sources: &Path, directory: &Path) -> Result<(), String> {
    copy(&sources.join("docs"), directory)?;
    for name in BESIDE {
        let text = read(&sources.join(name))?;
        crate::write(&directory.join(name), &text.replace("](docs/", "]("))?;
    }
    let summary = directory.join("SUMMARY.md");
    let text = read(&summary)?;
    if !text.contains(FUNCTIONS) {
        return Err(format!(
            "reading {}\nit lacks the line {FUNCTIONS}\nadd it to docs/SUMMARY.md",
            summary.display()
        ));
    }
    let mut lines = FUNCTIONS.to_owned();
    let mut index =
        String::from("# Functions\n\nAll functions of MPI 5.0, by the chapters of the standard.\n\n");
    for (at, chapter) in table.chapters.iter().enumerate() {
        let functions: Vec<&Function> = table.functions.iter().filter(|it| it.chapter == at).collect();
        if functions.is_empty() {
            continue;
        }
        let (page, title) = (format!("functions/chapter-{}.md", chapter.number), &chapter.title);
        let _ = write!(lines, "\n  - [{} {title}]({page})", chapter.number);
        let _ = writeln!(index, "- [{} {title}]({page})", chapter.number);
        crate::write(&directory.join(&page), &chapter_page(table, at, &functions))?;
        for function in functions {
            let page = format!("functions/MPI_{}.md", function.name);
            let _ = write!(lines, "\n    - [MPI_{}]({page})", function.name);
            crate::write(&directory.join(&page), &function_page(table, function))?;
        }
    }
    crate::write(&directory.join("functions.md"), &index)?;
    crate::write(&summary, &text.replace(FUNCTIONS, &lines))
}

/// The functions of a chapter with their C prototypes, each under an anchor of its name.
fn chapter_page(table: &Table, chapter: usize, functions: &[&Function]) -> String {
    let mut text = format!("# {} {}\n", table.chapters[chapter].number, table.chapters[chapter].title);
    for function in functions {
        let name = &function.name;
        let _ =
            write!(text, "\n## [MPI_{name}](MPI_{name}.md) {{ #MPI_{name} }}\n\n{}", prototypes(function));
    }
    text
}

fn function_page(table: &Table, function: &Function) -> String {
    let (name, chapter) = (&function.name, &table.chapters[function.chapter]);
    let mut text = format!(
        "# MPI_{name} {{ #MPI_{name} }}\n\nMPI 5.0, chapter [{number} {}](chapter-{number}.md#MPI_{name}).\n\n\
         ## C\n\n{}",
        chapter.title,
        prototypes(function),
        number = chapter.number,
    );
    for procedure in fortran::procedures(table).filter(|it| it.name() == *name && it.in_f08(table)) {
        let dummies = procedure.dummies();
        let ierror = procedure.has_ierror().then_some("ierror");
        let names: Vec<&str> = dummies.iter().map(|dummy| dummy.name()).chain(ierror).collect();
        let call = if procedure.returns().is_some() { "value =" } else { "call" };
        let _ = write!(text, "\n## Fortran\n\n```fortran\n{call} MPI_{name}({})\n```\n", names.join(", "));
    }
    if !function.arguments.is_empty() {
        text += "\n## Arguments\n\n| argument | what it is |\n|---|---|\n";
    }
    for argument in &function.arguments {
        let _ = writeln!(text, "| `{}` | {} |", argument.name, describe(argument, code));
    }
    let _ = write!(text, "\n## Errors\n\n{}\n\n## Notes\n\n{}\n", errors(function, code), notes(function));
    text
}

fn prototypes(function: &Function) -> String {
    let lines: String =
        function.entries().map(|entry| broken(&format!("{};\n", c::prototype(entry, "MPI_")))).collect();
    format!("```c\n{lines}```\n")
}

/// A prototype, broken between arguments where it is wider than the page.
fn broken(prototype: &str) -> String {
    const WIDTH: usize = 72;
    let (mut text, mut column) = (String::new(), 0);
    for argument in prototype.split_inclusive(", ") {
        if column + argument.trim_end().len() > WIDTH {
            text.truncate(text.trim_end().len());
            text += "\n    ";
            column = 4;
        }
        text += argument;
        column += argument.len();
    }
    text
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path)
        .map_err(|error| format!("reading {}\n{error}\nlook at it: ls -l {0}", path.display()))
}

/// Copies a folder; links of pages that lead out of it lead to what stands beside it in the book.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed =
        |error: std::io::Error| format!("reading {}\n{error}\nlook at it: ls -l {0}", from.display());
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target)?;
        } else if path.extension().is_some_and(|it| it == "md") {
            let mut text = read(&path)?;
            for name in BESIDE {
                text = text.replace(&format!("](../{name}"), &format!("]({name}"));
            }
            crate::write(&target, &text)?;
        } else {
            fs::create_dir_all(to).and_then(|()| fs::copy(&path, &target)).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_a_page_and_each_page_of_docs_is_in_the_summary() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let folder = std::env::temp_dir().join(format!("book-{}", std::process::id()));
        let table = function_table::table().unwrap();
        write(&table, &sources, &folder).unwrap();
        let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
        let mut missing = Vec::new();
        for below in ["", "measurements", "functions"] {
            for entry in fs::read_dir(folder.join(below)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let path = if below.is_empty() { name } else { format!("{below}/{name}") };
                if path.ends_with(".md") && path != "SUMMARY.md" && !summary.contains(&format!("({path})")) {
                    missing.push(path);
                }
            }
        }
        let send = fs::read_to_string(folder.join("functions/MPI_Send.md")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(missing, Vec::<String>::new(), "docs/SUMMARY.md does not name these");
        assert!(send.contains("# MPI_Send { #MPI_Send }") && send.contains("int MPI_Send_c("), "{send}");
    }
}
