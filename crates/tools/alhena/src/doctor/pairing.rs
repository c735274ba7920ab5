//! Whether launcher, wrappers and library belong together.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench::prefix;

use super::finding::Finding;

/// The library's file.
const LIBRARY: &str = "libmpi_abi.so.1";

pub fn findings() -> Vec<Finding> {
    let Some(prefix) = prefix::of_this_program() else {
        return vec![Finding::warning(
            "installation",
            "this program does not stand in an installation",
            "make install PREFIX=$HOME/alhena, and run its bin/alhena",
        )];
    };
    vec![versions(&prefix), path(&prefix), library(&prefix)]
}

/// The first program called `name` in PATH.
pub fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn versions(prefix: &Path) -> Finding {
    let check = "versions";
    let own = env!("CARGO_PKG_VERSION");
    let output = Command::new(prefix.join("bin/mpiexec")).arg("-version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let first = text.lines().next().unwrap_or("mpiexec does not run").to_owned();
    let library = prefix.join("lib").join(LIBRARY);
    match (first.ends_with(own), foreign(&library)) {
        (true, None) => {
            Finding::ok(check, format!("{first}, with its library in {}", prefix.join("lib").display()))
        }
        (_, wrong) => {
            let wrong = wrong.map_or(String::new(), |why| format!("; {}: {why}", library.display()));
            Finding::problem(check, format!("{first}; this tool is {own}{wrong}"), "make install again")
        }
    }
}

/// Why the file is no library of Alhena's that belongs to this tool. Other libraries with the standard ABI have the same name.
fn foreign(library: &Path) -> Option<String> {
    let bytes = match std::fs::read(library) {
        Ok(bytes) => bytes,
        Err(error) => return Some(error.to_string()),
    };
    // What its MPI_Get_library_version gives.
    let mark = concat!("Alhena ", env!("CARGO_PKG_VERSION"), " (MPI ").as_bytes();
    let has = |mark: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
    if has(mark) {
        return None;
    }
    Some(
        if has(b"Alhena ") { "another version of Alhena" } else { "another MPI library of that name" }
            .to_owned(),
    )
}

/// What a user's commands start.
fn path(prefix: &Path) -> Finding {
    let check = "PATH";
    let same =
        |file: &Path, name: &str| match (file.canonicalize(), prefix.join("bin").join(name).canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        };
    let others: Vec<String> = ["mpiexec", "mpirun", "mpicc"]
        .into_iter()
        .filter_map(|name| in_path(name).filter(|file| !same(file, name)))
        .map(|file| file.display().to_string())
        .collect();
    let next = format!("export PATH={}:$PATH", prefix.join("bin").display());
    match in_path("mpiexec") {
        _ if !others.is_empty() => Finding::warning(
            check,
            format!("another MPI comes first: {}; do not mix the two", others.join(", ")),
            next,
        ),
        None => Finding::warning(check, "mpiexec is not in it", next),
        Some(file) => Finding::ok(check, format!("mpiexec is {}", file.display())),
    }
}

/// Which library programs load.
fn library(prefix: &Path) -> Finding {
    let check = "LD_LIBRARY_PATH";
    let own = prefix.join("lib");
    let value = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let first = std::env::split_paths(&value).find(|folder| folder.join(LIBRARY).exists());
    match first {
        Some(folder) if folder.canonicalize().ok() != own.canonicalize().ok() => {
            let file = folder.join(LIBRARY);
            let next = format!("export LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH", own.display());
            match foreign(&file) {
                Some(why) => {
                    Finding::problem(check, format!("programs load {}: {why}", file.display()), next)
                }
                None => {
                    Finding::warning(check, format!("programs load {} before this one", file.display()), next)
                }
            }
        }
        _ => Finding::ok(check, format!("programs load {}", own.join(LIBRARY).display())),
    }
}
