//! Programs that were built for other MPI libraries: the loader finds ours by their names.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use binary::Binary;

use crate::installation::installed;
use crate::search_path;

/// Variables of the ranks and their values; the last value of a name counts.
type Set = Vec<(OsString, OsString)>;

/// Has the loader look in our directory of other libraries' names first, unless the program needs the standard ABI and no
/// other. A script may start anything, and a library of a program may need MPI where the program itself does not.
pub fn prepare(program: &OsStr, search_path: Option<&OsStr>, set: &mut Set) {
    let Some(directory) = installed(binary::DIRECTORY) else { return };
    let own = env::var_os("PATH");
    let file = binary::find(program, search_path.or(own.as_deref()));
    let binary = file.and_then(|file| Binary::read(&file).ok().flatten());
    if binary.as_ref().is_some_and(Binary::is_standard) {
        return;
    }
    prepend(set, "LD_LIBRARY_PATH", &directory);
    for library in binary.iter().flat_map(|binary| binary.to_preload(&directory)) {
        prepend(set, "LD_PRELOAD", &library);
    }
}

/// Puts a path before what the ranks would get.
fn prepend(set: &mut Set, name: &str, path: &Path) {
    let given = set.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str());
    let variable = search_path::before(name, path, given);
    set.push(variable);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_set_comes_after() {
        let mut set: Set = vec![("LD_PRELOAD".into(), "tool.so".into())];
        prepend(&mut set, "LD_PRELOAD", Path::new("/a/libmpi.so.12"));
        assert_eq!(set.last().unwrap().1, "/a/libmpi.so.12:tool.so");
    }
}
