//! Completion queues.

use super::SoftNic;
use super::flight::Flight;
use super::queue::{Local, Queue, Role};
use crate::fabric::{Arrived, Fabric};
use gni::{Cq, CqEntry, CqFault, Error, HwStatus, Result};

impl<F: Fabric> SoftNic<F> {
    pub(super) fn create_cq(&mut self, entries: u32) -> Result<Cq> {
        if entries == 0 || entries >= 1 << 29 {
            return Err(Error::InvalidParam);
        }
        if self.cqs.len() >= self.config.cqs as usize {
            return Err(Error::Resource);
        }
        self.cqs
            .insert(Queue { capacity: entries, users: 0, role: Role::Unused })
            .map(Cq)
            .map_err(|_| Error::Resource)
    }

    pub(super) fn destroy_cq(&mut self, cq: Cq) -> Result<()> {
        let queue = self.cqs.get(cq.0).ok_or(Error::InvalidParam)?;
        if queue.users > 0 {
            return Err(Error::Resource);
        }
        if let Some(Queue { role: Role::Arrivals(queue), .. }) = self.cqs.remove(cq.0) {
            self.fabric.close_queue(queue);
        }
        Ok(())
    }

    /// Makes `cq` one for local entries and counts a user of it; returns its capacity.
    pub(super) fn use_local_cq(&mut self, cq: Cq) -> Result<u32> {
        let queue = self.cqs.get_mut(cq.0).ok_or(Error::InvalidParam)?;
        queue.use_locally()?;
        queue.users += 1;
        Ok(queue.capacity)
    }

    /// Makes `cq` one for local entries without counting a user, as a descriptor does.
    pub(super) fn name_local_cq(&mut self, cq: Cq) -> Result<()> {
        self.cqs.get_mut(cq.0).ok_or(Error::InvalidParam)?.use_locally()
    }

    /// Makes `cq` one for arrivals and counts a user of it; returns the fabric's queue.
    pub(super) fn use_arrival_cq(&mut self, cq: Cq) -> Result<u32> {
        let queue = self.cqs.get_mut(cq.0).ok_or(Error::InvalidParam)?;
        if matches!(queue.role, Role::Unused) {
            queue.role = Role::Arrivals(self.fabric.open_queue(self.faults.queue_entries(queue.capacity))?);
        }
        let Role::Arrivals(index) = queue.role else { return Err(Error::InvalidParam) };
        queue.users += 1;
        Ok(index)
    }

    pub(super) fn unuse_cq(&mut self, cq: Cq) {
        if let Some(queue) = self.cqs.get_mut(cq.0) {
            queue.users = queue.users.saturating_sub(1);
        }
    }

    /// Shows an entry in a local queue; a full queue loses it. An entry of `ep` holds that endpoint's request
    /// slot until it is taken; where it cannot be shown, the slot is free at once.
    pub(super) fn push_local(&mut self, cq: Option<Cq>, entry: CqEntry, ep: Option<u32>) {
        if let Some(Queue { capacity, role: Role::Local { entries, overrun }, .. }) =
            cq.and_then(|cq| self.cqs.get_mut(cq.0))
        {
            if entries.len() < *capacity as usize {
                entries.push_back(Local { entry, ep });
                return;
            }
            *overrun = true;
            self.stats.local_overruns += 1;
        }
        if let Some(ep) = ep {
            self.free_request(ep);
        }
    }

    pub(super) fn get_event(&mut self, cq: Cq) -> core::result::Result<CqEntry, CqFault> {
        match self.take_entry(cq) {
            Err(CqFault::NotDone) => {
                self.advance_unasked();
                self.take_entry(cq)
            }
            other => other,
        }
    }

    fn take_entry(&mut self, cq: Cq) -> core::result::Result<CqEntry, CqFault> {
        let queue = self.cqs.get_mut(cq.0).ok_or(CqFault::InvalidParam)?;
        let (entry, ep) = match &mut queue.role {
            Role::Unused => return Err(CqFault::NotDone),
            Role::Local { overrun, .. } if *overrun => {
                *overrun = false;
                return Err(CqFault::Overrun);
            }
            Role::Local { entries, .. } => {
                let Local { entry, ep } = entries.pop_front().ok_or(CqFault::NotDone)?;
                (entry, ep)
            }
            Role::Arrivals(index) => match self.fabric.next_entry(*index) {
                Arrived::Empty => return Err(CqFault::NotDone),
                Arrived::Overrun => return Err(CqFault::Overrun),
                // A word that no NIC makes means nothing; the reader must look everywhere, as after a loss.
                Arrived::Entry(raw) => (CqEntry::from_raw(raw).ok_or(CqFault::Overrun)?, None),
            },
        };
        if let Some(ep) = ep {
            self.free_request(ep);
        }
        if entry.status() == HwStatus::Ok { Ok(entry) } else { Err(CqFault::Failed(entry)) }
    }

    pub(super) fn test_event(&mut self, cq: Cq) -> Result<()> {
        if self.has_event(cq)? {
            return Ok(());
        }
        self.advance_unasked();
        if self.has_event(cq)? { Ok(()) } else { Err(Error::NotDone) }
    }

    fn has_event(&mut self, cq: Cq) -> Result<bool> {
        let queue = self.cqs.get(cq.0).ok_or(Error::InvalidParam)?;
        Ok(match &queue.role {
            Role::Unused => false,
            Role::Local { entries, overrun } => *overrun || !entries.is_empty(),
            Role::Arrivals(index) => self.fabric.has_entry(*index),
        })
    }

    pub(super) fn completed(&mut self, cq: Cq, entry: CqEntry) -> Result<gni::PostDescriptor> {
        let Some(Flight::Post(post)) = self.flights.get_mut(entry.tid()) else {
            return Err(Error::InvalidParam);
        };
        if post.queue != Some(cq) {
            return Err(Error::InvalidParam);
        }
        let (descriptor, last) = post.collect().ok_or(Error::InvalidParam)?;
        if last {
            self.retire_post(entry.tid());
        }
        Ok(descriptor)
    }
}
