//! Memory that ranks fill for tools, on a host that is not mpiexec's: made here, and brought to mpiexec when they are over.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, SeekFrom, fcntl_add_seals, ftruncate, memfd_create, seek};

use crate::Error;
use crate::spec::Tables;

/// Bytes that one message brings at most.
const CHUNK: usize = 256 << 10;
const PAGE: usize = 4096;

/// Memory of `bytes`, which no process can shorten. Only what is written takes memory.
///
/// # Errors
/// The system's.
pub fn memory(bytes: u64) -> io::Result<OwnedFd> {
    let fd = memfd_create(c"alhena-tool", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, bytes)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

/// What mpiexec has ordered, for a job of `size` ranks.
pub(crate) fn here(ordered: &[(String, u64)], size: usize) -> Result<Vec<Tables>, Error> {
    let make = |(variable, bytes): &(String, u64)| {
        let memory =
            bytes.checked_mul(size as u64).ok_or(io::ErrorKind::InvalidInput.into()).and_then(memory);
        let memory = Arc::new(memory.map_err(Error::system("making memory for tools"))?);
        Ok(Tables { variable: variable.clone(), bytes: *bytes, memory })
    };
    ordered.iter().map(make).collect()
}

impl Tables {
    /// `NAME=path` for the ranks of the calling process, which stays as long as they do.
    pub(crate) fn entry(&self) -> Option<CString> {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.memory.as_raw_fd());
        CString::new(format!("{}={path}", self.variable)).ok()
    }

    /// Passes on what `rank` has left: places in its part, and the bytes from there on.
    pub(crate) fn left_by(&self, rank: u32, mut each: impl FnMut(u64, Vec<u8>)) -> io::Result<()> {
        let begin = u64::from(rank) * self.bytes;
        let end = begin + self.bytes;
        let mut at = begin;
        while let Some(data) = self.next(SeekFrom::Data(at)).filter(|&data| data < end) {
            let hole = self.next(SeekFrom::Hole(data)).unwrap_or(end).min(end);
            at = data;
            while at < hole {
                let mut bytes = vec![0; CHUNK.min((hole - at) as usize)];
                let read = rustix::io::pread(&*self.memory, &mut bytes, at)?;
                bytes.truncate(read);
                if read == 0 {
                    return Ok(());
                }
                // Pages that were only looked at are zeros.
                for (number, run) in runs(&bytes) {
                    each(at - begin + (number * PAGE) as u64, run.to_vec());
                }
                at += read as u64;
            }
        }
        Ok(())
    }

    fn next(&self, from: SeekFrom) -> Option<u64> {
        seek(&*self.memory, from).ok()
    }

    /// Takes what a rank on another host has left. What does not lie in its part is dropped.
    pub(crate) fn take(&self, rank: u32, offset: u64, bytes: &[u8]) {
        let fits = offset.checked_add(bytes.len() as u64).is_some_and(|end| end <= self.bytes);
        if fits {
            // The memory is as long as all parts. Where no room is left for it, the part stays as if the rank had left nothing.
            let _ = rustix::io::pwrite(&*self.memory, bytes, u64::from(rank) * self.bytes + offset);
        }
    }
}

/// Runs of pages that are not zero, with the number of their first page.
fn runs(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let is_zero = |number: usize| bytes[number * PAGE..].iter().take(PAGE).all(|&byte| byte == 0);
    let pages = bytes.len().div_ceil(PAGE);
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = (next..pages).find(|&page| !is_zero(page))?;
        next = (first..pages).find(|&page| is_zero(page)).unwrap_or(pages);
        Some((first, &bytes[first * PAGE..(next * PAGE).min(bytes.len())]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_left_arrives_in_its_part_alone() {
        const EACH: u64 = 3 << 20;
        let [from, to] = [(), ()].map(|()| here(&[("A".to_owned(), EACH)], 3).unwrap().remove(0));
        let writes = [
            (0, vec![1; 10]),
            (PAGE as u64 * 3 - 1, vec![2; 2]),
            (EACH - 4, vec![3; 4]),
            (1 << 20, vec![4; CHUNK * 2]),
        ];
        for rank in 0..3u32 {
            for (offset, bytes) in &writes {
                from.take(rank, *offset, bytes);
            }
        }
        let mut sent = 0;
        from.left_by(1, |offset, bytes| {
            sent += bytes.len();
            to.take(1, offset, &bytes);
        })
        .unwrap();
        assert!(sent < CHUNK * 3, "{sent}");
        let whole = |tables: &Tables, rank: u64| {
            let mut bytes = vec![0; EACH as usize];
            rustix::io::pread(&*tables.memory, &mut bytes, rank * EACH).unwrap();
            bytes
        };
        assert!(whole(&from, 1) == whole(&to, 1));
        assert!(whole(&to, 0).iter().chain(&whole(&to, 2)).all(|&byte| byte == 0));
        to.take(1, EACH - 1, &[9; 2]);
        to.take(1, u64::MAX, &[9; 2]);
        assert!(whole(&from, 1) == whole(&to, 1));
    }
}
