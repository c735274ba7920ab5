//! How processes end.

use channel::wire::wire_enum;

use crate::signal;

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
            Status::Killed(signal) => format!("{} ({})", self.code(), signal::name(signal)),
        }
    }
}

wire_enum! { Status { 0 Exited(code), 1 Killed(signal), } }

/// mpiexec's exit code of a job that has gone on without ranks that failed: 0 where a rank has ended well, for failures that the program
/// has survived do not count; else the code of the first rank that has not.
pub fn code_of_survivors(statuses: &[Option<Status>]) -> u8 {
    let mut known = statuses.iter().flatten();
    if known.clone().any(|status| *status == Status::Exited(0)) {
        return 0;
    }
    known.next().map_or(0, |status| status.code())
}
