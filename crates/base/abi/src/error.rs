//! The error value that every crate below `standard` returns: an MPI error class and what was seen.

use core::cell::Cell;
use core::fmt;
use std::borrow::Cow;

thread_local! {
    /// The last error of this thread that was described, and its description. An error itself is plain data, as small as
    /// can be, since every call may return one.
    static DESCRIBED: Cell<Option<(Error, String)>> = const { Cell::new(None) };
}

/// An MPI error class with a sentence about what was wrong.
///
/// `class` is one of the `ERR_*` constants and never `SUCCESS`. `what` names the argument or the fact, for
/// the message that a fatal error handler prints and for `MPI_Error_string`'s long form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error {
    /// One of the `MPI_ERR_*` classes, or a user-defined error code.
    pub class: i32,
    /// The number of the system's error behind it; 0 where there is none.
    pub errno: i32,
    /// What was seen, without a trailing period.
    pub what: &'static str,
    /// The communicator that the failed operation belongs to, when the call that reports it names none (a
    /// request being waited for); `Comm(0)` otherwise.
    pub on: crate::Comm,
}

/// Result of everything that may fail with an MPI error class.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// Makes an error of `class`; cold, so that the fast path stays short.
    #[cold]
    pub const fn new(class: i32, what: &'static str) -> Error {
        Error { class, errno: 0, what, on: crate::Comm(0) }
    }

    /// The same error, raised on `comm`.
    #[cold]
    pub const fn on(self, comm: crate::Comm) -> Error {
        Error { on: comm, ..self }
    }

    /// The same error, with the system's number of what caused it.
    #[cold]
    pub const fn of_system(self, errno: i32) -> Error {
        Error { errno, ..self }
    }

    /// The same error with `describe`'s text in place of `what`, in the message about it. Kept until this thread has
    /// another one.
    #[cold]
    pub fn described(self, describe: impl FnOnce() -> String) -> Error {
        DESCRIBED.set(Some((self, describe())));
        self
    }

    /// What was seen: `what`, or what took its place when this thread made the error.
    pub fn into_text(self) -> Cow<'static, str> {
        match DESCRIBED.take() {
            Some((error, text)) if error.what == self.what && error.class == self.class => text.into(),
            _ => self.what.into(),
        }
    }

    /// The answer of a function that later work fills in.
    #[cold]
    pub const fn unsupported(what: &'static str) -> Error {
        Error::new(crate::ERR_UNSUPPORTED_OPERATION, what)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error class {})", self.what, self.class)
    }
}

impl core::error::Error for Error {}
