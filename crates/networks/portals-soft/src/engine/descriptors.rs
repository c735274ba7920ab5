//! Memory descriptors: what they have left, and when they go.

use super::SoftNic;
use super::queues::reports_something;
use crate::config::DESCRIPTOR_BYTES;
use crate::fabric::Fabric;
use portals::{Descriptor, Eq, Error, Event, EventKind, Md, Me, Options, Result, Unlink};

pub(super) struct Attached {
    /// As given, but for the threshold, which counts down.
    pub(super) descriptor: Descriptor,
    /// Bytes of its memory.
    pub(super) len: usize,
    /// The entry it is attached to.
    me: Option<Me>,
    unlink: Unlink,
    /// Where the next accepted operation goes, unless the initiator manages that.
    pub(super) offset: usize,
    /// Less than `max_size` is left.
    exhausted: bool,
    /// Operations under way.
    pub(super) pending: u32,
}

impl Attached {
    pub(super) fn is_active(&self) -> bool {
        self.descriptor.threshold.is_open() && !self.exhausted
    }

    /// One operation is counted.
    pub(super) fn count(&mut self) {
        self.descriptor.threshold = self.descriptor.threshold.used();
    }

    /// How many of `len` bytes it accepts for an operation of the kind `wants`, and from which offset on; `None`: it
    /// refuses.
    pub(super) fn accepts(&self, wants: Options, remote_offset: u64, len: u64) -> Option<(usize, usize)> {
        let options = self.descriptor.options;
        if !options.has(wants) {
            return None;
        }
        let offset = if options.has(Options::MANAGE_REMOTE) { remote_offset } else { self.offset as u64 };
        let room = (self.len as u64).saturating_sub(offset);
        let fits = offset <= self.len as u64 && len <= room;
        if !fits && !options.has(Options::TRUNCATE) {
            return None;
        }
        // Both are at most the length, which is a `usize`.
        Some((offset.min(self.len as u64) as usize, len.min(room) as usize))
    }

    /// An operation was accepted: moves the offset on and counts.
    pub(super) fn accepted(&mut self, mlength: usize) {
        let options = self.descriptor.options;
        if !options.has(Options::MANAGE_REMOTE) {
            self.offset += mlength;
        }
        self.exhausted |= options.has(Options::MAX_SIZE) && self.len - self.offset < self.descriptor.max_size;
        self.count();
        self.pending += 1;
    }
}

impl<F: Fabric> SoftNic<F> {
    /// A new descriptor, attached to an entry or free.
    pub(super) fn new_descriptor(
        &mut self,
        me: Option<Me>,
        descriptor: &Descriptor,
        unlink: Unlink,
    ) -> Result<Md> {
        let descriptor = descriptor.checked(&self.limits)?;
        if let Some(me) = me
            && self.entries.get(me.0).ok_or(Error::MeInvalid)?.md.is_some()
        {
            return Err(Error::MeInUse);
        }
        if self.descriptors.len() >= self.limits.max_mds as usize {
            return Err(Error::NoSpace);
        }
        let eq = descriptor.eq;
        self.use_ring(eq, 1)?;
        let len = descriptor.memory.len();
        let attached = Attached { descriptor, len, me, unlink, offset: 0, exhausted: false, pending: 0 };
        let made = self.reserve(DESCRIPTOR_BYTES).and_then(|()| {
            self.descriptors.insert(attached).map(Md).map_err(|_| {
                self.nic_bytes -= DESCRIPTOR_BYTES;
                Error::NoSpace
            })
        });
        let Ok(md) = made else {
            self.use_ring(eq, -1)?;
            return made;
        };
        if let Some(entry) = me.and_then(|me| self.entries.get_mut(me.0)) {
            entry.md = Some(md);
        }
        Ok(md)
    }

    pub(super) fn descriptor(&self, md: Md) -> Result<&Attached> {
        self.descriptors.get(md.0).ok_or(Error::MdInvalid)
    }

    pub(super) fn update_descriptor(&mut self, md: Md, new: &Descriptor, test: Option<Eq>) -> Result<()> {
        let new = new.checked(&self.limits)?;
        let old = self.descriptor(md)?;
        if old.pending > 0 {
            return Err(Error::MdNoUpdate);
        }
        let old_eq = old.descriptor.eq;
        if let Some(eq) = test {
            self.test_silence(eq)?;
        }
        self.use_ring(new.eq, 1)?;
        self.use_ring(old_eq, -1)?;
        if let Some(attached) = self.descriptors.get_mut(md.0) {
            attached.len = new.memory.len();
            attached.descriptor = new;
            attached.offset = 0;
            attached.exhausted = false;
        }
        Ok(())
    }

    /// Removes a descriptor; its entry stays.
    pub(super) fn unlink_descriptor(&mut self, md: Md) -> Result<()> {
        if self.descriptor(md)?.pending > 0 {
            return Err(Error::MdInUse);
        }
        self.remove_descriptor(md);
        Ok(())
    }

    /// Removes a descriptor; the entry it was attached to.
    fn remove_descriptor(&mut self, md: Md) -> Option<Me> {
        let attached = self.descriptors.remove(md.0)?;
        self.unreserve(DESCRIPTOR_BYTES);
        // A descriptor names a queue that exists: one in use cannot be freed.
        let _ = self.use_ring(attached.descriptor.eq, -1);
        if let Some(entry) = attached.me.and_then(|me| self.entries.get_mut(me.0)) {
            entry.md = None;
        }
        attached.me
    }

    /// Removes a descriptor that has become inactive and was made with `UNLINK`, and its entry if that was, too. Called
    /// when an operation is over.
    pub(super) fn retire(&mut self, md: Md, last: &Event) {
        let Some(attached) = self.descriptors.get(md.0) else { return };
        if attached.is_active() || attached.pending > 0 || attached.unlink == Unlink::Retain {
            return;
        }
        let descriptor = attached.descriptor.clone();
        if reports_something(descriptor.options) {
            self.post(Event { kind: EventKind::Unlink, descriptor, ..last.clone() });
        }
        let Some(me) = self.remove_descriptor(md) else { return };
        if self.entries.get(me.0).is_some_and(|entry| entry.unlink == Unlink::Unlink) {
            self.remove_entry(me);
        }
    }
}
