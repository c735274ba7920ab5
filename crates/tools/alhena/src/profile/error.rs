//! What can go wrong with profiles.

use std::io;
use std::path::PathBuf;

/// A profile that could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "reading the ranks' tables: not possible\n  seen: {source} ({})\n  next: run the job again with mpiexec -profile",
        path.display()
    )]
    Memory { path: PathBuf, source: io::Error },
    #[error(
        "writing the profile: there is none\n  seen: no rank called an MPI function through libmpi_abi.so.1\n  next: link \
         the program dynamically with mpicc; see `ldd` on it"
    )]
    NoRank,
    #[error("writing the profile: not possible\n  seen: {}: {source}\n  next: mpiexec -profile=NAME in a folder that can be written", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "writing the profile as JSON: not possible\n  seen: {seen}\n  next: report this with the program"
    )]
    Json { seen: String },
    #[error("reading a profile: not possible\n  seen: {}: {source}\n  next: see `ls -l`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "reading a profile: {} is none of this version\n  seen: {seen}\n  next: give the file NAME.json of mpiexec -profile",
        path.display()
    )]
    NoProfile { path: PathBuf, seen: String },
}
