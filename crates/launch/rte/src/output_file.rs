//! A file that gets the output of ranks.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file, and whether it has lost anything.
pub struct OutputFile {
    path: PathBuf,
    file: File,
    loss: Option<i32>,
}

impl OutputFile {
    /// Creates the file at `path`, or empties it. All writes append, so that streams which share a file stay whole.
    pub fn create(path: PathBuf) -> io::Result<OutputFile> {
        let mut options = File::options();
        let file =
            options.write(true).create(true).truncate(true).custom_flags(libc::O_APPEND).open(&path)?;
        Ok(OutputFile { path, file, loss: None })
    }

    /// Writes `text`. What a full disk does not take is lost; later text is tried again.
    pub fn write(&mut self, text: &[u8]) {
        if let Err(error) = self.file.write_all(text) {
            self.loss.get_or_insert(error.raw_os_error().unwrap_or(libc::EIO));
        }
    }

    /// The file and the system's error number, where output was lost.
    pub fn loss(&self) -> Option<(&Path, i32)> {
        Some((&self.path, self.loss?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_loss_is_kept() {
        let mut file = OutputFile::create("/dev/full".into()).unwrap();
        assert_eq!(file.loss(), None);
        file.write(b"x");
        assert_eq!(file.loss(), Some((Path::new("/dev/full"), libc::ENOSPC)));
    }
}
