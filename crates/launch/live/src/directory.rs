//! Where the sockets are.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The directories in which jobs of this user may be, the one that new jobs take first. The user's own runtime directory is
/// not named in every session, and not every system has one.
pub fn all() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let mut all: Vec<PathBuf> = named
        .into_iter()
        .chain([usual])
        .filter(|path| is_private(path, user))
        .map(|path| path.join("alhena"))
        .collect();
    all.push(PathBuf::from(format!("/tmp/alhena-{user}")));
    all.dedup();
    all
}

/// The first of them that is there or can be made.
///
/// # Errors
/// The system's: it can be made nowhere, or belongs to another user.
pub fn own() -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for path in all() {
        match make(&path) {
            Ok(()) => return Ok(path),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // In /tmp any user may have made it first.
    match is_private(path, rustix::process::geteuid().as_raw()) {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Whether it is a directory that no other user can write to or list.
pub fn is_private(path: &Path, user: u32) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|data| data.is_dir() && data.uid() == user && data.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_directory_of_the_user_alone_will_do() {
        let folder = env::temp_dir().join(format!("alhena-live-{}", std::process::id()));
        let user = rustix::process::geteuid().as_raw();
        make(&folder).unwrap();
        make(&folder).unwrap();
        let link = folder.join("link");
        symlink(&folder, &link).unwrap();
        assert!(is_private(&folder, user) && !is_private(&link, user) && !is_private(&folder, user + 1));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!is_private(&folder, user) && make(&folder).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
