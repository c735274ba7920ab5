//! Ends that lead nowhere, so that the fast paths need not ask whether there is a fastbox.

use super::{BODY_BYTES, Fastbox, Part, Progress, Receiver, Sender, Slot, VALID};
use crate::sync::{AtomicU64, UnsafeCell};

static NO_SLOT: [Slot; 1] = [Slot { word: AtomicU64::new(0), body: UnsafeCell::new([0; BODY_BYTES / 8]) }];
static NO_PROGRESS: Progress = Progress(AtomicU64::new(0));

impl Fastbox<'static> {
    /// No fastbox: a ring with a slot that is always empty, and without data.
    const NONE: Fastbox<'static> = Fastbox { slots: &NO_SLOT, blocks: &[], progress: &NO_PROGRESS };
}

impl Fastbox<'_> {
    /// Whether this is not [`Fastbox::NONE`].
    #[inline(always)]
    fn exists(&self) -> bool {
        !self.blocks.is_empty()
    }
}

impl Sender<'_> {
    /// An end that is always full.
    pub const fn closed() -> Sender<'static> {
        let (ring, block, freed) = (Fastbox::NONE, [0; 2], [0; 2]);
        Sender { ring, mask: 0, slots: 0, stamp: VALID, limit: VALID, block, freed }
    }

    /// Whether this end leads to a fastbox.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.ring.exists()
    }
}

impl Receiver<'_> {
    /// An end to which nothing ever comes.
    pub const fn closed() -> Receiver<'static> {
        let (ring, block, reported) = (Fastbox::NONE, [0; 2], [0; 2]);
        Receiver { ring, mask: 0, stamp: VALID, left: 1, block, current: (Part::Far, 0), reported }
    }

    /// Whether this end leads to a fastbox.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.ring.exists()
    }
}
