//! Endpoints.

use super::SoftNic;
use super::endpoint::{Bound, Endpoint};
use crate::fabric::Fabric;
use gni::{Cq, Ep, Error, InstId, Modes, PeAddr, Result};

/// Request slots of an endpoint without a source queue: the NIC's outstanding-request table.
const ORB_ENTRIES: u32 = 1024;

impl<F: Fabric> SoftNic<F> {
    pub(super) fn create_ep(&mut self, source: Option<Cq>) -> Result<Ep> {
        let entries = source.map(|cq| self.use_local_cq(cq)).transpose()?.unwrap_or(ORB_ENTRIES);
        let dual = self.modes.has(Modes::DUAL_EVENTS);
        let endpoint = Endpoint {
            source,
            bound: None,
            local_word: None,
            remote_word: None,
            mailboxes: None,
            requests: 0,
            request_limit: if dual { (entries / 2).max(1) } else { entries },
        };
        self.eps.insert(endpoint).map(Ep).map_err(|_| Error::Resource)
    }

    pub(super) fn destroy_ep(&mut self, ep: Ep) -> Result<()> {
        if self.ep_mut(ep)?.bound.is_some() {
            self.unbind_ep(ep)?;
        }
        if self.exchanges.names(ep.0) {
            return Err(Error::NotDone);
        }
        if let Some(Endpoint { source: Some(cq), .. }) = self.eps.remove(ep.0) {
            self.unuse_cq(cq);
        }
        Ok(())
    }

    pub(super) fn bind_ep(&mut self, ep: Ep, pe: PeAddr, inst: InstId) -> Result<()> {
        let endpoint = self.ep_mut(ep)?;
        if endpoint.bound.is_some() {
            return Err(Error::InvalidState);
        }
        if pe.0 >> gni::limits::PE_BITS != 0 {
            return Err(Error::InvalidParam);
        }
        endpoint.bound = Some(Bound { pe, inst, index: None });
        Ok(())
    }

    pub(super) fn unbind_ep(&mut self, ep: Ep) -> Result<()> {
        let endpoint = self.ep_mut(ep)?;
        if endpoint.bound.is_none() {
            return Err(Error::InvalidState);
        }
        if endpoint.requests > 0 {
            return Err(Error::NotDone);
        }
        endpoint.bound = None;
        if let Some(mailboxes) = endpoint.mailboxes.take() {
            self.unuse_memory(mailboxes.local_handle);
        }
        self.owing.retain(|&owing| owing != ep.0);
        self.debtors.retain(|&debtor| debtor != ep.0);
        Ok(())
    }

    pub(super) fn set_event_data(&mut self, ep: Ep, local: u32, remote: u32) -> Result<()> {
        let endpoint = self.ep_mut(ep)?;
        endpoint.local_word = Some(local);
        endpoint.remote_word = Some(remote);
        Ok(())
    }

    pub(super) fn free_request(&mut self, ep: u32) {
        if let Some(endpoint) = self.eps.get_mut(ep) {
            endpoint.requests = endpoint.requests.saturating_sub(1);
        }
    }
}
