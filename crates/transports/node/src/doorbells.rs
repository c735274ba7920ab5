//! Doorbells: what each process of the node sleeps on.

use std::io;
use std::sync::Arc;

use btl::Peer;
use platform::futex;
use shm::doorbell::{Doorbell, SharedDoorbell};

use crate::Node;

impl Node {
    /// What this process sleeps on, for transports that share it.
    pub fn doorbell(&self) -> &'static Doorbell {
        self.segment.doorbell(self.me as usize)
    }

    /// Where in the segment's file this process's doorbell is, in bytes.
    fn doorbell_offset(&self) -> u64 {
        (self.segment.layout().doorbells() + self.me as usize * size_of::<Doorbell>()) as u64
    }

    /// What this process sleeps on, with a descriptor of its file, so that processes beyond the node ring it, too. Virtual
    /// processes have none.
    ///
    /// # Errors
    /// The system's: descriptors are used up.
    pub fn shared_doorbell(&self) -> io::Result<Option<SharedDoorbell>> {
        let Some(file) = &self.file else { return Ok(None) };
        let file = Arc::new(file.fd.try_clone()?);
        Ok(Some(SharedDoorbell { doorbell: self.doorbell(), file, offset: self.doorbell_offset() }))
    }

    /// What `peer`, which is of this node, sleeps on.
    pub fn doorbell_of(&self, peer: Peer) -> &'static Doorbell {
        self.segment.doorbell(self.places[peer.0 as usize] as usize)
    }
}

/// Wakes the owner if it sleeps; to be called after publishing.
#[inline(always)]
pub fn ring(doorbell: &Doorbell) {
    doorbell.ring(|word| futex::wake(word, i32::MAX));
}

/// Wakes the owners that sleep.
pub fn ring_each(doorbells: impl Iterator<Item = &'static Doorbell> + Clone) {
    Doorbell::ring_each(doorbells, |word| futex::wake(word, i32::MAX));
}
