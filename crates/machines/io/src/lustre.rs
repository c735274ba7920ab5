//! How Lustre stripes a file over its storage targets: read from the attribute that its client gives (`lustre.lov`),
//! and asked for by an ioctl when the file is made (`struct lov_user_md_v1` and `_v3`, `O_LOV_DELAY_CREATE` of Lustre's
//! `lustre_user.h`). **Untested on Lustre**: none was at hand. Tests have a file system that answers as the header
//! describes.
//!
//! ```text
//!   bytes   0       4         8           24            28         30        32
//!           magic | pattern | object id | stripe size | stripes  | first   | … the targets
//! ```

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use platform::file;

/// Lustre's `f_type` (`LL_SUPER_MAGIC`).
pub const FILE_SYSTEM: i64 = 0x0bd0_0bd0;

/// The stripes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stripes {
    /// Bytes of a stripe.
    pub unit: u64,
    /// Storage targets that the stripes go to in turn.
    pub factor: u64,
}

/// `LOV_USER_MAGIC_V1` and `_V3`. Layouts of several components have another one; they are left to the block of the
/// file system.
const MAGIC: [u32; 2] = [0x0bd1_0bd0, 0x0bd3_0bd0];
/// `LOV_PATTERN_RAID0`.
const IN_TURN: u32 = 1;
const PATTERN_AT: usize = 4;
const UNIT_AT: usize = 24;
const FACTOR_AT: usize = 28;
const FIRST_AT: usize = 30;
/// The servers choose the first target.
const ANY: u16 = u16::MAX;

impl Stripes {
    /// Those of an open file; `None` where they cannot be found out.
    pub fn of(fd: BorrowedFd<'_>) -> Option<Stripes> {
        // A target takes 24 bytes, and a file has at most 2,000 of them.
        let mut bytes = vec![0; 64 << 10];
        let len = file::attribute(fd, c"lustre.lov", &mut bytes).ok()?;
        Stripes::parse(&bytes[..len])
    }

    fn parse(bytes: &[u8]) -> Option<Stripes> {
        let magic = u32::from_le_bytes(*bytes.first_chunk()?);
        let unit = u32::from_le_bytes(*bytes.get(UNIT_AT..)?.first_chunk()?);
        let factor = u16::from_le_bytes(*bytes.get(FACTOR_AT..)?.first_chunk()?);
        let known = MAGIC.contains(&magic) && unit > 0 && factor > 0;
        known.then_some(Stripes { unit: u64::from(unit), factor: u64::from(factor) })
    }

    /// What asks for these stripes; 0 leaves a value to the servers.
    fn request(&self) -> [u8; file::LUSTRE_LAYOUT] {
        let mut bytes = [0; file::LUSTRE_LAYOUT];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &MAGIC[0].to_le_bytes());
        put(PATTERN_AT, &IN_TURN.to_le_bytes());
        put(UNIT_AT, &u32::try_from(self.unit).unwrap_or(0).to_le_bytes());
        put(FACTOR_AT, &u16::try_from(self.factor).unwrap_or(0).to_le_bytes());
        put(FIRST_AT, &ANY.to_le_bytes());
        bytes
    }
}

/// Makes a file with these stripes and opens it for reading and writing. `None`: the folder is not on Lustre, or the
/// file exists, and stripes stay as they are. Stripes that the servers refuse are a hint not taken: the file has
/// theirs.
///
/// # Errors
/// The system's: the file cannot be made.
pub fn make(path: &Path, permissions: u32, stripes: Stripes) -> io::Result<Option<File>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = File::open(folder).and_then(|folder| file::file_system(folder.as_fd()));
    if found.map_or(0, |found| found.magic) != FILE_SYSTEM {
        return Ok(None);
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(permissions).custom_flags(file::LUSTRE_DELAYED);
    match options.open(path) {
        Ok(file) => {
            let _refused = file::set_lustre_layout(file.as_fd(), &stripes.request());
            Ok(Some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::Stripes;

    #[test]
    fn a_layout_is_read() {
        let mut bytes = vec![0; 56];
        bytes[..4].copy_from_slice(&0x0bd1_0bd0u32.to_le_bytes());
        bytes[24..28].copy_from_slice(&(1u32 << 20).to_le_bytes());
        bytes[28..30].copy_from_slice(&4u16.to_le_bytes());
        assert_eq!(Stripes::parse(&bytes), Some(Stripes { unit: 1 << 20, factor: 4 }));
        bytes[28] = 0;
        assert_eq!(Stripes::parse(&bytes), None);
        assert_eq!(Stripes::parse(&bytes[..20]), None);
        bytes[3] = 1;
        assert_eq!(Stripes::parse(&bytes), None);
    }

    #[test]
    fn what_is_asked_for_reads_as_a_layout() {
        let stripes = Stripes { unit: 3 << 16, factor: 7 };
        let request = stripes.request();
        assert_eq!(Stripes::parse(&request), Some(stripes));
        assert_eq!((request.len(), &request[30..]), (32, &[0xff, 0xff][..]));
    }
}
