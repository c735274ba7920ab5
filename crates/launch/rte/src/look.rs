//! What a path leads to at this moment.

use std::fs::FileType;
use std::io;
use std::path::Path;

/// What is at `path`. For choosing among candidates and for messages: the kernel judges again when the file is used, so
/// nothing may be trusted on this account.
///
/// # Errors
/// The system's errors.
#[expect(clippy::disallowed_methods, reason = "nothing is trusted on its account")]
pub(crate) fn kind(path: &Path) -> io::Result<FileType> {
    std::fs::metadata(path).map(|metadata| metadata.file_type())
}
