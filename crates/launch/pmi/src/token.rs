//! The secret of a job in a file, for workers that mpiexec does not start and for ranks whose launcher has no key space.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use connect::Secret;

/// Most bytes of a file that are read: a token has 32.
const LONGEST: u64 = 256;
/// Symbolic links that are followed, one after the other.
const LINKS: usize = 8;

/// Reads the secret in `path`. A file that others than its owner may read is refused; one of root's may be readable by a
/// group, too: then the administrator, or the container's orchestrator, has put it there.
///
/// What is judged is the open file, so that nothing can take its place afterwards. Symbolic links are followed where this
/// user or root has made them. Neither a pipe nor a device is waited for.
///
/// # Errors
/// In words, with the path.
pub fn read(path: &Path) -> Result<Secret, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let file = open(path)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(format!("{}: it is no regular file", path.display()));
    }
    let is_ours = metadata.uid() == own_user() && metadata.mode() & 0o077 == 0;
    let is_given = metadata.uid() == 0 && metadata.mode() & 0o027 == 0;
    if !is_ours && !is_given {
        return Err(format!(
            "{}: others may read it, or it is another user's; run `chmod 600 {0}`, or write a token of your own",
            path.display()
        ));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    Secret::parse(&text)
        .ok_or_else(|| format!("{}: it holds no token of 32 hexadecimal digits", path.display()))
}

fn own_user() -> u32 {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Opens `path`, and does not wait for anything.
fn open(path: &Path) -> Result<File, String> {
    let with =
        |path: &Path, flags| OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | flags).open(path);
    let mut at = path.to_owned();
    for _ in 0..LINKS {
        let error = match with(&at, libc::O_NONBLOCK | libc::O_NOCTTY) {
            Ok(file) => return Ok(file),
            Err(error) => error,
        };
        if error.raw_os_error() != Some(libc::ELOOP) {
            return Err(format!("{}: {error}", at.display()));
        }
        // The link itself is held open, so that its owner is the user that wrote what is read of it.
        let target = with(&at, libc::O_PATH).and_then(|link| {
            let owner = link.metadata()?.uid();
            Ok((owner, target_of(&link)?))
        });
        let (owner, target) = target.map_err(|error| format!("{}: {error}", at.display()))?;
        if owner != own_user() && owner != 0 {
            return Err(format!("{}: it is a symbolic link of user {owner}, and not followed", at.display()));
        }
        at = at.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(format!("{}: too many symbolic links", path.display()))
}

/// Where an open symbolic link leads.
fn target_of(link: &File) -> io::Result<PathBuf> {
    let mut text = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: the place is writable for the length given; the empty name means the descriptor itself.
    let length =
        unsafe { libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), text.as_mut_ptr().cast(), text.len()) };
    text.truncate(usize::try_from(length).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(text).into())
}

/// Writes `secret` to a new file that only its owner may read.
///
/// # Errors
/// The system's; `AlreadyExists`: there is such a file.
pub fn write(path: &Path, secret: Secret) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", secret.encode())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A directory of a test's own, which goes with it.
    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new(name: &str) -> TempFolder {
            let path = std::env::temp_dir().join(format!("alhena-token-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            TempFolder(path)
        }

        fn file(&self, name: &str, secret: Secret, mode: u32) -> PathBuf {
            let path = self.0.join(name);
            write(&path, secret).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const OURS: Secret = Secret::new(77);
    const THEIRS: Secret = Secret::new(78);

    #[test]
    fn a_token_is_read_back_and_not_from_a_file_that_others_read() {
        let place = TempFolder::new("modes");
        let path = place.file("token", OURS, 0o600);
        assert_eq!(read(&path), Ok(OURS));
        assert!(write(&path, OURS).is_err());
        for mode in [0o666, 0o604, 0o620, 0o644] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(read(&path).unwrap_err().contains("chmod 600"), "{mode:o}");
        }
        fs::remove_file(&path).unwrap();
        assert!(read(&path).is_err());
        assert!(read(&place.0).unwrap_err().contains("no regular file"));
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let place = TempFolder::new("pipe");
        let path = place.0.join("pipe");
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: a path that lives during the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(read(&path).unwrap_err().contains("no regular file"));
    }

    #[test]
    fn links_are_followed_where_this_user_or_root_made_them() {
        let place = TempFolder::new("links");
        // As a Kubernetes Secret lies in its folder.
        fs::create_dir(place.0.join("1")).unwrap();
        place.file("1/token", OURS, 0o400);
        symlink("1", place.0.join("..data")).unwrap();
        let link = place.0.join("token");
        symlink("..data/token", &link).unwrap();
        assert_eq!(read(&link), Ok(OURS));
        let round = place.0.join("round");
        symlink("round", &round).unwrap();
        assert!(read(&round).unwrap_err().contains("too many"));
        let name = CString::new(link.as_os_str().as_bytes()).unwrap();
        // SAFETY: a path that lives during the call. Only root may do so, and elsewhere nothing is tested.
        if unsafe { libc::lchown(name.as_ptr(), 65534, 65534) } == 0 {
            assert!(read(&link).unwrap_err().contains("symbolic link of user 65534"));
        }
    }

    #[test]
    fn a_file_that_is_swapped_while_it_is_read_is_never_the_one() {
        let place = TempFolder::new("swapped");
        let (ours, theirs) = (place.file("ours", OURS, 0o600), place.file("theirs", THEIRS, 0o666));
        let path = place.0.join("token");
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let new = place.0.join("new");
                while !over.load(Ordering::Relaxed) {
                    for file in [&ours, &theirs] {
                        fs::hard_link(file, &new).unwrap();
                        fs::rename(&new, &path).unwrap();
                        // Where both are one file, rename leaves the first name.
                        let _ = fs::remove_file(&new);
                    }
                }
            });
            let seen: Vec<_> = (0..20_000).map(|_| read(&path)).collect();
            over.store(true, Ordering::Relaxed);
            assert!(!seen.contains(&Ok(THEIRS)), "a file that others may write was read");
        });
    }
}
