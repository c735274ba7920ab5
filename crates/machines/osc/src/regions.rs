//! The memory that a process has attached to a dynamic window (MPI-5.0 section 12.2.4).
//!
//! The owner keeps a table of its regions in its own memory and publishes where that is; others read it when its
//! version has changed, and look at the version again afterwards:
//!
//! ```text
//!   owner    version odd | address, length of the new table | version even
//!   others   version even, address, length | read the table | the same version: it is the table
//! ```

use abi::{Error, Result};
use shm::sync::Ordering;

use crate::control::View;

/// The regions of one process, its own or another's as last read.
#[derive(Default, Debug)]
pub struct Regions {
    version: u64,
    /// First byte and length in bytes of each that holds a byte, by address; they do not overlap.
    table: Box<[[u64; 2]]>,
    /// Where regions without a byte begin. They cover nothing, so that only their owner knows of them.
    empty: Vec<u64>,
}

/// Most regions that are believed of another process.
const MOST: u64 = 1 << 24;

const OVERLAPS: Error =
    Error::new(abi::ERR_RMA_ATTACH, "the memory overlaps a region that is attached already");
const GONE: Error = Error::new(abi::ERR_RMA_RANGE, "the regions of the target cannot be read");

impl Regions {
    /// `MPI_Win_attach`.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_ATTACH`.
    pub fn attach(&mut self, base: u64, size: u64) -> Result<()> {
        let end = base.checked_add(size).ok_or(OVERLAPS)?;
        if size == 0 {
            self.empty.push(base);
            return Ok(());
        }
        let at = self.table.partition_point(|&[start, _]| start < base);
        let ends_before = at.checked_sub(1).is_none_or(|before| {
            let [start, len] = self.table[before];
            start + len <= base
        });
        let begins_behind = self.table.get(at).is_none_or(|&[start, _]| end <= start);
        if !(ends_before && begins_behind) {
            return Err(OVERLAPS);
        }
        let mut table = std::mem::take(&mut self.table).into_vec();
        table.insert(at, [base, size]);
        self.table = table.into();
        Ok(())
    }

    /// `MPI_Win_detach`.
    ///
    /// # Errors
    /// `MPI_ERR_BASE`.
    pub fn detach(&mut self, base: u64) -> Result<()> {
        const NONE: Error = Error::new(abi::ERR_BASE, "no region that is attached begins at the address");
        if let Ok(found) = self.table.binary_search_by_key(&base, |&[start, _]| start) {
            let mut table = std::mem::take(&mut self.table).into_vec();
            table.remove(found);
            self.table = table.into();
            return Ok(());
        }
        let found = self.empty.iter().position(|&start| start == base).ok_or(NONE)?;
        self.empty.swap_remove(found);
        Ok(())
    }

    /// Shows the others this process's regions. They read the table where it is now, so it must not be changed before
    /// [`Regions::conceal`].
    pub fn publish(&mut self, view: View<'_>, me: u32) {
        let [version, address, length] = view.regions(me);
        address.store(self.table.as_ptr() as u64, Ordering::SeqCst);
        length.store(self.table.len() as u64, Ordering::SeqCst);
        self.version = (self.version | 1) + 1;
        version.store(self.version, Ordering::SeqCst);
    }

    /// Has the others wait until the next [`Regions::publish`].
    pub fn conceal(&mut self, view: View<'_>, me: u32) {
        self.version |= 1;
        view.regions(me)[0].store(self.version, Ordering::SeqCst);
    }

    /// Reads the regions of `rank` if they have changed, by `read`, which copies words from an address of that process.
    /// `false`: they are being changed; to be called again.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_RANGE` if there is no such table, and those of `read`.
    pub fn refresh(
        &mut self,
        view: View<'_>,
        rank: u32,
        read: impl FnOnce(u64, &mut [[u64; 2]]) -> Result<()>,
    ) -> Result<bool> {
        let [version, address, length] = view.regions(rank).map(|word| word.load(Ordering::SeqCst));
        if version == self.version {
            return Ok(true);
        }
        if !version.is_multiple_of(2) {
            return Ok(false);
        }
        if length > MOST {
            return Err(GONE);
        }
        let mut table = vec![[0; 2]; length as usize];
        let copied = if table.is_empty() { Ok(()) } else { read(address, &mut table) };
        if view.regions(rank)[0].load(Ordering::SeqCst) != version {
            return Ok(false);
        }
        copied?;
        (self.version, self.table) = (version, table.into());
        Ok(true)
    }

    /// Whether all of `len` bytes from `start` on are attached, be it in several regions.
    pub fn cover(&self, start: u64, len: u64) -> bool {
        let Some(end) = start.checked_add(len) else { return false };
        let first = self.table.partition_point(|&[start_of, len]| start_of.saturating_add(len) <= start);
        let mut at = start;
        for &[region, len] in &self.table[first..] {
            if at >= end || region > at {
                break;
            }
            at = at.max(region.saturating_add(len));
        }
        at >= end
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::Shape;
    use shm::sync::AtomicU64;

    #[test]
    fn regions_do_not_overlap_and_cover_what_they_hold() {
        let mut regions = Regions::default();
        regions.attach(100, 50).unwrap();
        regions.attach(200, 50).unwrap();
        regions.attach(150, 50).unwrap();
        regions.attach(400, 0).unwrap();
        for (base, size) in [(99, 2), (120, 10), (149, 1), (249, 10), (0, 1000), (100, 50)] {
            assert_eq!(regions.attach(base, size).map_err(|e| e.class), Err(abi::ERR_RMA_ATTACH), "{base}");
        }
        assert!(regions.cover(100, 150) && regions.cover(120, 100) && regions.cover(249, 1));
        assert!(!regions.cover(99, 2) && !regions.cover(249, 2) && !regions.cover(300, 1));
        assert!(!regions.cover(u64::MAX, 2));
        assert_eq!(regions.detach(151).map_err(|e| e.class), Err(abi::ERR_BASE));
        regions.detach(150).unwrap();
        assert!(!regions.cover(120, 100) && regions.cover(120, 30));
        regions.detach(400).unwrap();
    }

    #[test]
    fn regions_without_a_byte_hide_nothing() {
        let mut regions = Regions::default();
        regions.attach(100, 50).unwrap();
        regions.attach(120, 0).unwrap();
        regions.attach(100, 0).unwrap();
        regions.attach(150, 0).unwrap();
        regions.attach(150, 10).unwrap();
        assert!(regions.cover(130, 1) && regions.cover(100, 60) && regions.cover(149, 2));
        assert_eq!(regions.attach(120, 1).map_err(|e| e.class), Err(abi::ERR_RMA_ATTACH));
        regions.detach(120).unwrap();
        assert_eq!(regions.detach(120).map_err(|e| e.class), Err(abi::ERR_BASE));
        regions.detach(100).unwrap();
        assert!(!regions.cover(130, 1));
        regions.detach(100).unwrap();
        regions.detach(150).unwrap();
        regions.detach(150).unwrap();
        assert!(!regions.cover(150, 1));
    }

    /// Every order of attaching and detaching answers as a set of bytes does.
    #[test]
    fn regions_answer_as_a_set_of_bytes() {
        let mut random = chance::Rng::new(1);
        let mut draw = |below: u64| random.below(below);
        for _ in 0..200 {
            let (mut regions, mut oracle) = (Regions::default(), Vec::<(u64, u64)>::new());
            for _ in 0..60 {
                let (base, size) = (draw(40), draw(8));
                if draw(3) > 0 {
                    let overlaps = size > 0
                        && oracle.iter().any(|&(at, len)| len > 0 && at < base + size && base < at + len);
                    assert_eq!(regions.attach(base, size).is_err(), overlaps);
                    if !overlaps {
                        oracle.push((base, size));
                    }
                } else {
                    // Of two that begin at one address the one with bytes goes first.
                    let at = |&(_, &(at, _)): &(usize, &(u64, u64))| at == base;
                    let found = oracle.iter().enumerate().filter(at).max_by_key(|(_, (_, len))| *len);
                    let found = found.map(|(found, _)| found);
                    assert_eq!(regions.detach(base).is_ok(), found.is_some());
                    found.map(|found| oracle.swap_remove(found));
                }
                let (start, len) = (draw(45), draw(12));
                let has = |byte: u64| oracle.iter().any(|&(at, len)| (at..at + len).contains(&byte));
                assert_eq!(
                    regions.cover(start, len),
                    (start..start + len).all(has),
                    "{start} {len} {oracle:?}"
                );
            }
        }
    }

    #[test]
    fn others_see_what_was_published_last() {
        let words: Vec<AtomicU64> = (0..Shape::all(1).words()).map(|_| AtomicU64::new(0)).collect();
        let view = View::new(&words, Shape::all(1));
        let (mut owner, mut other) = (Regions::default(), Regions::default());
        let copy = |address: u64, table: &mut [[u64; 2]]| {
            // SAFETY: the table is this process's, and not changed meanwhile.
            let from = unsafe { std::slice::from_raw_parts(address as *const [u64; 2], table.len()) };
            table.copy_from_slice(from);
            Ok(())
        };
        assert_eq!(other.refresh(view, 0, copy), Ok(true));
        owner.conceal(view, 0);
        assert_eq!(other.refresh(view, 0, copy), Ok(false));
        owner.attach(64, 64).unwrap();
        owner.publish(view, 0);
        assert_eq!(other.refresh(view, 0, copy), Ok(true));
        assert!(other.cover(64, 64));
        owner.conceal(view, 0);
        owner.detach(64).unwrap();
        owner.publish(view, 0);
        assert_eq!(other.refresh(view, 0, |_, _| Err(GONE)), Ok(true), "an empty table need not be read");
        assert!(!other.cover(64, 1));
    }
}
