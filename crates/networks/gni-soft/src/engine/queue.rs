//! One completion queue.

use gni::{CqEntry, Error, Result};
use std::collections::VecDeque;

/// One completion queue. Its first use decides what it is for.
pub(super) struct Queue {
    pub(super) capacity: u32,
    /// Endpoints and registrations that name it.
    pub(super) users: u32,
    pub(super) role: Role,
}

pub(super) enum Role {
    Unused,
    /// Entries of this NIC's own transactions.
    Local {
        entries: VecDeque<Local>,
        overrun: bool,
    },
    /// Entries that peers' transactions make; the fabric keeps them.
    Arrivals(u32),
}

/// A local entry with the endpoint whose request slot it holds, for messages.
pub(super) struct Local {
    pub(super) entry: CqEntry,
    pub(super) ep: Option<u32>,
}

impl Queue {
    pub(super) fn is_local(&self) -> bool {
        matches!(self.role, Role::Local { .. })
    }

    /// Decides for local entries, or checks that this was decided.
    pub(super) fn use_locally(&mut self) -> Result<()> {
        if matches!(self.role, Role::Unused) {
            self.role = Role::Local { entries: VecDeque::new(), overrun: false };
        }
        if self.is_local() { Ok(()) } else { Err(Error::InvalidParam) }
    }
}
