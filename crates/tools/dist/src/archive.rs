//! Archives by tar and zstd: the same bytes for the same files, for any user at any time.

use std::collections::BTreeSet;
use std::io::{self, Write};

use tar::{Builder, EntryType, Header};

use crate::elf::Debug;
use crate::files::{Content, Format, Tree};
use crate::release::Release;

/// An archive that is being written. Folders are added before what is in them.
pub struct Archive<W: Write> {
    builder: Builder<W>,
    epoch: u64,
    folders: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    /// An empty archive whose files all have the time `epoch`.
    pub fn new(into: W, epoch: u64) -> Archive<W> {
        Archive { builder: Builder::new(into), epoch, folders: BTreeSet::new() }
    }

    /// Adds a file or link, with the folders above it.
    pub fn add(&mut self, path: &str, content: &Content, mode: u32) -> io::Result<()> {
        for (end, _) in path.match_indices('/') {
            self.folder(&path[..=end])?;
        }
        match content {
            Content::Bytes(bytes, _) => {
                let mut header = self.header(EntryType::Regular, mode);
                header.set_size(bytes.len() as u64);
                self.builder.append_data(&mut header, path, bytes.as_slice())
            }
            Content::Link(target) => {
                let mut header = self.header(EntryType::Symlink, 0o777);
                self.builder.append_link(&mut header, path, target)
            }
        }
    }

    fn folder(&mut self, path: &str) -> io::Result<()> {
        if !self.folders.insert(path.to_owned()) {
            return Ok(());
        }
        let mut header = self.header(EntryType::Directory, 0o755);
        self.builder.append_data(&mut header, path, io::empty())
    }

    fn header(&self, kind: EntryType, mode: u32) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(self.epoch);
        header.set_uid(0);
        header.set_gid(0);
        // Names of a user that every system has.
        let _ = header.set_username("root").and_then(|()| header.set_groupname("root"));
        header.set_size(0);
        header
    }

    /// What it was written into, with the end of the archive.
    pub fn finish(self) -> io::Result<W> {
        self.builder.into_inner()
    }
}

/// Packs what `fill` adds.
pub fn pack(
    release: &Release,
    fill: impl FnOnce(&mut Archive<zstd::Encoder<'_, Vec<u8>>>) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut archive = Archive::new(zstd::Encoder::new(Vec::new(), release.level)?, release.epoch);
    fill(&mut archive)?;
    archive.finish()?.finish()
}

/// The tree itself, to be unpacked anywhere: programs find the rest from their own place.
pub fn tarball(release: &Release, tree: &Tree) -> io::Result<(String, Vec<u8>)> {
    let folder = format!("alhena-{}-{}", release.version, release.processor.name());
    let bytes = pack(release, |archive| {
        tree.of(Format::Tar, None)
            .try_for_each(|file| archive.add(&format!("{folder}/{}", file.path), &file.content, file.mode()))
    })?;
    Ok((format!("{folder}.tar.zst"), bytes))
}

/// The debug files, to be unpacked in `/usr/lib/debug`, or in a folder that gdb's `debug-file-directory` names.
pub fn debug(release: &Release, files: &[Debug]) -> io::Result<(String, Vec<u8>)> {
    let bytes = pack(release, |archive| {
        files
            .iter()
            .try_for_each(|file| archive.add(&file.path, &Content::Bytes(file.bytes.clone(), false), 0o644))
    })?;
    Ok((format!("alhena-{}-{}-debug.tar.zst", release.version, release.processor.name()), bytes))
}
