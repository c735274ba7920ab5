//! Ranges of whole pages.

use mem::UserMem;

/// Size in bytes of the pages that extents consist of. The kernel may use larger ones; its events then cover
/// several of these.
pub const PAGE: usize = 4096;

/// A range of addresses that begins and ends at a page: what is registered, watched and looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extent {
    /// The first byte's address.
    pub start: usize,
    /// The address after the last byte.
    pub end: usize,
}

impl Extent {
    /// The pages that `memory` touches; none for no bytes.
    pub fn of(memory: UserMem) -> Extent {
        let start = memory.address() & !(PAGE - 1);
        if memory.is_empty() {
            return Extent { start, end: start };
        }
        let end = memory.address().saturating_add(memory.len());
        Extent { start, end: end.checked_next_multiple_of(PAGE).unwrap_or(end) }
    }

    /// Length in bytes.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether there are no pages.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether all of `other` lies within.
    pub const fn covers(self, other: Extent) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the two have a byte in common.
    pub const fn overlaps(self, other: Extent) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// What is left of `self` before and after `other`.
    pub fn without(self, other: Extent) -> [Extent; 2] {
        let before = Extent { start: self.start, end: self.end.min(other.start.max(self.start)) };
        let after = Extent { start: self.start.max(other.end.min(self.end)), end: self.end };
        [before, after]
    }
}

#[cfg(test)]
mod tests {
    use super::Extent;
    use mem::UserMem;

    #[allow(unsafe_code, reason = "a view of nothing")]
    fn of(address: usize, len: usize) -> Extent {
        // SAFETY: only numbers are looked at.
        Extent::of(unsafe { UserMem::new(address, len) })
    }

    #[test]
    fn every_touched_page_belongs_to_it() {
        assert_eq!(of(0x1fff, 2), Extent { start: 0x1000, end: 0x3000 });
        assert_eq!(of(0x1000, 0x1000), Extent { start: 0x1000, end: 0x2000 });
        assert!(of(0x1234, 0).is_empty());
        assert_eq!(of(usize::MAX - 1, 5).end, usize::MAX);
    }

    #[test]
    fn what_is_left() {
        let all = Extent { start: 10, end: 20 };
        let left = |start, end| all.without(Extent { start, end }).map(|part| (part.start, part.end));
        assert_eq!(left(12, 15), [(10, 12), (15, 20)]);
        assert_eq!(left(0, 15), [(10, 10), (15, 20)]);
        assert_eq!(left(12, 30), [(10, 12), (20, 20)]);
        assert_eq!(left(0, 5), [(10, 10), (10, 20)]);
        assert_eq!(left(25, 30), [(10, 20), (20, 20)]);
        assert_eq!(left(0, 30), [(10, 10), (20, 20)]);
    }
}
