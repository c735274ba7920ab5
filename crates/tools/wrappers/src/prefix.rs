//! Where Alhena is installed.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::language;

/// The installation this program belongs to.
#[derive(Debug)]
pub struct Prefix {
    root: PathBuf,
    program: PathBuf,
}

impl Prefix {
    /// The folder above the one this program's file is in, links resolved.
    pub fn of_this_program() -> Result<Self, Failure> {
        let program = env::current_exe().map_err(|error| Failure::NoPrefix { error })?;
        let root = program.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_path_buf();
        Ok(Self { root, program })
    }

    /// Folder of `mpi.h`.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Folder of the library.
    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// Folder of what is no program.
    pub fn share(&self) -> PathBuf {
        self.root.join("share/alhena")
    }

    /// Folder of configuration files.
    pub fn etc(&self) -> PathBuf {
        self.root.join("etc")
    }

    /// Whether the compiler and the loader look into this installation without an option.
    pub fn is_system(&self) -> bool {
        self.root == Path::new("/usr") || self.root == Path::new("/")
    }

    /// Whether running `command` would run this very program again: it is a link to it, or a script beside it that calls it.
    pub fn is_this_program(&self, command: &OsStr) -> bool {
        let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
        let same = |left: Option<&Path>, right: Option<&Path>| {
            left.and_then(identity).is_some_and(|it| Some(it) == right.and_then(identity))
        };
        let named = |file: &Path| {
            file.file_name().is_some_and(|name| language::of_name(&name.to_string_lossy()).is_some())
        };
        on_path(command).is_some_and(|file| {
            same(Some(&file), Some(&self.program))
                || named(&file) && same(file.parent(), self.program.parent())
        })
    }
}

/// The file that a command's name stands for.
pub fn on_path(command: &OsStr) -> Option<PathBuf> {
    if command.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(command));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.is_file())
}
