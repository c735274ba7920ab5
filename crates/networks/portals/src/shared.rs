//! One NIC with several users in a process, as on the machines, where files and messages shared it.

use crate::{
    AccessEntry, Ack, Armed, Descriptor, Eq, Handler, Jid, Limits, Md, Me, NewEntry, Nid, Portals, Position,
    ProcessId, Result, Status, Taken, Target, Uid, Unlink,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A user's hold of a NIC. The users agree on indices of the portal table; all else is the NIC's to keep apart.
pub struct Shared<N> {
    inner: Arc<Mutex<Inner<N>>>,
    user: usize,
    limits: Limits,
}

struct Inner<N> {
    nic: N,
    /// By user: processes that are gone and that it has not asked for.
    lost: Vec<VecDeque<ProcessId>>,
}

impl<N: Portals> Shared<N> {
    /// The first user of a NIC.
    pub fn new(nic: N) -> Shared<N> {
        let limits = *nic.limits();
        let inner = Inner { nic, lost: vec![VecDeque::new()] };
        Shared { inner: Arc::new(Mutex::new(inner)), user: 0, limits }
    }

    /// One more user of the same NIC. It does not learn of processes that were gone before.
    pub fn another(&self) -> Shared<N> {
        let mut inner = self.lock();
        inner.lost.push(VecDeque::new());
        let user = inner.lost.len() - 1;
        drop(inner);
        Shared { inner: Arc::clone(&self.inner), user, limits: self.limits }
    }

    /// Asks the NIC itself.
    pub fn with<T>(&self, ask: impl FnOnce(&N) -> T) -> T {
        ask(&self.lock().nic)
    }

    /// No thread waits here: the caller serialises the users, as it does the calls of one.
    fn lock(&self) -> MutexGuard<'_, Inner<N>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<N: Portals> Portals for Shared<N> {
    fn id(&self) -> ProcessId {
        self.lock().nic.id()
    }

    fn uid(&self) -> Uid {
        self.lock().nic.uid()
    }

    fn jid(&self) -> Jid {
        self.lock().nic.jid()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn status(&self, register: Status) -> Result<u64> {
        self.lock().nic.status(register)
    }

    fn distance(&self, nid: Nid) -> Result<u32> {
        self.lock().nic.distance(nid)
    }

    fn me_attach(&mut self, index: u32, entry: NewEntry, position: Position) -> Result<Me> {
        self.lock().nic.me_attach(index, entry, position)
    }

    fn me_attach_any(&mut self, entry: NewEntry) -> Result<(u32, Me)> {
        self.lock().nic.me_attach_any(entry)
    }

    fn me_insert(&mut self, base: Me, entry: NewEntry, position: Position) -> Result<Me> {
        self.lock().nic.me_insert(base, entry, position)
    }

    fn me_unlink(&mut self, me: Me) -> Result<()> {
        self.lock().nic.me_unlink(me)
    }

    fn md_attach(&mut self, me: Me, descriptor: &Descriptor, unlink: Unlink) -> Result<Md> {
        self.lock().nic.md_attach(me, descriptor, unlink)
    }

    fn md_bind(&mut self, descriptor: &Descriptor, unlink: Unlink) -> Result<Md> {
        self.lock().nic.md_bind(descriptor, unlink)
    }

    fn md_unlink(&mut self, md: Md) -> Result<()> {
        self.lock().nic.md_unlink(md)
    }

    fn md_read(&self, md: Md) -> Result<Descriptor> {
        self.lock().nic.md_read(md)
    }

    fn md_update(&mut self, md: Md, new: &Descriptor, test: Option<Eq>) -> Result<()> {
        self.lock().nic.md_update(md, new, test)
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
        self.lock().nic.me_md_post(base, entry, position, descriptor, md_unlink, test)
    }

    fn eq_alloc(&mut self, count: u32, handler: Option<Handler>) -> Result<Eq> {
        self.lock().nic.eq_alloc(count, handler)
    }

    fn eq_free(&mut self, eq: Eq) -> Result<()> {
        self.lock().nic.eq_free(eq)
    }

    fn eq_get(&mut self, eq: Eq) -> Result<Taken> {
        self.lock().nic.eq_get(eq)
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
        self.lock().nic.put_region(md, offset, len, ack, target, hdr_data)
    }

    fn get_region(&mut self, md: Md, offset: usize, len: usize, target: &Target) -> Result<()> {
        self.lock().nic.get_region(md, offset, len, target)
    }

    fn get_put(&mut self, get: Md, put: Md, target: &Target, hdr_data: u64) -> Result<()> {
        self.lock().nic.get_put(get, put, target, hdr_data)
    }

    fn ac_entry(&mut self, access: u32, entry: AccessEntry) -> Result<()> {
        self.lock().nic.ac_entry(access, entry)
    }

    fn progress(&mut self) -> usize {
        self.lock().nic.progress()
    }

    fn lost(&mut self) -> Option<ProcessId> {
        let mut inner = self.lock();
        while let Some(id) = inner.nic.lost() {
            inner.lost.iter_mut().for_each(|user| user.push_back(id));
        }
        inner.lost.get_mut(self.user)?.pop_front()
    }

    fn must_look_for_losses(&self) -> bool {
        self.lock().nic.must_look_for_losses()
    }

    fn look_for_losses(&mut self, awaited: &[ProcessId]) -> bool {
        self.lock().nic.look_for_losses(awaited)
    }

    fn would_miss(&self, id: ProcessId) -> bool {
        self.lock().nic.would_miss(id)
    }

    fn is_quiet(&self) -> bool {
        self.lock().nic.is_quiet()
    }

    fn arm(&mut self) -> Option<Armed> {
        let mut inner = self.lock();
        // A user that has not asked yet has something to do.
        if inner.lost.iter().all(VecDeque::is_empty) { inner.nic.arm() } else { None }
    }

    fn must_arm_again(&self) -> bool {
        self.lock().nic.must_arm_again()
    }

    fn disarm(&mut self) {
        self.lock().nic.disarm();
    }
}
