//! Search paths of ranks: `PATH` and its like.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A search path of mpiexec's own with `directory` in front.
pub fn prepend(name: &str, directory: &Path) -> (OsString, OsString) {
    before(name, directory, None)
}

/// A search path with `path` in front of what is `given` for it, else of mpiexec's own.
pub fn before(name: &str, path: &Path, given: Option<&OsStr>) -> (OsString, OsString) {
    let own = || env::var_os(name);
    let mut value = path.as_os_str().to_owned();
    if let Some(rest) = given.map(OsStr::to_owned).or_else(own).filter(|rest| !rest.is_empty()) {
        value.push(":");
        value.push(rest);
    }
    (name.into(), value)
}
