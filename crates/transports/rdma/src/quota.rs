//! Who may use how many of this process's registrations at a time.
//!
//! A transfer holds memory registered on both sides. If the memory that waits for peers could take all
//! registrations, two processes could wait for each other for ever: each has exposed all it may, and neither
//! can register what it would fetch into. So each use has a share of its own, and only ever waits for uses that
//! do not wait for it:
//!
//! ```text
//!   exposed for reading ──▶ the peer exposes for writing (Put Fallback) ──▶ local side of a transfer ──▶ the NIC
//! ```
//!
//! Counted are uses. What is registered and not used waits in the cache for its next use and gives way to others, so
//! a use that has its share always finds room.

/// What memory is registered for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// More Eager GET buffers, kept until the end. The first block of each pool is reserved.
    Growth,
    /// Memory that a peer will fetch from.
    Read,
    /// Memory that a peer will store into.
    Write,
    /// This side of a transfer under way.
    Local,
    /// More mailboxes, kept until the end. They share with nothing else: a peer without one is not reached at all.
    Mailboxes,
    /// Windows, and what their operations are copied through: as long as the windows. A process that has no more of
    /// them uses messages.
    Window,
}

/// Registrations that the pools need at least: mailboxes, send buffers, receive buffers.
const POOLS: u32 = 3;
/// Fewest registrations a process can work with.
pub const FEWEST: u32 = POOLS + 3;

/// The shares, and what is in use of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    free: [u32; 6],
}

impl Quota {
    /// Shares out `registrations`, at least [`FEWEST`]: a quarter to the pools, an eighth to windows, equal parts to
    /// the rest.
    pub fn new(registrations: u32) -> Quota {
        let pools = (registrations / 4).max(POOLS);
        let rest = registrations.saturating_sub(pools).max(3);
        let windows = (registrations / 8).min(rest - 3);
        let rest = rest - windows;
        let part = rest / 3;
        Quota { free: [pools - POOLS, part, part, rest - 2 * part, 0, windows] }
    }

    /// As [`Quota::new`], for a transport whose peers need mailboxes: these have half of what the pools may grow by.
    pub fn with_mailboxes(registrations: u32) -> Quota {
        let mut quota = Quota::new(registrations);
        let growth = &mut quota.free[Use::Growth as usize];
        let mailboxes = growth.div_ceil(2);
        *growth -= mailboxes;
        quota.free[Use::Mailboxes as usize] = mailboxes;
        quota
    }

    /// How many are left of a share.
    pub fn left(&self, what: Use) -> u32 {
        self.free[what as usize]
    }

    /// Registrations for memory of the layer above; asked before any is in use.
    pub fn for_transfers(&self) -> usize {
        [Use::Read, Use::Write, Use::Local].iter().map(|&what| self.free[what as usize] as usize).sum()
    }

    /// Takes one; `false`: the share is used up.
    pub fn take(&mut self, what: Use) -> bool {
        let free = &mut self.free[what as usize];
        match free.checked_sub(1) {
            Some(less) => {
                *free = less;
                true
            }
            None => false,
        }
    }

    /// Gives one back.
    pub fn give(&mut self, what: Use) {
        self.free[what as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{FEWEST, Quota, Use};

    #[test]
    fn every_use_has_a_share_and_all_shares_fit() {
        for registrations in FEWEST..5000 {
            for mut quota in [Quota::new(registrations), Quota::with_mailboxes(registrations)] {
                let mut taken = 0;
                for what in [Use::Read, Use::Write, Use::Local] {
                    assert!(quota.take(what));
                    taken += 1;
                }
                for what in [Use::Growth, Use::Read, Use::Write, Use::Local, Use::Mailboxes, Use::Window] {
                    while quota.take(what) {
                        taken += 1;
                    }
                    assert_eq!(quota.left(what), 0);
                }
                assert_eq!(taken + super::POOLS, registrations);
                quota.give(Use::Write);
                assert!(quota.take(Use::Write) && !quota.take(Use::Write));
            }
        }
    }
}
