//! What can go wrong while measuring, each in three lines.

use std::path::PathBuf;

/// A failed measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This program does not lie in an installation.
    #[error(
        "alhena: finding the installation failed\n  seen: this program is not in PREFIX/bin\n  \
         next: make install PREFIX=DIR, then DIR/bin/alhena bench; or name one with --prefix"
    )]
    NoPrefix,
    /// A prefix without compiler wrapper or launcher.
    #[error(
        "alhena: looking for an MPI in {prefix} failed\n  seen: {prefix}/bin/{missing} does not run\n  \
         next: give the folder that holds bin/mpicc and bin/mpiexec"
    )]
    NoMpi { prefix: PathBuf, missing: &'static str },
    /// A mode that does not exist.
    #[error("alhena: choosing modes failed\n  seen: there is no mode {name}\n  next: choose from {known}")]
    NoMode { name: String, known: String },
    /// Cells are ahead or behind only beside another MPI.
    #[error(
        "alhena: comparing with other MPIs failed\n  seen: none is given\n  next: alhena bench all --vs PREFIX,PREFIX"
    )]
    NoOther,
    /// A measuring program that does not compile.
    #[error("alhena: building a measuring program failed\n  seen: {seen}\n  next: {command}")]
    Build { seen: String, command: String },
    /// A measuring program that fails, hangs or prints something else.
    #[error("alhena: running a measuring program failed\n  seen: {seen}\n  next: {command}")]
    Run { seen: String, command: String },
    /// The user, or what ends jobs, has ended a campaign.
    #[error(
        "alhena: measuring was interrupted\n  seen: {seen}; the tables have what was measured before\n  \
         next: run it again, or only the rest (--only, --modes)"
    )]
    Interrupted { seen: String },
    /// Signals.
    #[error(
        "alhena: catching signals failed\n  seen: {0}\n  next: run outside of the sandbox that forbids sigaction"
    )]
    Signals(std::io::Error),
    /// A file or folder.
    #[error(transparent)]
    Write(#[from] figures::NotWritten),
    /// A picture.
    #[error(transparent)]
    Picture(#[from] figures::drawing::Error),
    /// A table that was put together wrongly.
    #[error("alhena: writing the table failed\n  seen: {0}\n  next: report this with the options you gave")]
    Table(String),
    /// Limits of the Gemini transport that leave no way to communicate: three lines of its own.
    #[error("alhena: {0}")]
    Limits(String),
    /// The processors of this process.
    #[error(
        "alhena: asking for this process's processors failed\n  seen: {0}\n  \
         next: run outside of the sandbox that forbids sched_getaffinity"
    )]
    Processors(rustix::io::Errno),
    /// The software NIC.
    #[error(
        "alhena: {step} failed\n  seen: the software NIC answered {error}\n  next: raise the limit of lockable memory \
         (ulimit -l), or give --mdds more descriptors"
    )]
    Nic { step: &'static str, error: gni::Error },
    /// A process of a pair over a network interface.
    #[error(
        "alhena: exchanging messages by a network interface failed\n  seen: {0}\n  next: start a pair by mpiexec -n 2, as \
         alhena bench raw does"
    )]
    Raw(String),
}
