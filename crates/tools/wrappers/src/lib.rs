//! Where the wrappers keep the Fortran modules that they have compiled. The wrappers are the program `mpi-wrapper`; this is what other
//! programs know of them.
#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};

/// The note in a compiler's folder of modules: how it is called, and a line with its version.
pub const COMPILER: &str = "compiler";

/// Folders that have folders of modules, the first choice first: below the installation's `lib`, below the user's cache.
pub fn module_homes(lib: &Path) -> Vec<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    [Some(lib.join("alhena/modules")), cache.map(|it| it.join("alhena"))].into_iter().flatten().collect()
}
