//! Communication domains: which NICs talk to each other, and with what permission.

use crate::limits;
use core::ops::BitOr;

/// A node's address in the network (`pe`, 18 bits). One NIC serves one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PeAddr(pub u32);

/// A process within a communication domain (`inst_id`), unique in the domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct InstId(pub u32);

/// A protection tag. The target NIC compares it and rejects a mismatch; 0 is invalid, 1, 2, 254 and 255 are
/// reserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ptag(pub u8);

/// The job's secret that goes with its protection tag. The upper 16 bits are the protection key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cookie(pub u32);

/// What the launcher has configured for a job: attaching with anything else is `PERMISSION_ERROR`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JobKey {
    /// The protection tag.
    pub ptag: Ptag,
    /// The cookie.
    pub cookie: Cookie,
}

impl JobKey {
    /// Whether a user job may have this key at all.
    pub fn is_user(self) -> bool {
        limits::USER_PTAGS.contains(&self.ptag.0)
            && limits::USER_PKEYS.contains(&((self.cookie.0 >> 16) as u16))
    }

    /// The key for a job number of the launcher, within the ranges that user jobs have.
    pub fn for_job(job: u32) -> JobKey {
        let pkeys = u32::from(*limits::USER_PKEYS.end() - *limits::USER_PKEYS.start()) + 1;
        let ptags = u32::from(*limits::USER_PTAGS.end() - *limits::USER_PTAGS.start()) + 1;
        let pkey = u32::from(*limits::USER_PKEYS.start()) + job % pkeys;
        JobKey {
            ptag: Ptag(*limits::USER_PTAGS.start() + (job % ptags) as u8),
            cookie: Cookie(pkey << 16 | (job / pkeys) & 0xffff),
        }
    }
}

/// Mode bits of a communication domain (`GNI_CDM_MODE_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Modes(pub u32);

impl Modes {
    /// Registered pages are not copied on fork.
    pub const FORK_NOCOPY: Modes = Modes(0x1);
    /// Registered pages are copied whole on fork.
    pub const FORK_FULLCOPY: Modes = Modes(0x2);
    /// The default: partly used pages are copied on fork.
    pub const FORK_PARTCOPY: Modes = Modes(0x4);
    /// Errors become return codes; without it some faults kill the job.
    pub const ERR_NO_KILL: Modes = Modes(0x8);
    /// Every fault kills the job.
    pub const ERR_ALL_KILL: Modes = Modes(0x10);
    /// Probing for datagrams reads a mapped counter.
    pub const FAST_DATAGRAM_POLL: Modes = Modes(0x20);
    /// All block transfers use one channel, which a fence needs.
    pub const BTE_SINGLE_CHANNEL: Modes = Modes(0x40);
    /// Memory descriptors of this domain alone.
    pub const MDD_DEDICATED: Modes = Modes(0x100);
    /// Memory descriptors shared with other domains of the job.
    pub const MDD_SHARED: Modes = Modes(0x200);
    /// Allows LOCAL and GLOBAL events on one post; halves an endpoint's request slots.
    pub const DUAL_EVENTS: Modes = Modes(0x1000);
    /// An FMA descriptor of its own; attaching fails when none is left.
    pub const FMA_DEDICATED: Modes = Modes(0x1_0000);
    /// FMA descriptors from the node's pool; a post may find them all busy.
    pub const FMA_SHARED: Modes = Modes(0x2_0000);
    /// Atomics use the NIC's cache.
    pub const CACHED_AMO_ENABLED: Modes = Modes(0x4_0000);
    /// FMA windows of 32 KiB instead of 1 GiB.
    pub const FMA_SMALL_WINDOW: Modes = Modes(0x20_0000);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Modes) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the bits contradict each other.
    pub const fn is_contradictory(self) -> bool {
        let forks = self.0 & 0x7;
        forks & (forks.wrapping_sub(1)) != 0
            || self.has(Modes(Modes::MDD_DEDICATED.0 | Modes::MDD_SHARED.0))
            || self.has(Modes(Modes::FMA_DEDICATED.0 | Modes::FMA_SHARED.0))
            || self.has(Modes(Modes::ERR_NO_KILL.0 | Modes::ERR_ALL_KILL.0))
    }
}

impl BitOr for Modes {
    type Output = Modes;

    fn bitor(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{JobKey, Modes};

    #[test]
    fn every_job_number_gives_a_user_key() {
        for job in (0..200_000).step_by(37).chain([u32::MAX]) {
            assert!(JobKey::for_job(job).is_user(), "job {job}");
        }
    }

    #[test]
    fn opposite_modes_contradict() {
        assert!((Modes::FMA_DEDICATED | Modes::FMA_SHARED).is_contradictory());
        assert!((Modes::FORK_NOCOPY | Modes::FORK_FULLCOPY).is_contradictory());
        assert!(!(Modes::FORK_PARTCOPY | Modes::ERR_NO_KILL | Modes::FMA_SHARED).is_contradictory());
    }
}
