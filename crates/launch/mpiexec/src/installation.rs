//! The installation that this mpiexec belongs to.

use std::env;
use std::path::PathBuf;

/// A file or directory of it, by its path from the root; `None`: there is none.
pub fn installed(path: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    Some(own.parent()?.parent()?.join(path)).filter(|path| path.exists())
}
