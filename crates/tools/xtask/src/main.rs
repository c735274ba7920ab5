//! Files made from the function table: `cargo run -p xtask -- <command>`.
#![forbid(unsafe_code)]

mod book;
mod cxx;
mod fortran;
mod header;
mod man;
mod status;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo run -p xtask -- COMMAND
  header               writes mpi.h to standard output
  extensions           writes mpi-ext.h to standard output
  fortran DIRECTORY    writes headers and modules
  fortran-checks DIRECTORY   writes a program for each interface that calls all procedures, and a C library that sees the calls
  status [--check]     writes docs/status.md, or checks that it is current
  book DIRECTORY       writes the sources of the book: the pages of docs/ and one page per function
  cxx DIRECTORY        writes the headers of other ABIs that their C++ bindings are compiled with
  man DIRECTORY        writes one manual page per function to DIRECTORY/man3";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let table = function_table::table().expect("the function table is well-formed");
    let extensions = function_table::extensions().expect("the table of extensions is well-formed");
    let removed = function_table::removed().expect("the table of removed functions is well-formed");
    let result = match words[..] {
        ["header"] => {
            print!("{}", header::render(&table, &removed));
            Ok(())
        }
        ["extensions"] => {
            print!("{}", header::render_extensions(&extensions));
            Ok(())
        }
        ["status"] => write(&status_page(), &status::render(&table)),
        ["status", "--check"] => check(&status_page(), &status::render(&table)),
        ["fortran", directory] => fortran::write(&table, &extensions, Path::new(directory)),
        ["fortran-checks", directory] => fortran::write_checks(&[&table, &extensions], Path::new(directory)),
        ["book", directory] => book::write(&table, &root(), Path::new(directory)),
        ["cxx", directory] => cxx::write_all(&table, Path::new(directory)),
        ["man", directory] => man::write(&table, Path::new(directory)),
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn status_page() -> PathBuf {
    root().join("docs/status.md")
}

/// Writes a file, with its folder.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| {
        format!("writing {}\n{error}\ncheck that {} can be written", path.display(), folder.display())
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::write(path, text).map_err(failed)
}

fn check(path: &Path, text: &str) -> Result<(), String> {
    match std::fs::read_to_string(path) {
        Ok(current) if current == text => Ok(()),
        _ => Err(format!(
            "checking {}\nit does not say what the function table says\nrun: cargo run -p xtask -- status",
            path.display()
        )),
    }
}
