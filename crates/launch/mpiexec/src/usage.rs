//! What a user may get wrong on the command line. `Display` gives three lines: step, what was seen, what to
//! run next.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rte::BadHostName;

/// Most ranks of a job: more than any machine has processors, and few enough for what mpiexec keeps of each.
pub const MOST_RANKS: u32 = 1 << 24;

/// A command line that cannot be carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum UsageError {
    /// A flag that does not exist.
    UnknownFlag {
        /// As written.
        flag: String,
        /// The flag probably meant.
        nearest: Option<&'static str>,
    },
    /// A flag at the end of the line, without its value.
    MissingValue {
        /// The flag.
        flag: String,
        /// What should follow.
        value: &'static str,
    },
    /// A value that a flag cannot take.
    BadValue {
        /// The flag.
        flag: String,
        /// As written.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// Two wishes that cannot both be fulfilled.
    Contradiction {
        /// The wishes.
        seen: String,
    },
    /// A host's name that no launcher may be given.
    BadHost {
        /// What named it: a flag, a line of a file, a variable.
        source: String,
        /// The name.
        name: BadHostName,
    },
    /// A batch system's list of hosts that makes no sense.
    Allocation {
        /// The variable that gives it.
        variable: &'static str,
        /// What does not fit.
        seen: String,
    },
    /// A section of the command line without a program.
    NoProgram,
    /// A file that belongs to the installation is not there.
    NotInstalled {
        /// Its place in it.
        file: &'static str,
    },
    /// There is no memory for the tables of a tool.
    Tables(io::Error),
    /// A rank file that does not fit the job.
    RankFile {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        seen: String,
    },
    /// More ranks than a host file allows.
    Slots {
        /// Ranks asked for.
        ranks: u32,
        /// Places there are.
        slots: u32,
    },
    /// A host file that names no host.
    NoHosts {
        /// The file.
        path: PathBuf,
    },
    /// A job of no rank, or of more than mpiexec starts.
    Size {
        /// Ranks asked for; the highest number stands for all beyond it.
        ranks: u32,
    },
    /// A file that cannot be read.
    File {
        /// What it is for.
        purpose: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line of a file that makes no sense.
    BadLine {
        /// What the file is for.
        purpose: &'static str,
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What would be right.
        expected: &'static str,
    },
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let help = "run `mpiexec -help` for all flags";
        match self {
            UsageError::UnknownFlag { flag, nearest } => {
                write!(f, "reading the command line: unknown flag\n  seen: {flag}\n  next: ")?;
                match nearest {
                    Some(nearest) => write!(f, "did you mean -{nearest}? {help}"),
                    None => f.write_str(help),
                }
            }
            UsageError::MissingValue { flag, value } => write!(
                f,
                "reading the command line: a flag lacks its value\n  seen: {flag} at the end\n  \
                 next: write {flag} {value}; {help}"
            ),
            UsageError::BadValue { flag, value, expected } => write!(
                f,
                "reading the command line: a value does not fit\n  seen: {flag} {value}\n  \
                 next: give {expected}; {help}"
            ),
            UsageError::Contradiction { seen } => write!(
                f,
                "reading the command line: two wishes contradict each other\n  seen: {seen}\n  \
                 next: leave one of them out"
            ),
            UsageError::BadHost { source, name } => write!(
                f,
                "reading the names of hosts: one is refused\n  seen: {name} ({source})\n  \
                 next: correct it there"
            ),
            UsageError::Allocation { variable, seen } => write!(
                f,
                "reading the hosts of the batch system: not possible\n  seen: {seen}\n  \
                 next: name the hosts by -hosts, or run `unset {variable}` where this is no job of a batch system"
            ),
            UsageError::NoProgram => write!(
                f,
                "reading the command line: no program to start\n  seen: only flags\n  \
                 next: write `mpiexec -n 4 ./program`; {help}"
            ),
            UsageError::NotInstalled { file } => write!(
                f,
                "loading a tool into the ranks: not possible\n  seen: this mpiexec has no {file} beside it\n  \
                 next: install Alhena whole: make install PREFIX=DIR"
            ),
            UsageError::Tables(error) => write!(
                f,
                "making memory for the ranks' tables: not possible\n  seen: {error}\n  next: see `free -m` and `ulimit -a`"
            ),
            UsageError::RankFile { path, seen } => write!(
                f,
                "placing the ranks by the rank file {}: not possible\n  seen: {seen}\n  \
                 next: give each rank a line with one of these hosts, or correct -n and -hosts",
                path.display()
            ),
            UsageError::Slots { ranks, slots } => write!(
                f,
                "placing the ranks: not enough slots\n  seen: {ranks} ranks, and hosts with {slots} slots\n  \
                 next: start at most {slots} ranks, raise slots= in the host file, or add -oversubscribe"
            ),
            UsageError::NoHosts { path } => write!(
                f,
                "reading the host file {0}: it names no host\n  seen: nothing but blank lines and comments\n  \
                 next: write one host per line, or leave the file out to run on this host",
                path.display()
            ),
            UsageError::Size { ranks: 0 } => write!(
                f,
                "counting the ranks: the job has none\n  seen: no -n, and hosts whose slots are 0 or a rank file without \
                 ranks\n  next: give -n, or slots to a host"
            ),
            UsageError::Size { ranks } => write!(
                f,
                "counting the ranks: there are too many\n  seen: {ranks} ranks or more by -n, -ppn, ppr or the slots of the \
                 hosts, and {MOST_RANKS} at most\n  next: give -n; slots alone do not start ranks then"
            ),
            UsageError::File { purpose, path, source } => {
                let command = if source.kind() == io::ErrorKind::InvalidData { "file" } else { "ls -l" };
                write!(
                    f,
                    "reading the {purpose} {0}: not possible\n  seen: {source}\n  next: run `{command} {0}`",
                    path.display()
                )
            }
            UsageError::BadLine { purpose, path, line, expected } => write!(
                f,
                "reading the {purpose} {}: line {line} makes no sense\n  seen: it is not {expected}\n  \
                 next: correct or delete that line",
                path.display()
            ),
        }
    }
}

impl std::error::Error for UsageError {}
