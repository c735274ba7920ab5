//! Memory: registering it, and giving it back.

use super::SoftNic;
use super::registrations::Used;
use crate::access::{self, Want};
use crate::fabric::{Fabric, Registration};
use gni::{Cq, Error, HwStatus, MemFlags, MemHandle, Result};
use mem::UserMem;

/// Relocation table entries that a range touches.
fn pages(addr: u64, len: u64, shift: u32) -> u64 {
    ((addr + len - 1) >> shift) - (addr >> shift) + 1
}

impl<F: Fabric> SoftNic<F> {
    pub(super) fn register(&mut self, memory: UserMem, cq: Option<Cq>, flags: MemFlags) -> Result<MemHandle> {
        let (addr, len) = (memory.address() as u64, memory.len() as u64);
        if len == 0 || addr.checked_add(len).is_none() || flags.is_invalid() {
            return Err(Error::InvalidParam);
        }
        let shift = self.fabric.mrt_page_shift();
        let pages = u32::try_from(pages(addr, len, shift)).map_err(|_| Error::Resource)?;
        let queue = cq.map(|cq| self.use_arrival_cq(cq)).transpose()?;
        let made = self.reserve_and_publish((addr, len), pages, flags, queue);
        let registration = made.inspect_err(|_| {
            if let Some(cq) = cq {
                self.unuse_cq(cq);
            }
        })?;
        let slot = &mut self.registrations.slots[usize::from(registration.mdd)];
        slot.used = Some(Used { registration, cq, pages, users: 0 });
        self.stats.registrations += 1;
        self.stats.registered_bytes += len;
        self.stats.bytes_ever_registered += len;
        Ok(MemHandle::pack(&gni::HandleFields {
            base: addr,
            mdd: registration.mdd,
            pages,
            page_shift: shift,
            flags,
            generation: registration.generation,
        }))
    }

    fn reserve_and_publish(
        &mut self,
        (addr, len): (u64, u64),
        pages: u32,
        flags: MemFlags,
        queue: Option<u32>,
    ) -> Result<Registration> {
        let mdd = self.registrations.take_slot().ok_or(Error::Resource)?;
        let generation = self.registrations.slots[usize::from(mdd)].generation;
        let registration = Registration { mdd, generation, addr, len, flags, queue };
        let done = self
            .fabric
            .reserve(pages)
            .and_then(|()| self.fabric.publish(&registration).inspect_err(|_| self.fabric.unreserve(pages)));
        if done.is_err() {
            self.registrations.free.push_front(mdd);
        }
        done.map(|()| registration)
    }

    pub(super) fn deregister(&mut self, handle: MemHandle) -> Result<()> {
        self.check_local(handle, None, Want::Read)?;
        let mdd = access::mdd_of(handle).map_err(|_| Error::InvalidParam)?;
        if self.registrations.used(handle).is_some_and(|used| used.users > 0) {
            return Err(Error::NotDone);
        }
        let slot = &mut self.registrations.slots[usize::from(mdd)];
        slot.generation = (slot.generation + 1) & 0x3ff;
        let Some(used) = slot.used.take() else { return Err(Error::InvalidParam) };
        self.registrations.free.push_back(mdd);
        self.fabric.withdraw(mdd);
        self.fabric.unreserve(used.pages);
        self.stats.registered_bytes -= used.registration.len;
        if let Some(cq) = used.cq {
            self.unuse_cq(cq);
        }
        Ok(())
    }

    /// Whether `handle` is this NIC's, valid, and covers `memory` (if given) for what is wanted.
    pub(super) fn check_local(&self, handle: MemHandle, memory: Option<UserMem>, want: Want) -> Result<()> {
        let found = self.registrations.used(handle).map(|used| &used.registration);
        let (addr, len) = match (memory, found) {
            (Some(memory), _) => (memory.address() as u64, memory.len() as u64),
            (None, Some(registration)) => (registration.addr, registration.len),
            (None, None) => return Err(Error::InvalidParam),
        };
        let key = self.fabric.key();
        access::check(found, handle, (key, key), addr, len, want).map_err(|status| match status {
            HwStatus::Protection => Error::Permission,
            _ => Error::InvalidParam,
        })
    }

    /// Counts a user of the memory; balanced by [`SoftNic::unuse_memory`].
    pub(super) fn use_memory(&mut self, handle: MemHandle) {
        if let Some(used) = self.registrations.used_mut(handle) {
            used.users += 1;
        }
    }

    pub(super) fn unuse_memory(&mut self, handle: MemHandle) {
        if let Some(used) = self.registrations.used_mut(handle) {
            used.users = used.users.saturating_sub(1);
        }
    }

    pub(super) fn free_memory(&mut self, memory: UserMem) -> Result<()> {
        let start = memory.address() as u64;
        if self.registrations.overlaps(&(start..start + memory.len() as u64)) {
            return Err(Error::InvalidParam);
        }
        self.fabric.free(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn every_touched_page_counts() {
        assert_eq!(pages(0, 1, 12), 1);
        assert_eq!(pages(0xfff, 1, 12), 1);
        assert_eq!(pages(0xfff, 2, 12), 2);
        assert_eq!(pages(0x1000, 0x2000, 12), 2);
        assert_eq!(pages(0x1001, 0x2000, 12), 3);
    }
}
