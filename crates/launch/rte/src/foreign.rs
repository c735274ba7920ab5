//! Notices ranks that use another MPI library than this launcher's: each would be rank 0 of 1.

use std::fs;
use std::path::{Path, PathBuf};

use binary::Binary;

/// Strings that only this project's libraries have in their text: the library itself, and those with other libraries' ABIs,
/// which need it by this name.
const MARKS: [&[u8]; 2] = [pmi::protocol::HELLO.as_bytes(), b"alhena_front_end_"];
/// How many generations below a rank are looked at: wrapper scripts, interpreters.
const GENERATIONS: u32 = 3;

/// The foreign MPI library that process `pid` or a descendant has loaded, with the process that has it.
pub fn loaded_below(pid: i32) -> Option<(i32, PathBuf)> {
    search(pid, GENERATIONS)
}

/// The name of the foreign MPI library that the program at `path` was linked with.
pub fn linked(path: &Path) -> Option<String> {
    let program = Binary::read(path).ok()??;
    // The loader may have found ours by that name: then the program just did not use it.
    program
        .needed
        .into_iter()
        .find(|name| is_mpi(name) && !name.starts_with("libmpi_abi.") && !is_installed(name))
}

fn search(pid: i32, generations: u32) -> Option<(i32, PathBuf)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    if let Some(path) = mpi_library(&maps).filter(|path| !is_ours(path)) {
        return Some((pid, path));
    }
    let generations = generations.checked_sub(1)?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|c| c.parse().ok()).find_map(|child| search(child, generations))
}

/// The first MPI library in a process's memory map.
fn mpi_library(maps: &str) -> Option<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    paths
        .map(Path::new)
        .find(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(is_mpi))
        .map(Path::to_owned)
}

fn is_mpi(name: &str) -> bool {
    ["libmpi.so", "libmpi_abi.so", "libmpich.so", "libmpi_mt.so", "libmpi_cray.so"]
        .iter()
        .any(|known| name.starts_with(known))
}

fn is_ours(path: &Path) -> bool {
    fs::read(path)
        .is_ok_and(|bytes| MARKS.iter().any(|mark| bytes.windows(mark.len()).any(|window| window == *mark)))
}

/// Whether this installation has the library of another ABI, which comes before all others by mpiexec's search path.
fn is_installed(library: &str) -> bool {
    let own = std::env::current_exe().ok();
    let root = own.as_deref().and_then(Path::parent).and_then(Path::parent);
    root.is_some_and(|root| crate::look::kind(&root.join(binary::DIRECTORY).join(library)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_map_gives_the_library() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 1 /lib/libc.so.6\n\
                    7f02-7f03 r-xp 00000000 08:01 2 /opt/open mpi/lib/libmpi.so.40.40.1\n";
        assert_eq!(mpi_library(maps), Some(PathBuf::from("/opt/open mpi/lib/libmpi.so.40.40.1")));
        assert_eq!(mpi_library("7f00-7f01 rw-p 0 00:00 0 [heap]\n"), None);
        assert!(!is_mpi("libmpifort.so.12"));
    }

    #[test]
    fn a_process_without_mpi_has_none() {
        assert_eq!(loaded_below(std::process::id() as i32), None);
        assert_eq!(linked(Path::new("/proc/self/exe")), None);
    }
}
