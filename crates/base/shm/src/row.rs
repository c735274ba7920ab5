//! Segments of many nodes in one process, for virtual nodes.

use std::io;

use crate::layout::Layout;
use crate::mapping::{MapError, Segment};

/// The segments of `count` virtual nodes, one behind the other in one mapping. Unwritten pages take no memory.
///
/// The addresses stay mapped until the process ends, as each segment's do. The memory goes back when the row is dropped;
/// a segment that is still in use reads as zeros then.
#[derive(Debug)]
pub struct Row {
    base: *mut u8,
    layout: Layout,
    count: usize,
}

impl Row {
    /// Maps all of them, all zero.
    ///
    /// # Errors
    /// [`MapError::System`]: there are not that many addresses.
    pub fn map(layout: Layout, count: usize) -> Result<Row, MapError> {
        let too_many = || MapError::System("mmap", io::ErrorKind::OutOfMemory.into());
        let bytes = layout.bytes().checked_mul(count.max(1)).ok_or_else(too_many)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(MapError::System("mmap", io::Error::last_os_error()));
        }
        // Each node touches a few pages; huge ones would be empty for the most part.
        // SAFETY: advice on the mapping just made.
        unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Row { base: base.cast(), layout, count })
    }

    /// The segment of node `index`; `None` beyond the last.
    pub fn segment(&self, index: usize) -> Option<Segment> {
        (index < self.count)
            .then(|| Segment::at(self.base.wrapping_add(index * self.layout.bytes()), self.layout))
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        let bytes = self.layout.bytes() * self.count;
        // SAFETY: private anonymous pages of our own mapping become zero; their views hold nothing but atomics and
        // bounce buffers of integers, for which zero is a value.
        unsafe { libc::madvise(self.base.cast(), bytes, libc::MADV_DONTNEED) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Row;
    use crate::layout::{Layout, Shape};
    use crate::sync::Ordering::Relaxed;

    #[test]
    fn nodes_of_a_row_do_not_share_and_leave_nothing() {
        let row = Row::map(Layout::new(Shape::without_messages(2)), 3).expect("addresses");
        let word = |node: usize| &row.segment(node).expect("a node").identity(1).address;
        word(0).store(7, Relaxed);
        word(2).store(9, Relaxed);
        assert_eq!([word(0), word(1), word(2)].map(|word| word.load(Relaxed)), [7, 0, 9]);
        assert!(row.segment(3).is_none());
        let kept = row.segment(2).expect("a node");
        drop(row);
        assert_eq!(kept.identity(1).address.load(Relaxed), 0);
    }
}
