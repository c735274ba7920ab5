//! A NIC whose calls take processor time.

use crate::fabric::Timed;
use portals::{
    AccessEntry, Ack, Descriptor, Eq, Handler, Jid, Limits, Md, Me, NewEntry, Nid, Portals, Position,
    ProcessId, Result, Status, Taken, Target, Uid, Unlink,
};
use portals_soft::{NicConfig, SoftNic};

/// The NIC in software over a [`Timed`] fabric; each call lets the clock of its process go on.
pub struct TimedNic(SoftNic<Timed>);

impl TimedNic {
    /// A NIC on a fabric.
    pub fn new(fabric: Timed, config: NicConfig) -> TimedNic {
        TimedNic(SoftNic::new(fabric, config))
    }

    /// The fabric below.
    pub fn fabric(&self) -> &Timed {
        self.0.fabric()
    }

    fn spend(&mut self, nanoseconds: f64) {
        let fabric = self.0.fabric();
        fabric.world().spend(self.0.id(), nanoseconds);
    }

    /// One call of the interface.
    fn call(&mut self) -> &mut SoftNic<Timed> {
        let call = self.0.fabric().world().costs().call;
        self.spend(call);
        &mut self.0
    }
}

impl Portals for TimedNic {
    fn id(&self) -> ProcessId {
        self.0.id()
    }

    fn uid(&self) -> Uid {
        self.0.uid()
    }

    fn jid(&self) -> Jid {
        self.0.jid()
    }

    fn limits(&self) -> &Limits {
        self.0.limits()
    }

    fn status(&self, register: Status) -> Result<u64> {
        self.0.status(register)
    }

    fn distance(&self, nid: Nid) -> Result<u32> {
        self.0.distance(nid)
    }

    fn me_attach(&mut self, index: u32, entry: NewEntry, position: Position) -> Result<Me> {
        self.call().me_attach(index, entry, position)
    }

    fn me_attach_any(&mut self, entry: NewEntry) -> Result<(u32, Me)> {
        self.call().me_attach_any(entry)
    }

    fn me_insert(&mut self, base: Me, entry: NewEntry, position: Position) -> Result<Me> {
        self.call().me_insert(base, entry, position)
    }

    fn me_unlink(&mut self, me: Me) -> Result<()> {
        self.call().me_unlink(me)
    }

    fn md_attach(&mut self, me: Me, descriptor: &Descriptor, unlink: Unlink) -> Result<Md> {
        self.call().md_attach(me, descriptor, unlink)
    }

    fn md_bind(&mut self, descriptor: &Descriptor, unlink: Unlink) -> Result<Md> {
        self.call().md_bind(descriptor, unlink)
    }

    fn md_unlink(&mut self, md: Md) -> Result<()> {
        self.call().md_unlink(md)
    }

    fn md_read(&self, md: Md) -> Result<Descriptor> {
        self.0.md_read(md)
    }

    fn md_update(&mut self, md: Md, new: &Descriptor, test: Option<Eq>) -> Result<()> {
        self.call().md_update(md, new, test)
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
        self.call().me_md_post(base, entry, position, descriptor, md_unlink, test)
    }

    fn eq_alloc(&mut self, count: u32, handler: Option<Handler>) -> Result<Eq> {
        self.call().eq_alloc(count, handler)
    }

    fn eq_free(&mut self, eq: Eq) -> Result<()> {
        self.call().eq_free(eq)
    }

    /// A queue lies in the process's memory: a poll costs nothing, an event its cache miss.
    fn eq_get(&mut self, eq: Eq) -> Result<Taken> {
        let taken = self.0.eq_get(eq);
        if taken.is_ok() {
            let event = self.0.fabric().world().costs().event;
            self.spend(event);
        }
        taken
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
        self.call().put_region(md, offset, len, ack, target, hdr_data)
    }

    fn get_region(&mut self, md: Md, offset: usize, len: usize, target: &Target) -> Result<()> {
        self.call().get_region(md, offset, len, target)
    }

    fn get_put(&mut self, get: Md, put: Md, target: &Target, hdr_data: u64) -> Result<()> {
        self.call().get_put(get, put, target, hdr_data)
    }

    fn ac_entry(&mut self, access: u32, entry: AccessEntry) -> Result<()> {
        self.0.ac_entry(access, entry)
    }

    fn progress(&mut self) -> usize {
        self.0.progress()
    }

    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}
