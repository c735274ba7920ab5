//! Statuses: Open MPI's have 24 bytes, ours 32.

use dialect::status::Layout;
pub use dialect::status::{of, place};

use crate::functions::{errcode, rank, tag};

/// `MPI_Status` of Open MPI's ABI.
///
/// ```text
///   0        4     8       12          16
///   SOURCE   TAG   ERROR   cancelled   count
/// ```
// Fortran programs have arrays of integers for it.
#[repr(C, packed(4))]
#[derive(Clone, Copy)]
pub struct Status {
    source: i32,
    tag: i32,
    error: i32,
    cancelled: i32,
    count: u64,
}

const _: () = assert!(size_of::<Status>() == 24 && align_of::<Status>() == 4);

/// A status that comes out.
pub type Out = dialect::status::Out<Status>;
/// An array of statuses that come out.
pub type List = dialect::status::List<Status>;

impl Layout for Status {
    const ZERO: Status = Status { source: 0, tag: 0, error: 0, cancelled: 0, count: 0 };

    /// The constants are NULL.
    #[inline(always)]
    fn is_ignored(place: *mut Status) -> bool {
        place.is_null()
    }

    fn ours(&self) -> abi::Status {
        let mut status = abi::Status::new(rank::of(self.source), tag::of(self.tag), self.count);
        status.error = errcode::of(self.error);
        status.set_cancelled(self.cancelled != 0);
        status
    }

    #[inline]
    fn set_message(&mut self, ours: &abi::Status) {
        self.count = ours.bytes();
        self.cancelled = i32::from(ours.cancelled());
        self.source = rank::to(ours.source);
        self.tag = tag::to(ours.tag);
    }

    #[inline]
    fn set_error(&mut self, ours: i32) {
        self.error = errcode::give(ours);
    }
}
