//! The interface, each call handed to the file that it belongs to.

use super::SoftNic;
use crate::config::Mode;
use crate::fabric::Fabric;
use portals::{
    AccessEntry, Ack, Armed, Descriptor, Eq, Error, Handler, Jid, Limits, Md, Me, NewEntry, Nid, Portals,
    Position, ProcessId, Result, Status, Taken, Target, Uid, Unlink,
};

impl<F: Fabric> Portals for SoftNic<F> {
    fn id(&self) -> ProcessId {
        self.who.id
    }

    fn uid(&self) -> Uid {
        self.who.uid
    }

    fn jid(&self) -> Jid {
        self.who.jid
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn status(&self, register: Status) -> Result<u64> {
        Ok(match register {
            Status::DropCount => self.counts.dropped[0],
            Status::DropBytes => self.counts.dropped[1],
            Status::ReceiveCount => self.counts.received[0],
            Status::ReceiveBytes => self.counts.received[1],
            Status::SendCount => self.counts.sent[0],
            Status::SendBytes => self.counts.sent[1],
            Status::MatchEntries => self.entries.len() as u64,
            Status::MemoryDescriptors => self.descriptors.len() as u64,
            Status::EventQueues => self.rings.len() as u64,
            Status::NicBytes => self.nic_bytes as u64,
            Status::EntriesWalked => self.counts.walked,
        })
    }

    fn distance(&self, nid: Nid) -> Result<u32> {
        match self.mode {
            Mode::Interrupt => self.fabric.distance(nid),
            Mode::Accelerated => Err(Error::Fail),
        }
    }

    fn me_attach(&mut self, index: u32, entry: NewEntry, position: Position) -> Result<Me> {
        self.attach_entry(index, entry, position)
    }

    fn me_attach_any(&mut self, entry: NewEntry) -> Result<(u32, Me)> {
        let index = self.free_index()?;
        self.attach_entry(index, entry, Position::After).map(|me| (index, me))
    }

    fn me_insert(&mut self, base: Me, entry: NewEntry, position: Position) -> Result<Me> {
        self.insert_entry(base, entry, position)
    }

    fn me_unlink(&mut self, me: Me) -> Result<()> {
        self.unlink_entry(me)
    }

    fn md_attach(&mut self, me: Me, descriptor: &Descriptor, unlink: Unlink) -> Result<Md> {
        self.new_descriptor(Some(me), descriptor, unlink)
    }

    fn md_bind(&mut self, descriptor: &Descriptor, unlink: Unlink) -> Result<Md> {
        self.new_descriptor(None, descriptor, unlink)
    }

    fn md_unlink(&mut self, md: Md) -> Result<()> {
        self.unlink_descriptor(md)
    }

    fn md_read(&self, md: Md) -> Result<Descriptor> {
        self.descriptor(md).map(|attached| attached.descriptor.clone())
    }

    fn md_update(&mut self, md: Md, new: &Descriptor, test: Option<Eq>) -> Result<()> {
        self.update_descriptor(md, new, test)
    }

    fn me_md_post(
        &mut self,
        base: Me,
        entry: NewEntry,
        position: Position,
        descriptor: &Descriptor,
        md_unlink: Unlink,
        test: Eq,
    ) -> Result<(Me, Md)> {
        self.test_silence(test)?;
        let me = self.insert_entry(base, entry, position)?;
        match self.new_descriptor(Some(me), descriptor, md_unlink) {
            Ok(md) => Ok((me, md)),
            Err(error) => {
                self.remove_entry(me);
                Err(error)
            }
        }
    }

    fn eq_alloc(&mut self, count: u32, handler: Option<Handler>) -> Result<Eq> {
        self.alloc_ring(count, handler)
    }

    fn eq_free(&mut self, eq: Eq) -> Result<()> {
        self.free_ring(eq)
    }

    fn eq_get(&mut self, eq: Eq) -> Result<Taken> {
        self.take_event(eq)
    }

    fn put_region(
        &mut self,
        md: Md,
        offset: usize,
        len: usize,
        ack: Ack,
        target: &Target,
        hdr_data: u64,
    ) -> Result<()> {
        self.begin_put(md, (offset, len), ack, target, hdr_data)
    }

    fn get_region(&mut self, md: Md, offset: usize, len: usize, target: &Target) -> Result<()> {
        self.begin_get(md, offset, len, target)
    }

    fn get_put(&mut self, get: Md, put: Md, target: &Target, hdr_data: u64) -> Result<()> {
        self.begin_get_put(get, put, target, hdr_data)
    }

    fn ac_entry(&mut self, access: u32, entry: AccessEntry) -> Result<()> {
        if entry.index.is_some_and(|index| index > self.limits.max_pt_index) {
            return Err(Error::PtIndexInvalid);
        }
        let place = self.access.get_mut(access as usize).ok_or(Error::AcIndexInvalid)?;
        *place = Some(entry);
        Ok(())
    }

    fn progress(&mut self) -> usize {
        self.turn()
    }

    fn lost(&mut self) -> Option<ProcessId> {
        self.fabric.lost()
    }

    fn must_look_for_losses(&self) -> bool {
        self.fabric.must_look_for_losses()
    }

    fn look_for_losses(&mut self, awaited: &[ProcessId]) -> bool {
        self.fabric.look_for_losses(awaited)
    }

    fn would_miss(&self, id: ProcessId) -> bool {
        self.fabric.would_miss(id)
    }

    fn is_quiet(&self) -> bool {
        self.deferred.is_empty() && self.flights.is_empty() && self.fabric.is_quiet()
    }

    fn arm(&mut self) -> Option<Armed> {
        self.worked = false;
        // The END of an operation may be due in some turns.
        if self.deferred.is_empty() { self.fabric.arm() } else { None }
    }

    /// What a turn does, the owner need not see: most events go to queues that it asks later or not at all, answers leave
    /// without any. And a turn takes a bounded number of arrivals.
    fn must_arm_again(&self) -> bool {
        self.worked || self.fabric.must_arm_again()
    }

    fn disarm(&mut self) {
        self.fabric.disarm();
    }
}
