//! Statuses: MPICH's have 20 bytes, ours 32.

use dialect::status::Layout;
pub use dialect::status::{of, place};

use crate::functions::{errcode, rank, tag};

/// `MPI_Status` of MPICH's ABI.
///
/// ```text
///   0          4                                  8       12     16
///   count, low  count, high 31 bits | cancelled    SOURCE  TAG    ERROR
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    count_low: u32,
    count_high_and_cancelled: u32,
    source: i32,
    tag: i32,
    error: i32,
}

const _: () = assert!(size_of::<Status>() == 20);

/// A status that comes out.
pub type Out = dialect::status::Out<Status>;
/// An array of statuses that come out.
pub type List = dialect::status::List<Status>;

impl Layout for Status {
    const ZERO: Status = Status { count_low: 0, count_high_and_cancelled: 0, source: 0, tag: 0, error: 0 };

    /// NULL is taken as the constants, which are 1.
    #[inline(always)]
    fn is_ignored(place: *mut Status) -> bool {
        place as usize <= 1
    }

    fn ours(&self) -> abi::Status {
        let count = u64::from(self.count_low) | u64::from(self.count_high_and_cancelled >> 1) << 32;
        let mut status = abi::Status::new(rank::of(self.source), tag::of(self.tag), count);
        status.error = errcode::of(self.error);
        status.set_cancelled(self.count_high_and_cancelled & 1 != 0);
        status
    }

    #[inline]
    fn set_message(&mut self, ours: &abi::Status) {
        let count = ours.bytes();
        self.count_low = count as u32;
        self.count_high_and_cancelled = ((count >> 32) as u32) << 1 | u32::from(ours.cancelled());
        self.source = rank::to(ours.source);
        self.tag = tag::to(ours.tag);
    }

    #[inline]
    fn set_error(&mut self, ours: i32) {
        self.error = errcode::give(ours);
    }
}
