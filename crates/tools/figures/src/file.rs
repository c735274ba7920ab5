//! Files of results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A file or folder that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("alhena: writing {path} failed\n  seen: {error}\n  next: choose another place, or make room")]
pub struct NotWritten {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's error.
    pub error: io::Error,
}

/// Writes `text` to a file.
///
/// # Errors
/// The system's, with the path.
pub fn write(path: &Path, text: &str) -> Result<(), NotWritten> {
    fs::write(path, text).map_err(|error| NotWritten { path: path.into(), error })
}

/// Writes figures, which are numbers and names, as JSON.
///
/// # Errors
/// The system's, with the path.
pub fn write_json(path: &Path, figures: &impl Serialize) -> Result<(), NotWritten> {
    let text = serde_json::to_string_pretty(figures).expect("numbers and names can always be written");
    write(path, &(text + "\n"))
}
