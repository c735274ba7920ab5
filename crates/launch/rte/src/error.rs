//! Why a job could not be started. `Display` gives three lines: step, what was seen, what to run next.

use std::fmt;
use std::io;
use std::path::PathBuf;

use placement::Refusal;

use crate::limits;

/// A job that never ran.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The program is in none of the directories searched.
    ProgramMissing {
        /// As the user wrote it.
        program: String,
        /// Where it was looked for.
        searched: String,
    },
    /// The program cannot be executed.
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The program that a script's first line names does not exist.
    Interpreter {
        /// The script.
        path: PathBuf,
        /// The program that should run it.
        interpreter: PathBuf,
    },
    /// The working directory cannot be entered.
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An output file cannot be written.
    OutputFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The placement asked for cannot be had.
    Placement(Refusal),
    /// Standard input was directed to a rank that does not exist.
    StdinRank {
        /// The rank asked for.
        rank: u32,
        /// Ranks there are.
        size: u32,
    },
    /// The port at which daemons are to call is another process's.
    PortTaken {
        /// The port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// The file with the secret of workers cannot be used.
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        seen: String,
    },
    /// A system call failed.
    System {
        /// What was tried.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// `map_err` helper for system calls.
    pub(crate) fn system<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> Error {
        move |source| Error::System { step, source: source.into() }
    }

    /// mpiexec's exit code: 127 and 126 as a shell gives them, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::ProgramMissing { .. } => 127,
            Error::NotExecutable { .. } | Error::Interpreter { .. } => 126,
            _ => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::ProgramMissing { program, searched } => {
                write!(
                    f,
                    "starting {program}: no such program\n  seen: nothing of that name in {searched}\n  \
                     next: run `ls -l {program}`"
                )?;
                // A name with a folder in it was not looked for elsewhere.
                match program.contains('/') {
                    true => Ok(()),
                    false => write!(f, "; a program in this directory is started as ./{program}"),
                }
            }
            Error::NotExecutable { path, reason } => write!(
                f,
                "starting {0}: it cannot be executed\n  seen: {reason}\n  \
                 next: run `file {0}`; compile it with mpicc, or make a script executable with `chmod +x {0}`",
                path.display()
            ),
            Error::Interpreter { path, interpreter } => {
                let name = interpreter.to_string_lossy();
                let next = match name.strip_suffix('\r') {
                    Some(_) => {
                        format!("run `sed -i 's/\\r$//' {}`: its lines end as on Windows", path.display())
                    }
                    None => format!("install {name}, or correct the first line of {}", path.display()),
                };
                write!(
                    f,
                    "starting {}: its interpreter is missing\n  seen: its first line names {}, which does not exist\n  \
                     next: {next}",
                    path.display(),
                    name.escape_default()
                )
            }
            Error::Directory { path, source } => write!(
                f,
                "entering the working directory {0}: not possible\n  seen: {source}\n  next: run `ls -ld {0}`",
                path.display()
            ),
            Error::OutputFile { path, source } => {
                let usual =
                    "give -outfile-pattern or -errfile-pattern a directory that exists and may be written to";
                let next = limits::advice(source).unwrap_or_else(|| usual.to_owned());
                write!(
                    f,
                    "opening the output file {}: not possible\n  seen: {source}\n  next: {next}",
                    path.display()
                )
            }
            Error::Placement(refusal) => refusal.fmt(f),
            Error::StdinRank { rank, size } => write!(
                f,
                "directing standard input to rank {rank}: no such rank\n  seen: the job has {size} ranks\n  \
                 next: use -stdin with a rank below {size}, all or none"
            ),
            Error::PortTaken { port, source } => write!(
                f,
                "opening port {port} for the workers: it is taken\n  seen: {source}\n  \
                 next: run `ss -ltnp 'sport = :{port}'` to see by which process, or choose another one: -listen 0"
            ),
            Error::TokenFile { path, seen } => write!(
                f,
                "reading or writing the token file {0}: not possible\n  seen: {seen}\n  next: run `ls -l {0}`; it must be a \
                 file of yours with mode 0600, and where there is none, mpiexec writes one into its folder",
                path.display()
            ),
            Error::System { step, source } => {
                let usual = "run `mpiexec -v` again; see `ulimit -a`";
                let next = limits::advice(source).unwrap_or_else(|| usual.to_owned());
                write!(f, "{step}: the system refused\n  seen: {source}\n  next: {next}")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Placement(refusal)
    }
}
