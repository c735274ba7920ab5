//! Memory descriptors.

use crate::{Eq, Error, Limits, Result};
use core::ops::BitOr;
use mem::UserMem;
use std::sync::Arc;

/// What a descriptor accepts and reports; `ptl_md_t.options`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Options(pub u32);

impl Options {
    /// Accepts puts.
    pub const OP_PUT: Options = Options(1);
    /// Accepts gets. `PtlGetPut` needs both.
    pub const OP_GET: Options = Options(2);
    /// The initiator names the offset in the memory; else a local offset advances by what is accepted.
    pub const MANAGE_REMOTE: Options = Options(4);
    /// Accepts as much as there is room for, instead of refusing.
    pub const TRUNCATE: Options = Options(8);
    /// Sends no acknowledgement even where one is asked for.
    pub const ACK_DISABLE: Options = Options(0x10);
    /// [`Descriptor::max_size`] counts.
    pub const MAX_SIZE: Options = Options(0x40);
    /// No START events.
    pub const EVENT_START_DISABLE: Options = Options(0x80);
    /// No END events. With both disabled there are no events at all, acknowledgements included.
    pub const EVENT_END_DISABLE: Options = Options(0x100);

    /// Whether all of `other` is set.
    pub const fn has(self, other: Options) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Options {
    type Output = Options;

    fn bitor(self, other: Options) -> Options {
        Options(self.0 | other.0)
    }
}

/// How many operations a descriptor still takes part in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Threshold {
    /// As many as there are (`PTL_MD_THRESH_INF`).
    Infinite,
    /// So many. A descriptor with none left is inactive.
    Count(u32),
}

impl Threshold {
    /// Whether there is one left.
    pub const fn is_open(self) -> bool {
        !matches!(self, Threshold::Count(0))
    }

    /// One is used up.
    pub const fn used(self) -> Threshold {
        match self {
            Threshold::Infinite => Threshold::Infinite,
            Threshold::Count(left) => Threshold::Count(left.saturating_sub(1)),
        }
    }
}

/// The memory of a descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Memory {
    /// One range.
    One(UserMem),
    /// Several ranges, one behind the other (`PTL_MD_IOVEC`).
    Runs(Arc<[UserMem]>),
}

impl Memory {
    /// No memory.
    pub const EMPTY: Memory = Memory::One(UserMem::EMPTY);

    /// The ranges.
    pub fn runs(&self) -> &[UserMem] {
        match self {
            Memory::One(run) => core::slice::from_ref(run),
            Memory::Runs(runs) => runs,
        }
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        match self {
            Memory::One(run) => run.len(),
            Memory::Runs(runs) => runs.iter().map(|run| run.len()).sum(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ranges of `len` bytes from `offset`, as far as they exist.
    pub fn part(&self, offset: usize, len: usize) -> impl Iterator<Item = UserMem> {
        let (mut skip, mut left) = (offset, len);
        self.runs().iter().filter_map(move |run| {
            let from = skip.min(run.len());
            skip -= from;
            let piece = run.part(from, left);
            left -= piece.len();
            (!piece.is_empty()).then_some(piece)
        })
    }
}

/// `ptl_md_t`. The memory must stay valid until the descriptor is unlinked, by a call or by itself, and every operation on
/// it has ended; the constructors of [`UserMem`] take that promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// The memory.
    pub memory: Memory,
    /// Operations until it becomes inactive.
    pub threshold: Threshold,
    /// With [`Options::MAX_SIZE`]: the descriptor becomes inactive when fewer bytes than this are left.
    pub max_size: usize,
    /// What it accepts and reports.
    pub options: Options,
    /// The owner's own word.
    pub user: u64,
    /// Where its events go.
    pub eq: Option<Eq>,
}

impl Descriptor {
    /// A descriptor of `memory` that takes any number of operations and reports none.
    pub fn of(memory: UserMem) -> Descriptor {
        Descriptor {
            memory: Memory::One(memory),
            threshold: Threshold::Infinite,
            max_size: 0,
            options: Options::default(),
            user: 0,
            eq: None,
        }
    }

    /// The descriptor as a NIC keeps it: without the option `MAX_SIZE` where the initiator manages the offset.
    ///
    /// # Errors
    /// `MD_ILLEGAL`: more runs than the limits allow.
    pub fn checked(&self, limits: &Limits) -> Result<Descriptor> {
        if self.memory.runs().len() > limits.max_md_iovecs as usize {
            return Err(Error::MdIllegal);
        }
        let mut kept = self.clone();
        if kept.options.has(Options::MANAGE_REMOTE) {
            kept.options = Options(kept.options.0 & !Options::MAX_SIZE.0);
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::Threshold;

    #[test]
    fn thresholds_close() {
        assert!(Threshold::Infinite.used().is_open());
        assert!(!Threshold::Count(1).used().is_open());
        assert!(!Threshold::Count(0).used().is_open());
    }
}
