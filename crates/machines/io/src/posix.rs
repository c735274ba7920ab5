//! The driver for files that the kernel knows.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use mem::{PeerBytes, PeerSpace};
use platform::Blocking;
use platform::file::{self, FileSystem};
use platform::mapped_file::MappedFile;
use platform::tcp::Piece;

use crate::held::Held;
use crate::lustre::{self, Stripes};
use crate::plan::Cover;
use crate::storage::{Sink, Storage, write_fully, write_runs};

/// What kind of file system a file is on, as far as that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All processes that see it are on this host.
    Local,
    /// Other hosts may see it, with caches of their own: NFS and its like.
    Nfs,
    /// A parallel file system that keeps the caches of hosts coherent.
    Lustre,
}

/// An open file. What its descriptor gives is known; all that asks the system goes through [`Posix::calls`].
#[derive(Debug)]
pub struct Posix {
    file: File,
    readable: bool,
    /// It is an ordinary file, no device or pipe.
    regular: bool,
    kind: Kind,
    block: u64,
    /// How the file is striped, where that is known.
    stripes: Option<Stripes>,
    /// Device and inode.
    identity: [u64; 2],
    held: Held,
}

/// How a file is to be opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// It is made if it does not exist.
    pub create: bool,
    /// It must not exist.
    pub exclusive: bool,
    /// Permissions of a file that is made, before the process's mask is applied.
    pub permissions: u32,
    /// Stripes of a file that is made, where the file system has any; 0 leaves a value to it.
    pub stripes: Option<Stripes>,
}

/// NFS, SMB (by three numbers), 9P, FUSE, Ceph, AFS (two).
const CACHED_BY_HOSTS: [i64; 9] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0102_1997,
    0x6573_5546,
    0x00c3_6400,
    0x5346_414f,
    0x6b41_4653,
];
/// Pieces of memory that go into the file by one system call: as many of the shortest that are not copied first
/// (`batch`) as a window of 256 KiB has.
const WINDOW_PIECES: usize = 128;
/// From so many runs of so many bytes, in the mean, on, writing by the file's pages costs less than a call a run.
const MANY_RUNS: u64 = 64;
const SHORT_RUN: u64 = 256;
/// A file system's block, where it reports none that could be right.
const USUAL_BLOCK: u64 = 4096;

impl Posix {
    /// Opens a file.
    ///
    /// # Errors
    /// The system's errors.
    pub fn open(path: &Path, how: How, _: &Blocking<'_>) -> io::Result<Posix> {
        let mut options = OpenOptions::new();
        options.read(how.read).write(how.write).mode(how.permissions);
        // Creating needs no right to write (open(2)), but the library has it that way; such a mode is refused before.
        options.create(how.create && !how.exclusive).create_new(how.create && how.exclusive);
        let made = match how.stripes.filter(|_| how.create) {
            Some(stripes) => lustre::make(path, how.permissions, stripes)?,
            None => None,
        };
        // Changing windows of a file takes reading them, which the system may not allow.
        let readable = match made {
            Some(file) => Ok(file),
            None => options.clone().read(true).open(path),
        };
        let (file, readable) = match readable {
            Err(error) if !how.read && error.kind() == io::ErrorKind::PermissionDenied => {
                (options.open(path)?, false)
            }
            opened => (opened?, true),
        };
        let found = file.metadata()?;
        if found.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let FileSystem { magic, block } = file::file_system(file.as_fd())?;
        let kind = match magic {
            lustre::FILE_SYSTEM => Kind::Lustre,
            magic if CACHED_BY_HOSTS.contains(&magic) => Kind::Nfs,
            _ => Kind::Local,
        };
        let block = if block.is_power_of_two() { block } else { USUAL_BLOCK };
        let stripes = if kind == Kind::Lustre { Stripes::of(file.as_fd()) } else { None };
        let identity = [found.dev(), found.ino()];
        let regular = found.is_file();
        Ok(Posix { file, readable, regular, kind, block, stripes, identity, held: Held::default() })
    }

    /// How the file is striped over storage targets, where that is known.
    pub fn stripes(&self) -> Option<Stripes> {
        self.stripes
    }

    /// Whether it can be read: also a file that is opened for writing can, if the system allows it.
    pub fn is_readable(&self) -> bool {
        self.readable
    }

    /// What kind of file system the file is on.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Bytes of a block or a stripe of the file system: two processes should not write to one.
    pub fn block(&self) -> u64 {
        self.stripes.map_or(self.block, |stripes| stripes.unit)
    }

    /// What distinguishes the file from all others of this host.
    pub fn identity(&self) -> [u64; 2] {
        self.identity
    }

    /// Whether each call on it ends by itself, soon: an ordinary file whose file system needs no other host.
    pub fn is_prompt(&self) -> bool {
        self.regular && self.kind == Kind::Local
    }

    /// Whether it is an ordinary file, no device or pipe.
    pub fn is_regular(&self) -> bool {
        self.regular
    }

    /// The calls of the system, for a thread that may block.
    pub fn calls<'a>(&'a self, _: &'a Blocking<'_>) -> Calls<'a> {
        Calls(self)
    }
}

/// What the system does with an open file. Each call may take as long as the system likes.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'a>(&'a Posix);

impl Calls<'_> {
    /// Bytes in the file.
    ///
    /// # Errors
    /// The system's errors.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.0.file.metadata()?.len())
    }

    /// Cuts the file, or has it grow by zeros.
    ///
    /// # Errors
    /// The system's errors.
    pub fn set_size(&self, bytes: u64) -> io::Result<()> {
        self.0.file.set_len(bytes)
    }

    /// Has the file system keep room for the first `bytes` bytes; the file grows to them. Where the file system keeps
    /// none, the file grows.
    ///
    /// # Errors
    /// The system's errors.
    pub fn allocate(&self, bytes: u64) -> io::Result<()> {
        match file::allocate(self.0.file.as_fd(), bytes) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                if self.size()? < bytes {
                    self.set_size(bytes)
                } else {
                    Ok(())
                }
            }
            done => done,
        }
    }

    /// Whether the file system has locks.
    ///
    /// # Errors
    /// The system's: it has none.
    pub fn try_locks(&self) -> io::Result<()> {
        // The last byte that a file can have, for reading: no process is kept out.
        let range = (1 << 62)..(1 << 62) + 1;
        file::lock(self.0.file.as_fd(), range.clone(), !self.0.readable)?;
        file::unlock(self.0.file.as_fd(), range)
    }

    /// Has this process see what other hosts have written to the device: a host that caches files for itself drops what it
    /// has of one when that is locked. What the lock comes to does not matter.
    pub fn refresh(&self) {
        if self.0.kind == Kind::Nfs {
            let _ = self.try_locks();
        }
    }

    /// Waits until all that was written is on the device.
    ///
    /// # Errors
    /// The system's; what was written earlier may have failed only now.
    pub fn sync(&self) -> io::Result<()> {
        match self.0.file.sync_all() {
            // What is no file on a device, such as a pipe, has nothing to wait for.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            done => done,
        }
    }
}

impl Calls<'_> {
    /// Writes runs by the pages of the file.
    fn write_pages(&self, window: &[u8], cover: &Cover, at: u64) -> io::Result<()> {
        let Some(last) = cover.last() else { return Ok(()) };
        // Only what lies before the end of the file has pages.
        let end = PeerBytes::of(&window[last..=last]);
        write_fully(self, end, at + last as u64).error.map_or(Ok(()), Err)?;
        let mut mapped = MappedFile::new(&self.0.file, &(at..at + last as u64 + 1))?;
        let piece = |run: Range<usize>| {
            let bytes = &window[run.clone()];
            (Piece::new(bytes.as_ptr() as usize, bytes.len()), at + run.start as u64)
        };
        // SAFETY: the pieces are parts of the window.
        unsafe { mapped.write(cover.runs().map(piece)) }
    }
}

impl Storage for Calls<'_> {
    fn read(&self, into: PeerSpace<'_>, at: u64) -> io::Result<usize> {
        // SAFETY: the space is writable for its length by its constructor's promise.
        unsafe { file::read_at(self.0.file.as_fd(), into.as_mut_ptr() as usize, into.len(), at) }
    }
}

impl Sink for Calls<'_> {
    fn write(&self, from: PeerBytes<'_>, at: u64) -> io::Result<usize> {
        // SAFETY: the bytes are readable for their length by their constructor's promise.
        unsafe { file::write_at(self.0.file.as_fd(), from.as_ptr() as usize, from.len(), at) }
    }

    fn write_pieces(&self, from: &[PeerBytes<'_>], at: u64) -> io::Result<usize> {
        let mut pieces = [Piece::default(); WINDOW_PIECES];
        let count = from.len().min(WINDOW_PIECES);
        for (piece, bytes) in pieces.iter_mut().zip(from) {
            *piece = Piece::new(bytes.as_ptr() as usize, bytes.len());
        }
        // SAFETY: the bytes are readable for their length by their constructor's promise.
        unsafe { file::write_pieces_at(self.0.file.as_fd(), &pieces[..count], at) }
    }

    fn write_covered(&self, window: &[u8], cover: &Cover, at: u64) -> io::Result<()> {
        let (runs, bytes) = cover.count();
        if self.0.is_prompt() && runs >= MANY_RUNS && runs * SHORT_RUN >= bytes {
            // What cannot be written that way is written by calls, which report why if they cannot either.
            if self.write_pages(window, cover, at).is_ok() {
                return Ok(());
            }
        }
        write_runs(self, window, cover, at)
    }

    fn lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()> {
        self.0.held.take(&range);
        let locked = file::lock(self.0.file.as_fd(), range.clone(), exclusive);
        if locked.is_err() {
            self.0.held.give_back(&range);
        }
        locked
    }

    fn unlock(&self, range: Range<u64>) -> io::Result<()> {
        let unlocked = file::unlock(self.0.file.as_fd(), range.clone());
        self.0.held.give_back(&range);
        unlocked
    }
}
