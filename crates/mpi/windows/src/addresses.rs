//! Addresses that the memory of an allocated window has in all its processes, where these can be had.
//!
//! ```text
//!   room of rank 0 ─►|<-- as much as any segment has -->|<-- as much -->|
//!                                                       each process's own memory
//! ```
//! A process maps the segment of its node so that its own part, which is not the first one, begins there. Where
//! something lies in the way, the system maps it elsewhere in that process alone.

use osc::{Control, Shape};

/// Where neither programs nor the system's own choices are found, and how far that goes.
const FIRST: usize = 0x1000_0000_0000;
const LAST: usize = 0x4000_0000_0000;

/// Alignment of the addresses in bytes, that of large pages.
const STEP: usize = 2 << 20;

/// Where this process has room.
#[derive(Debug)]
pub struct Addresses {
    next: usize,
}

/// What the processes of a window have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Of each process's own memory.
    pub address: usize,
    /// Where the room ends that this takes.
    end: usize,
}

impl Addresses {
    pub const fn new() -> Addresses {
        Addresses { next: 0 }
    }

    /// Where there is room; 0: nowhere.
    pub fn room(&mut self) -> usize {
        if !(FIRST..LAST).contains(&self.next) {
            let places = (LAST - FIRST) / STEP;
            // Windows of other first ranks are in other places, most likely.
            self.next =
                platform::random::number().map_or(0, |number| FIRST + number as usize % places * STEP);
        }
        self.next
    }

    /// The address that follows from the room of rank 0 and the bytes of each rank; `None`: there is not enough room.
    pub fn agreed(room: u64, sizes: impl ExactSizeIterator<Item = u64>) -> Option<Agreed> {
        let room = usize::try_from(room).ok().filter(|room| (FIRST..LAST).contains(room))?;
        let words = Control::bytes(Shape::all(sizes.len()));
        let mut span = sizes
            .map(usize::try_from)
            .try_fold(words, |span, size| span.checked_add(size.ok()?.checked_next_multiple_of(4096)?))?;
        span = span.checked_next_multiple_of(STEP)?;
        let address = room.checked_add(span)?;
        let end = address.checked_add(span).filter(|&end| end <= LAST)?;
        Some(Agreed { address, end })
    }

    /// The room that rank 0 has offered is used.
    pub fn take(&mut self, agreed: &Agreed) {
        self.next = agreed.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_one_first_rank_do_not_meet() {
        let mut addresses = Addresses::new();
        let mut end = 0;
        for size in [8, 5 << 20, 0, 4096] {
            let room = addresses.room();
            let agreed = Addresses::agreed(room as u64, [size, 3, size].into_iter()).unwrap();
            let span = agreed.address - room;
            assert!(room >= end && span >= 2 * size as usize + 3 && agreed.end - agreed.address == span);
            assert!(agreed.address.is_multiple_of(STEP));
            addresses.take(&agreed);
            end = agreed.end;
        }
    }

    #[test]
    fn what_does_not_fit_is_not_agreed_on() {
        assert_eq!(Addresses::agreed(0, [8].into_iter()), None);
        assert_eq!(Addresses::agreed(u64::MAX, [8].into_iter()), None);
        assert_eq!(Addresses::agreed(FIRST as u64, [u64::MAX, 1].into_iter()), None);
        assert_eq!(Addresses::agreed(FIRST as u64, [1 << 46].into_iter()), None);
        let room = LAST - 2 * STEP;
        assert_eq!(
            Addresses::agreed(room as u64, [1].into_iter()).map(|agreed| agreed.address),
            Some(room + STEP)
        );
        assert_eq!(Addresses::agreed(room as u64, [STEP as u64].into_iter()), None);
    }
}
