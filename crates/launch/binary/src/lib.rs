//! What the file of a program says: the ABI of the MPI library that it was built for, and where the loader will look.
//!
//! ```text
//!  NEEDED libmpi_abi.so.1                        the standard ABI        nothing to do
//!  NEEDED libmpi.so.12, libmpich.so.12 …         MPICH's ABI             lib/alhena/abi before LD_LIBRARY_PATH
//!  NEEDED libmpi.so.40, libmpi_mpifh.so.40 …     Open MPI's ABI          the same
//!  none of these: a script, an interpreter, a program whose libraries need MPI       the same, in case
//!  one of these and DT_RPATH                     the loader reads that first         LD_PRELOAD, too
//! ```
#![forbid(unsafe_code)]

mod elf;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Where the libraries with other ABIs' names are, from the root of the installation.
pub const DIRECTORY: &str = "lib/alhena/abi";

/// The ABI of an MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// That of the MPI standard, chapter 20.
    Standard,
    /// MPICH's, which Intel's, Cray's and MVAPICH's libraries share.
    Mpich,
    /// Open MPI's.
    OpenMpi,
}

impl Abi {
    /// The ABI of a library, by the name that programs need it by.
    pub fn of(library: &str) -> Option<Abi> {
        let (stem, version) = library.split_once(".so")?;
        let mpi = stem.strip_prefix("libmpi")?;
        match version.strip_prefix('.').and_then(|version| version.split('.').next()) {
            _ if mpi.ends_with("_abi") => Some(Abi::Standard),
            Some("12") => Some(Abi::Mpich),
            Some("40") => Some(Abi::OpenMpi),
            _ => None,
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Abi::Standard => "the standard ABI",
            Abi::Mpich => "MPICH's ABI",
            Abi::OpenMpi => "Open MPI's ABI",
        }
    }
}

/// What the loader finds in a program's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binary {
    /// The libraries that it needs, in order.
    pub needed: Vec<String>,
    /// Directories that the loader searches before `LD_LIBRARY_PATH`.
    pub rpath: Option<String>,
    /// Directories that the loader searches after it.
    pub runpath: Option<String>,
}

impl Binary {
    /// Reads a program; `None` for what is no ELF file, a script for instance.
    ///
    /// # Errors
    /// The file cannot be read, or its headers make no sense.
    pub fn read(path: &Path) -> io::Result<Option<Binary>> {
        elf::read(path)
    }

    /// The MPI libraries that it needs, and their ABIs.
    pub fn libraries(&self) -> impl Iterator<Item = (&str, Abi)> {
        self.needed.iter().filter_map(|library| Some((library.as_str(), Abi::of(library)?)))
    }

    /// Whether it needs the standard ABI and no other.
    pub fn is_standard(&self) -> bool {
        let mut abis = self.libraries().map(|(_, abi)| abi).peekable();
        abis.peek().is_some() && abis.all(|abi| abi == Abi::Standard)
    }

    /// Whether the loader looks for libraries in directories that `LD_LIBRARY_PATH` does not come before: DT_RPATH, which
    /// counts only where there is no DT_RUNPATH.
    pub fn insists(&self) -> bool {
        self.rpath.is_some() && self.runpath.is_none()
    }

    /// The libraries of other ABIs that `directory` has for it, for `LD_PRELOAD`, where the program [insists](Self::insists).
    pub fn to_preload(&self, directory: &Path) -> Vec<PathBuf> {
        let others = self.libraries().filter(|(_, abi)| self.insists() && *abi != Abi::Standard);
        others.map(|(library, _)| directory.join(library)).filter(|path| path.exists()).collect()
    }
}

/// The file of a program, as the shell finds it: a path, or a name in one of the directories.
pub fn find(program: &OsStr, directories: Option<&OsStr>) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.to_path_buf());
    }
    let directories = std::env::split_paths(directories?).map(|directory| directory.join(path));
    directories.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_have_the_abi_of_their_names() {
        assert_eq!(Abi::of("libmpi_abi.so.1"), Some(Abi::Standard));
        assert_eq!(Abi::of("libmpifort_abi.so.1"), Some(Abi::Standard));
        for name in
            ["libmpi.so.12", "libmpich.so.12", "libmpifort.so.12", "libmpichfort.so.12", "libmpi_cray.so.12"]
        {
            assert_eq!(Abi::of(name), Some(Abi::Mpich), "{name}");
        }
        for name in ["libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_cxx.so.40.30.1"]
        {
            assert_eq!(Abi::of(name), Some(Abi::OpenMpi), "{name}");
        }
        for name in ["libc.so.6", "libmpi.so", "libmpi.so.1", "libmpfr.so.6", "libopen-rte.so.40"] {
            assert_eq!(Abi::of(name), None, "{name}");
        }
    }

    #[test]
    fn a_runpath_makes_an_rpath_void() {
        let mut binary = Binary { rpath: Some("/opt/lib".into()), ..Binary::default() };
        assert!(binary.insists());
        binary.runpath = Some("/opt/lib".into());
        assert!(!binary.insists());
    }

    #[test]
    fn this_program_is_read() {
        let own = std::env::current_exe().unwrap();
        let binary = Binary::read(&own).unwrap().expect("a test is an ELF file");
        assert!(binary.needed.iter().any(|library| library.starts_with("libc.so")), "{binary:?}");
        assert!(!binary.is_standard());
    }

    #[test]
    fn what_is_no_program_has_none_and_rubbish_is_an_error() {
        let directory = std::env::temp_dir().join(format!("alhena-binary-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let script = directory.join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        assert_eq!(Binary::read(&script).unwrap(), None);
        let short = directory.join("short");
        std::fs::write(&short, b"\x7fELF\x02\x01\x01").unwrap();
        assert!(Binary::read(&short).is_err());
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
