//! Return codes.

use core::fmt;

/// Why a call did not succeed: the `gni_return_t` values after `GNI_RC_SUCCESS`, in enumeration order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum Error {
    /// No event, no message, no credit yet, or work is still outstanding. Not a failure: ask again later.
    NotDone = 1,
    /// A bad handle, a length that is zero or too large, an illegal mix of flags.
    InvalidParam = 2,
    /// Descriptors, registrations or request slots are used up, or a queue has lost entries.
    Resource = 3,
    /// A wait or a datagram has run out of time.
    Timeout = 4,
    /// The protection tag and cookie are not this job's, or a write through a read-only handle.
    Permission = 5,
    /// The NIC's descriptor queue is inconsistent.
    Descriptor = 6,
    /// Address or length of a GET or an atomic is not aligned as the NIC needs it.
    Alignment = 7,
    /// The object is not in the state the call needs: unbound endpoint, second attach, release out of order.
    InvalidState = 8,
    /// No such datagram, or the next message carries another tag.
    NoMatch = 9,
    /// Larger than the call can carry.
    Size = 10,
    /// The network failed the transaction, retries included.
    Transaction = 11,
    /// This NIC does not have the operation.
    IllegalOp = 12,
    /// The host has no memory left.
    NoMemory = 13,
}

/// Result of a call.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// Every code, in enumeration order.
    pub const ALL: [Error; 13] = [
        Error::NotDone,
        Error::InvalidParam,
        Error::Resource,
        Error::Timeout,
        Error::Permission,
        Error::Descriptor,
        Error::Alignment,
        Error::InvalidState,
        Error::NoMatch,
        Error::Size,
        Error::Transaction,
        Error::IllegalOp,
        Error::NoMemory,
    ];

    /// The number the C interface uses.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The error of a `gni_return_t`; `None` for 0 (success) and for numbers that are no code.
    pub fn from_code(code: u32) -> Option<Error> {
        Error::ALL.get((code as usize).checked_sub(1)?).copied()
    }

    /// The C constant's name.
    pub const fn name(self) -> &'static str {
        match self {
            Error::NotDone => "GNI_RC_NOT_DONE",
            Error::InvalidParam => "GNI_RC_INVALID_PARAM",
            Error::Resource => "GNI_RC_ERROR_RESOURCE",
            Error::Timeout => "GNI_RC_TIMEOUT",
            Error::Permission => "GNI_RC_PERMISSION_ERROR",
            Error::Descriptor => "GNI_RC_DESCRIPTOR_ERROR",
            Error::Alignment => "GNI_RC_ALIGNMENT_ERROR",
            Error::InvalidState => "GNI_RC_INVALID_STATE",
            Error::NoMatch => "GNI_RC_NO_MATCH",
            Error::Size => "GNI_RC_SIZE_ERROR",
            Error::Transaction => "GNI_RC_TRANSACTION_ERROR",
            Error::IllegalOp => "GNI_RC_ILLEGAL_OP",
            Error::NoMemory => "GNI_RC_ERROR_NOMEM",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn codes_follow_the_enumeration_order() {
        for (index, error) in Error::ALL.into_iter().enumerate() {
            assert_eq!(error.code() as usize, index + 1);
            assert_eq!(Error::from_code(error.code()), Some(error));
        }
        assert_eq!(Error::from_code(0), None);
        assert_eq!(Error::from_code(14), None);
    }
}
