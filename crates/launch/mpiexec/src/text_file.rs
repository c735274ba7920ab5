//! Files that users write for mpiexec.

use std::io;
use std::path::Path;

use crate::usage::UsageError;

/// What some editors put in front of text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of the file at `path`, which is there for `purpose`.
pub fn read(path: &Path, purpose: &'static str) -> Result<String, UsageError> {
    let failed = |source| UsageError::File { purpose, path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| failed(io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8")))?;
    Ok(plain(&text).to_owned())
}

/// `text` without a mark in front.
pub fn plain(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_mark_in_front_is_no_text() {
        assert_eq!(plain("\u{feff}node7\n"), "node7\n");
        assert_eq!(plain("node7"), "node7");
    }
}
