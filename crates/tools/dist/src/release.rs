//! What all formats ask for: names, version, processor, time.

use std::path::{Path, PathBuf};

/// What is released.
pub struct Release {
    /// `0.2.0`.
    pub version: String,
    /// The processor.
    pub processor: Processor,
    /// Time of all files, in seconds since 1970.
    pub epoch: u64,
    /// Level of zstd.
    pub level: i32,
    /// The sources.
    pub sources: PathBuf,
}

/// A processor and its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Processor {
    /// 64-bit x86.
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit Arm.
    #[value(name = "aarch64")]
    Aarch64,
}

impl Processor {
    /// That of this program.
    pub const OWN: Processor =
        if cfg!(target_arch = "aarch64") { Processor::Aarch64 } else { Processor::X86_64 };

    /// Of the kernel, of wheels and of RPM.
    pub fn name(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64",
            Processor::Aarch64 => "aarch64",
        }
    }

    /// Of Debian.
    pub fn debian(self) -> &'static str {
        match self {
            Processor::X86_64 => "amd64",
            Processor::Aarch64 => "arm64",
        }
    }

    /// Debian's folder for libraries.
    pub fn triplet(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64-linux-gnu",
            Processor::Aarch64 => "aarch64-linux-gnu",
        }
    }
}

/// One sentence about the library.
pub const SUMMARY: &str = "MPI with the MPI-5.0 standard ABI";

/// A paragraph about the library.
pub const DESCRIPTION: &str = "\
Alhena is an MPI library with the standard ABI of MPI 5.0: programs built against the standard mpi.h run on it as they \
are. Ranks of a host exchange messages through shared memory, those of several hosts by TCP or libfabric; jobs start by \
ssh, Slurm, PMI or PMIx.";

/// The licence as SPDX has it.
pub const LICENCE: &str = "MIT OR Apache-2.0";

impl Release {
    /// A file of the sources.
    pub fn source(&self, path: impl AsRef<Path>) -> PathBuf {
        self.sources.join(path)
    }

    /// The time of the release.
    pub fn time(&self) -> time::OffsetDateTime {
        let seconds = i64::try_from(self.epoch).unwrap_or(0);
        time::OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
    }
}
