//! What can go wrong between a rank and its launcher, reported so that a user can act on it.

use std::fmt;
use std::io;

/// Why this process could not join its job. `Display` gives three lines: the step that failed, what was
/// seen, what to run next.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A launcher states that it started several processes, but offers no service that this library knows.
    UnreachableLauncher {
        /// The launcher's name.
        launcher: &'static str,
        /// The variables that gave it away, as `NAME=value`.
        seen: String,
    },
    /// The place in the job that the environment names is another process's: this one was started by a rank.
    StartedByRank {
        /// What shows it.
        seen: String,
    },
    /// Launcher and library are of different releases.
    Version {
        /// The launcher's version.
        launcher: String,
    },
    /// The launcher answered a request with an error of its own.
    Refused {
        /// What was asked.
        step: &'static str,
        /// The launcher's words.
        message: String,
    },
    /// The launcher closed the connection.
    Lost {
        /// What was asked.
        step: &'static str,
    },
    /// The answer does not follow the protocol.
    Protocol {
        /// What was asked.
        step: &'static str,
        /// The answer, shortened.
        seen: String,
    },
    /// The launcher's library cannot be loaded.
    Library {
        /// Its name.
        name: &'static str,
        /// The variable that names its file.
        variable: &'static str,
        /// The loader's words.
        why: String,
    },
    /// The ranks of a launcher without a key space did not find each other.
    Meeting {
        /// What was seen.
        seen: String,
        /// What to do.
        next: &'static str,
    },
    /// A system call failed.
    Io {
        /// What was tried.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The shared memory of this node could not be had.
    Segment {
        /// Bytes needed.
        bytes: u64,
        /// The system's error.
        source: io::Error,
    },
    /// A key or value is longer than PMI-1 allows.
    TooLong {
        /// The key or value.
        what: String,
        /// The most bytes allowed.
        limit: usize,
    },
}

impl Error {
    /// `map_err` helper for system calls.
    pub(crate) fn io(step: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { step, source }
    }

    /// A protocol violation; keeps the first 200 characters of the answer.
    pub(crate) fn protocol(step: &'static str, seen: &str) -> Error {
        Error::Protocol { step, seen: seen.chars().take(200).collect() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnreachableLauncher { launcher, seen } => write!(
                f,
                "MPI_Init: this program was started by {launcher}, which this MPI library cannot reach\n  \
                 seen: {seen}, and no PMI-1 connection (PMI_FD or PMI_PORT); each process would be a rank 0 of 1\n  \
                 next: start it with Alhena's own `mpiexec` (type `mpiexec -version` to see whose it is), \
                 or set ALHENA_ALLOW_SINGLETON=1 if every process is meant to be alone"
            ),
            Error::StartedByRank { seen } => write!(
                f,
                "MPI_Init: this program was started by a process of a running MPI job, not by mpiexec\n  \
                 seen: {seen}\n  \
                 next: start it with `mpiexec -n 1 program`, or set ALHENA_ALLOW_SINGLETON=1 to run it alone"
            ),
            Error::Version { launcher } => write!(
                f,
                "MPI_Init: launcher and library do not belong together\n  \
                 seen: mpiexec is Alhena {launcher}, the library is Alhena {}\n  \
                 next: run `which -a mpiexec` and `ldd program | grep libmpi`, and use both from one installation",
                env!("CARGO_PKG_VERSION")
            ),
            Error::Refused { step, message } => write!(
                f,
                "{step}: the launcher refused\n  seen: {message}\n  next: run again with `mpiexec -v`"
            ),
            Error::Lost { step } => write!(
                f,
                "{step}: the launcher closed its connection\n  \
                 seen: end of file on the PMI socket; the job is being ended or mpiexec was killed\n  \
                 next: see mpiexec's own message; `mpiexec -v` shows each step"
            ),
            Error::Protocol { step, seen } => write!(
                f,
                "{step}: the launcher's answer makes no sense\n  seen: {seen:?}\n  \
                 next: start the program with Alhena's own `mpiexec`"
            ),
            Error::Library { name, variable, why } => write!(
                f,
                "MPI_Init: the launcher speaks through its library {name}, which cannot be loaded\n  seen: {why}\n  \
                 next: set {variable} to the library's file, or start the program with `srun --mpi=pmi2` or `mpiexec`"
            ),
            Error::Meeting { seen, next } => write!(
                f,
                "MPI_Init: the ranks that srun started without a service (--mpi=none) do not find each other\n  \
                 seen: {seen}\n  next: {next}"
            ),
            Error::Io { step, source } => {
                let next = match source.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE) => "raise the limit for open files: ulimit -n",
                    _ => "run again with `mpiexec -v`",
                };
                write!(f, "{step}: the system refused\n  seen: {source}\n  next: {next}")
            }
            Error::Segment { bytes, source } => {
                let next = match source.raw_os_error() {
                    Some(libc::EFBIG) => {
                        "raise the limit of file sizes, which holds for shared memory, too (`ulimit -f unlimited`)"
                    }
                    _ => {
                        "start fewer ranks, or give the container or cgroup more memory (docker run --memory=…, \
                         Slurm --mem=…)"
                    }
                };
                write!(
                    f,
                    "MPI_Init: no shared memory for the ranks of this node\n  \
                     seen: {source}; {} MiB are needed\n  next: {next}",
                    bytes.div_ceil(1 << 20)
                )
            }
            Error::TooLong { what, limit } => write!(
                f,
                "put: a key or value is too long for PMI-1\n  seen: {:?}… of {} bytes, at most {limit} are allowed\n  \
                 next: publish it in parts",
                what.chars().take(20).collect::<String>(),
                what.len()
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::Segment { source, .. } => Some(source),
            _ => None,
        }
    }
}
