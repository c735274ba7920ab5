//! GET and PUT: posting, completion, retries.

use crate::registration::{is_temporary, within};
use crate::transfer::{Purpose, Transfer};
use crate::transport::Ugni;
use btl::{Event, Peer, Refusal, RemoteKey};
use gni::{Clock, CqFault, Error, Gni, MemHandle, PostDescriptor, PostKind};
use mem::UserMem;
use rdma::Use;

/// Transfer entries taken in one turn.
const ENTRIES_PER_TURN: usize = 32;

impl<N: Gni, C: Clock> Ugni<N, C> {
    pub(crate) fn begin_get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let (start, len) = (local.address() as u64, local.len() as u64);
        let is_aligned = |remote: u64| (start | remote | len).is_multiple_of(gni::limits::GET_ALIGN);
        let remote = within(key, offset, len).filter(|&(_, remote)| is_aligned(remote));
        let Some(remote) = remote.filter(|_| local.len() <= self.params.get_limit) else {
            self.stats.unfit_gets += 1;
            return Err(Refusal::Unfit);
        };
        if local.is_empty() {
            self.events.push_back(Event::Done(cookie));
            return Ok(());
        }
        let fma = local.len() <= self.params.fma_get_limit;
        let kind = if fma { PostKind::FmaGet } else { PostKind::RdmaGet };
        self.begin_above(peer, kind, (local, true), remote, cookie)
    }

    pub(crate) fn begin_put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let remote = within(key, offset, local.len() as u64)
            .filter(|_| local.len() <= self.params.rdma_pipeline_frag_size)
            .ok_or(Refusal::Unfit)?;
        if local.is_empty() {
            self.events.push_back(Event::Done(cookie));
            return Ok(());
        }
        let fma = local.len() <= self.params.fma_put_limit;
        let kind = if fma { PostKind::FmaPut } else { PostKind::RdmaPut };
        self.begin_above(peer, kind, (local, !fma), remote, cookie)
    }

    /// Begins a transfer for the layer above; the local memory is registered for it where it must be.
    fn begin_above(
        &mut self,
        peer: Peer,
        kind: PostKind,
        (local, register): (UserMem, bool),
        (remote_handle, remote_addr): (MemHandle, u64),
        cookie: u64,
    ) -> Result<(), Refusal> {
        let connection = self.connection_to(peer).ok_or(Refusal::Busy)?;
        if !self.has_transfer_slot() {
            return Err(Refusal::Busy);
        }
        let registered = if register { Some(self.register(local, Use::Local)?) } else { None };
        let descriptor = PostDescriptor {
            local,
            local_handle: registered.unwrap_or_default(),
            remote_addr,
            remote_handle,
            src_cq: Some(self.queues.transfers),
            ..PostDescriptor::new(kind)
        };
        let purpose = Purpose::Above { cookie, registered };
        self.begin_transfer(Transfer { connection, descriptor, tries: 0, purpose }).map_err(|error| {
            self.unregister_local(registered);
            if is_temporary(error) { Refusal::Busy } else { Refusal::Unfit }
        })
    }

    pub(crate) fn unregister_local(&mut self, handle: Option<MemHandle>) {
        if let Some(handle) = handle {
            self.unregister(handle, Use::Local);
        }
    }

    /// Whether the queue has room for one more entry.
    pub(crate) fn has_transfer_slot(&mut self) -> bool {
        if self.transfers_out >= self.params.local_rdma_cq_size as u32 {
            self.take_transfers();
        }
        self.transfers_out < self.params.local_rdma_cq_size as u32
    }

    /// Posts a transfer for the first time; the caller has made sure of a slot in the queue.
    pub(crate) fn begin_transfer(&mut self, transfer: Transfer) -> Result<(), Error> {
        let key = self.transfers.insert(transfer).map_err(|_| Error::Resource)?;
        if let Err(error) = self.post(key) {
            self.transfers.remove(key);
            return Err(error);
        }
        let count = match transfer.descriptor.kind {
            _ if matches!(transfer.purpose, Purpose::Probe) => &mut self.stats.probes,
            PostKind::FmaGet => &mut self.stats.fma_gets,
            PostKind::RdmaGet => &mut self.stats.bte_gets,
            PostKind::FmaPut => &mut self.stats.fma_puts,
            PostKind::Amo { .. } => &mut self.stats.atomics,
            _ => &mut self.stats.bte_puts,
        };
        *count += 1;
        self.stats.moved_bytes += transfer.descriptor.length();
        Ok(())
    }

    fn post(&mut self, key: u32) -> Result<(), Error> {
        let Some(transfer) = self.transfers.get_mut(key) else { return Err(Error::InvalidParam) };
        transfer.descriptor.post_id = key.into();
        let connection = transfer.connection;
        let ep = self.transfer_endpoint(connection)?;
        let Some(transfer) = self.transfers.get(key) else { return Err(Error::InvalidParam) };
        match transfer.descriptor.kind {
            PostKind::FmaGet | PostKind::FmaPut | PostKind::Amo { .. } => {
                self.nic.post_fma(ep, &transfer.descriptor)?
            }
            _ => self.nic.post_rdma(ep, &transfer.descriptor)?,
        }
        self.transfers_out += 1;
        Ok(())
    }

    /// Posts failed transfers again, as far as there is room.
    pub(crate) fn post_again(&mut self) {
        while let Some(&key) = self.again.front() {
            if !self.has_transfer_slot() {
                return;
            }
            match self.post(key) {
                Ok(()) => {}
                Err(error) if is_temporary(error) => return,
                Err(_) => self.fail(key),
            }
            self.again.pop_front();
        }
    }

    /// Takes the entries of transfers that are over, a bounded number of them.
    pub(crate) fn take_transfers(&mut self) {
        for _ in 0..ENTRIES_PER_TURN {
            if self.transfers_out == 0 {
                return;
            }
            let (entry, recoverable) = match self.nic.cq_get_event(self.queues.transfers) {
                Ok(entry) => (entry, None),
                Err(CqFault::Failed(entry)) => (entry, Some(self.nic.cq_error_recoverable(entry))),
                Err(CqFault::Overrun) => continue,
                Err(CqFault::NotDone | CqFault::InvalidParam) => return,
            };
            self.transfers_out -= 1;
            let Ok(descriptor) = self.nic.get_completed(self.queues.transfers, entry) else { continue };
            let key = descriptor.post_id as u32;
            match recoverable {
                None => self.succeed(key),
                Some(recoverable) => self.retry(key, recoverable),
            }
        }
    }

    fn succeed(&mut self, key: u32) {
        let Some(transfer) = self.transfers.remove(key) else { return };
        match transfer.purpose {
            Purpose::Above { cookie, registered } => {
                self.stats.direct_bytes += transfer.descriptor.length();
                self.unregister_local(registered);
                self.events.push_back(Event::Done(cookie));
            }
            Purpose::EagerGet { context, buffer, words, len } => {
                self.fetched(transfer.connection, context, buffer, words, len);
            }
            Purpose::Window(access) => {
                if let Some(again) = self.accessed(&transfer, &access, true) {
                    self.begin_again(again);
                }
            }
            Purpose::Probe => self.probed(transfer.connection, true),
        }
    }

    /// A transfer of an access that takes several is to be posted when there is room.
    fn begin_again(&mut self, transfer: Transfer) {
        match self.transfers.insert(transfer) {
            Ok(key) => self.again.push_back(key),
            // Its predecessor has just left a place.
            Err(transfer) => {
                if let Purpose::Window(access) = transfer.purpose {
                    self.accessed(&transfer, &access, false);
                }
            }
        }
    }

    /// A transfer failed: it is posted again, whatever it was for, until its tries are used up.
    fn retry(&mut self, key: u32, recoverable: bool) {
        let most = self.params.rdma_max_retries as u32;
        let Some(transfer) = self.transfers.get_mut(key) else { return };
        if recoverable && transfer.tries < most {
            transfer.tries += 1;
            self.stats.retries += 1;
            return self.again.push_back(key);
        }
        let connection = transfer.connection;
        self.fail(key);
        if recoverable {
            // The network did not get through in all these tries: the peer is gone.
            self.lose(connection);
        }
    }

    /// A transfer is given up.
    fn fail(&mut self, key: u32) {
        let Some(transfer) = self.transfers.remove(key) else { return };
        match transfer.purpose {
            Purpose::Above { cookie, registered } => {
                self.unregister_local(registered);
                self.events.push_back(Event::Failed(cookie));
            }
            Purpose::EagerGet { buffer, .. } => {
                // The message was promised; without it the peer's word is worth nothing.
                self.eager.give_up(buffer);
                self.lose(transfer.connection);
            }
            Purpose::Window(access) => {
                self.accessed(&transfer, &access, false);
            }
            Purpose::Probe => self.probed(transfer.connection, false),
        }
    }
}
