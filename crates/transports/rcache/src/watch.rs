//! Whether memory is still what it was when it was registered.

use crate::extent::Extent;

/// A range being watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchId(pub u32);

/// Watches ranges of the address space.
pub trait Watch: Send + Sync {
    /// Begins to watch `extent`: what is unmapped, moved or given back of it after this call makes it invalid.
    /// `None` where that cannot be noticed; a registration of it must not be kept.
    fn watch(&self, extent: Extent) -> Option<WatchId>;

    /// Ends what [`Watch::watch`] began.
    fn unwatch(&self, id: WatchId);

    /// Returns when every change whose system call has returned, or has made its addresses available to others, shows
    /// in [`Watch::is_valid`].
    fn settle(&self);

    /// Whether the range is still what it was when it began to be watched.
    fn is_valid(&self, id: WatchId) -> bool;

    /// Number of ranges that became invalid so far.
    fn invalidations(&self) -> u64;
}

/// Watches nothing: no memory of the user's stays registered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn watch(&self, _extent: Extent) -> Option<WatchId> {
        None
    }

    fn unwatch(&self, _id: WatchId) {}

    fn settle(&self) {}

    fn is_valid(&self, _id: WatchId) -> bool {
        false
    }

    fn invalidations(&self) -> u64 {
        0
    }
}

/// Takes everything for valid for ever: for programs that unmap no memory which they have sent from or received
/// into, and for tests that show what happens to the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trusting;

impl Watch for Trusting {
    fn watch(&self, _extent: Extent) -> Option<WatchId> {
        Some(WatchId(0))
    }

    fn unwatch(&self, _id: WatchId) {}

    fn settle(&self) {}

    fn is_valid(&self, _id: WatchId) -> bool {
        true
    }

    fn invalidations(&self) -> u64 {
        0
    }
}
