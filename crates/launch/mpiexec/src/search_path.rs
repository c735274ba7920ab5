//! Search paths of ranks: `PATH` and its like.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A search path of mpiexec's own with `directory` in front.
pub fn prepend(name: &str, directory: &Path) -> (OsString, OsString) {
    before(name, directory, None)
}

/// Variables of the ranks and their values; the last value of a name counts.
pub type Set = Vec<(OsString, OsString)>;

/// Puts a path before what the ranks would get.
pub fn put_before(set: &mut Set, name: &str, path: &Path) {
    let given = set.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str());
    let variable = before(name, path, given);
    set.push(variable);
}

/// A search path with `path` in front of what is `given` for it, else of mpiexec's own.
fn before(name: &str, path: &Path, given: Option<&OsStr>) -> (OsString, OsString) {
    let own = || env::var_os(name);
    let mut value = path.as_os_str().to_owned();
    if let Some(rest) = given.map(OsStr::to_owned).or_else(own).filter(|rest| !rest.is_empty()) {
        value.push(":");
        value.push(rest);
    }
    (name.into(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_set_comes_after() {
        let mut set: Set = vec![("LD_PRELOAD".into(), "tool.so".into())];
        put_before(&mut set, "LD_PRELOAD", Path::new("/a/libmpi.so.12"));
        assert_eq!(set.last().unwrap().1, "/a/libmpi.so.12:tool.so");
    }
}
