//! Where this installation is.

use std::env;
use std::path::{Path, PathBuf};

/// The folder above the one of this program, when that is an installation: it may be one without the compiler wrappers.
pub fn of_this_program() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let root = program.parent()?.parent()?;
    root.join("bin/mpiexec").exists().then(|| root.to_path_buf())
}

/// The measuring programs' sources of an installation.
pub fn kernels(prefix: &Path) -> PathBuf {
    prefix.join("share/alhena/bench")
}
