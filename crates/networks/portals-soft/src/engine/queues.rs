//! Event queues: rings that are written without asking, so that what is not taken is overwritten.

use super::{Objects, SoftNic};
use crate::config::EVENT_BYTES;
use crate::fabric::Fabric;
use portals::{Eq, Error, Event, Handler, Options, Result, Taken};
use std::collections::VecDeque;

pub(super) struct Ring {
    events: VecDeque<Event>,
    count: usize,
    handler: Option<Handler>,
    /// Events that it was given so far.
    sequence: u64,
    /// Events were lost since one was last taken.
    dropped: bool,
    /// Operations whose START has happened and whose END is to come here.
    pub(super) open: u32,
    /// Descriptors that name it.
    pub(super) users: u32,
}

impl Ring {
    /// Whether nothing has arrived and nothing is arriving.
    fn is_silent(&self) -> bool {
        self.events.is_empty() && self.open == 0
    }

    fn push(&mut self, mut event: Event, lost: bool) {
        event.sequence = self.sequence;
        self.sequence += 1;
        if let Some(handler) = &mut self.handler {
            handler(&event);
        }
        if lost {
            self.dropped = true;
            return;
        }
        if self.events.len() == self.count {
            self.events.pop_front();
            self.dropped = true;
        }
        self.events.push_back(event);
    }

    fn take(&mut self) -> Option<Taken> {
        let event = self.events.pop_front()?;
        Some(Taken { event, dropped: core::mem::take(&mut self.dropped) })
    }
}

/// Whether a descriptor with these options reports what happens at the beginning (`START`) or at the end of an operation.
pub(super) fn reports(options: Options, start: bool) -> bool {
    !options.has(if start { Options::EVENT_START_DISABLE } else { Options::EVENT_END_DISABLE })
}

/// Whether it reports anything at all.
pub(super) fn reports_something(options: Options) -> bool {
    reports(options, true) || reports(options, false)
}

impl<F: Fabric> SoftNic<F> {
    pub(super) fn alloc_ring(&mut self, count: u32, handler: Option<Handler>) -> Result<Eq> {
        if count == 0 || self.rings.len() >= self.limits.max_eqs as usize {
            return Err(Error::NoSpace);
        }
        self.reserve(count as usize * EVENT_BYTES)?;
        let ring = Ring {
            events: VecDeque::new(),
            count: count as usize,
            handler,
            sequence: 0,
            dropped: false,
            open: 0,
            users: 0,
        };
        self.rings.insert(ring).map(Eq).map_err(|_| Error::NoSpace)
    }

    pub(super) fn free_ring(&mut self, eq: Eq) -> Result<()> {
        let ring = self.rings.get(eq.0).ok_or(Error::EqInvalid)?;
        if ring.users > 0 {
            return Err(Error::EqInUse);
        }
        let bytes = ring.count * EVENT_BYTES;
        self.rings.discard(eq.0);
        self.unreserve(bytes);
        Ok(())
    }

    /// Takes an event; an empty queue gives the NIC a turn first.
    pub(super) fn take_event(&mut self, eq: Eq) -> Result<Taken> {
        if let Some(taken) = self.rings.get_mut(eq.0).ok_or(Error::EqInvalid)?.take() {
            return Ok(taken);
        }
        self.turn();
        self.rings.get_mut(eq.0).ok_or(Error::EqInvalid)?.take().ok_or(Error::EqEmpty)
    }

    /// The test of `PtlMDUpdate` and `PtlMEMDPost`.
    pub(super) fn test_silence(&self, eq: Eq) -> Result<()> {
        let ring = self.rings.get(eq.0).ok_or(Error::EqInvalid)?;
        if ring.is_silent() { Ok(()) } else { Err(Error::MdNoUpdate) }
    }

    /// Counts a descriptor that begins (+1) or ends (-1) to name a queue.
    pub(super) fn use_ring(&mut self, eq: Option<Eq>, by: i32) -> Result<()> {
        let Some(eq) = eq else { return Ok(()) };
        let ring = self.rings.get_mut(eq.0).ok_or(Error::EqInvalid)?;
        ring.users = ring.users.saturating_add_signed(by);
        Ok(())
    }

    /// An operation on a descriptor that reports to `eq` begins (+1) or ends (-1).
    pub(super) fn open(rings: &mut Objects<Ring>, eq: Option<Eq>, by: i32) {
        if let Some(ring) = eq.and_then(|eq| rings.get_mut(eq.0)) {
            ring.open = ring.open.saturating_add_signed(by);
        }
    }

    /// Queues an event, if its descriptor has a queue.
    pub(super) fn post(&mut self, event: Event) {
        let Some(eq) = event.descriptor.eq else { return };
        let lost = self.faults.loses_event();
        if let Some(ring) = self.rings.get_mut(eq.0) {
            ring.push(event, lost);
        }
    }
}
