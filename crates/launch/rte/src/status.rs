//! How processes end.

use crate::signals;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Status {
    /// As a shell would report it.
    pub fn code(self) -> u8 {
        match self {
            Status::Exited(code) => code as u8,
            Status::Killed(signal) => 128u8.wrapping_add(signal as u8),
        }
    }

    /// For messages: `3`, or `139 (SIGSEGV)`.
    pub fn describe(self) -> String {
        match self {
            Status::Exited(code) => code.to_string(),
            Status::Killed(signal) => format!("{} ({})", self.code(), signals::name(signal)),
        }
    }
}
