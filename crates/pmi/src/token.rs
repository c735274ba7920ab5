//! The secret of a job in a file, for workers that mpiexec does not start and for ranks whose launcher has no key space.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use connect::Secret;

/// Reads the secret in `path`. A file that others than its owner may read is refused, unless root owns it: then the
/// administrator, or the container's orchestrator, has put it there.
///
/// # Errors
/// In words, with the path.
pub fn read(path: &Path) -> Result<Secret, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let metadata = fs::metadata(path).map_err(failed)?;
    // SAFETY: geteuid has no arguments and cannot fail.
    let own = unsafe { libc::geteuid() };
    let is_ours = metadata.uid() == own && metadata.mode() & 0o077 == 0;
    let is_given = metadata.uid() == 0 && metadata.mode() & 0o022 == 0;
    if !is_ours && !is_given {
        return Err(format!("{}: others may read it; run `chmod 600 {0}`", path.display()));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    Secret::parse(&text)
        .ok_or_else(|| format!("{}: it holds no token of 32 hexadecimal digits", path.display()))
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
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_read_back_and_not_from_everybody() {
        let path = std::env::temp_dir().join(format!("alhena-token-{}", std::process::id()));
        let secret = Secret::new(77);
        write(&path, secret).unwrap();
        assert_eq!(read(&path), Ok(secret));
        assert!(write(&path, secret).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(read(&path).unwrap_err().contains("chmod 600"));
        fs::remove_file(&path).unwrap();
        assert!(read(&path).is_err());
    }
}
