//! Everything that can go wrong, each in three lines.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A wrapper's failure; the compiler's own are the compiler's to report.
#[derive(Debug)]
pub enum Failure {
    /// Called by a name that stands for no language.
    UnknownName { name: String },
    /// A question (`-showme:…`) without an answer.
    UnknownQuestion { flag: String },
    /// `/proc` does not show where this program is.
    NoPrefix { error: io::Error },
    /// A variable or flag with unbalanced quotes.
    Quotes { origin: String, text: String },
    /// A file for `-config=` or `-profile=` that is missing or unreadable.
    NoConfiguration { flag: &'static str, tried: Vec<PathBuf>, error: io::Error },
    /// A line of such a file that cannot be understood.
    BadConfiguration { path: PathBuf, line: usize, text: String },
    /// The compiler cannot be started.
    Compiler { compiler: OsString, variable: &'static str, error: io::Error },
    /// The compiler is this wrapper.
    Recursion { name: String, compiler: OsString, variables: &'static [&'static str] },
    /// The Fortran modules cannot be compiled.
    Modules { compiler: String, seen: String },
    /// A flag that makes integers longer than C's.
    LargeIntegers { flag: OsString },
    /// A Fortran program with the library in it.
    NoArchive,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, seen, next) = self.lines();
        write!(f, "alhena: {step} failed\n  seen: {seen}\n  next: {next}")
    }
}

impl Failure {
    /// The step that failed, what was seen, what to do.
    fn lines(&self) -> (String, String, String) {
        match self {
            Failure::UnknownName { name } => (
                "choosing the language".into(),
                format!("this program was called as {name}"),
                "call it as mpicc, mpicxx or mpifort".into(),
            ),
            Failure::UnknownQuestion { flag } => (
                "reading the flags".into(),
                format!("{flag} is no question this wrapper answers"),
                "run `mpicc -help` for those it does".into(),
            ),
            Failure::NoPrefix { error } => (
                "finding the installation".into(),
                format!("/proc/self/exe: {error}"),
                "mount /proc, or call the installed program directly".into(),
            ),
            Failure::Quotes { origin, text } => (
                format!("reading {origin}"),
                format!("unbalanced quotes in `{text}`"),
                "close the quotes".into(),
            ),
            Failure::NoConfiguration { flag, tried, error } => {
                let tried: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
                (
                    format!("reading the file for {flag}"),
                    format!("{}: {error}", tried.join(", ")),
                    "give the name of an existing one, or leave the flag out".into(),
                )
            }
            Failure::BadConfiguration { path, line, text } => (
                format!("reading {}", path.display()),
                format!("line {line}: `{text}` is not NAME=\"value\""),
                "correct the line".into(),
            ),
            Failure::Compiler { compiler, variable, error } => (
                "starting the compiler".into(),
                format!("{}: {error}", compiler.display()),
                format!("install it, or name another: {variable}=/path/to/compiler"),
            ),
            Failure::Recursion { name, compiler, variables } => (
                "starting the compiler".into(),
                format!("{} is {name} itself", compiler.display()),
                format!("let {} name a real compiler", variables.join(" or ")),
            ),
            Failure::Modules { compiler, seen } => (
                format!("compiling the MPI modules with {compiler}"),
                seen.clone(),
                format!(
                    "ALHENA_FC={compiler} mpifort -showme:incdirs tries again; XDG_CACHE_HOME names a folder to write to"
                ),
            ),
            Failure::LargeIntegers { flag } => (
                "compiling a Fortran program".into(),
                format!("{} makes INTEGER longer than C's int, which MPI's are", flag.display()),
                "leave the flag out, and declare large integers by their kind".into(),
            ),
            Failure::NoArchive => (
                "linking a Fortran program".into(),
                "-static-mpi: libmpifort_abi is a shared library and brings libmpi_abi along".into(),
                "leave -static-mpi out".into(),
            ),
        }
    }
}
