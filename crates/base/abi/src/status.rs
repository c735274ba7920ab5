//! `MPI_Status` (MPI-5.0 section 3.2.5 and the ABI chapter): 32 bytes, three public fields.

/// The status of a receive, a probe or a completed request. Owned by the caller of MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Status {
    /// `MPI_SOURCE`: rank in the communicator (remote group for an inter-communicator).
    pub source: i32,
    /// `MPI_TAG`.
    pub tag: i32,
    /// `MPI_ERROR`: written by the multiple-completion calls only.
    pub error: i32,
    /// `MPI_internal`: see the accessors.
    internal: [i32; 5],
}

const CANCELLED: i32 = 1;

impl Status {
    /// The empty status (MPI-5.0 section 3.7.3): any source, any tag, no error, zero bytes.
    pub const EMPTY: Status =
        Status { source: crate::ANY_SOURCE, tag: crate::ANY_TAG, error: crate::SUCCESS, internal: [0; 5] };

    /// The status of an operation with `MPI_PROC_NULL` (MPI-5.0 section 3.10).
    pub const PROC_NULL: Status = Status { source: crate::PROC_NULL, ..Status::EMPTY };

    /// A status with source, tag and received bytes.
    pub const fn new(source: i32, tag: i32, bytes: u64) -> Status {
        Status {
            source,
            tag,
            error: crate::SUCCESS,
            internal: [bytes as u32 as i32, (bytes >> 32) as i32, 0, 0, 0],
        }
    }

    /// Takes over everything but `MPI_ERROR`, which only the multiple-completion calls set (MPI-5.0 section
    /// 3.2.5).
    #[inline(always)]
    pub const fn fill(&mut self, from: &Status) {
        let error = self.error;
        *self = *from;
        self.error = error;
    }

    /// Received payload in bytes.
    pub const fn bytes(&self) -> u64 {
        (self.internal[0] as u32 as u64) | ((self.internal[1] as u32 as u64) << 32)
    }

    /// Sets the received payload in bytes.
    pub const fn set_bytes(&mut self, bytes: u64) {
        self.internal[0] = bytes as u32 as i32;
        self.internal[1] = (bytes >> 32) as i32;
    }

    /// Bytes of the message that its receive buffer did not hold.
    pub const fn missing(&self) -> u64 {
        (self.internal[3] as u32 as u64) | ((self.internal[4] as u32 as u64) << 32)
    }

    /// The same status of a message that had `bytes` more than were received.
    pub const fn with_missing(mut self, bytes: u64) -> Status {
        self.internal[3] = bytes as u32 as i32;
        self.internal[4] = (bytes >> 32) as i32;
        self
    }

    /// Whether the request was cancelled.
    pub const fn cancelled(&self) -> bool {
        self.internal[2] & CANCELLED != 0
    }

    /// Marks the request as cancelled or not.
    pub const fn set_cancelled(&mut self, on: bool) {
        self.internal[2] = if on { CANCELLED } else { 0 };
    }
}

const _: () = assert!(size_of::<Status>() == 32);
