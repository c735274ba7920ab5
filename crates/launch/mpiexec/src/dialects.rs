//! Programs that were built for other MPI libraries: the loader finds ours by their names.

use std::env;
use std::ffi::OsStr;

use binary::Binary;

use crate::installation::installed;
use crate::search_path::{Set, put_before};

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
    put_before(set, "LD_LIBRARY_PATH", &directory);
    for library in binary.iter().flat_map(|binary| binary.to_preload(&directory)) {
        put_before(set, "LD_PRELOAD", &library);
    }
}
