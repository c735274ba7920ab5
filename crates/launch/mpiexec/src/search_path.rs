//! Search paths of ranks: `PATH` and its like.

use std::env;
use std::ffi::OsString;
use std::path::Path;

/// A search path with `directory` in front.
pub fn prepend(name: &str, directory: &Path) -> (OsString, OsString) {
    let mut value = directory.as_os_str().to_owned();
    if let Some(rest) = env::var_os(name).filter(|rest| !rest.is_empty()) {
        value.push(":");
        value.push(rest);
    }
    (OsString::from(name), value)
}
