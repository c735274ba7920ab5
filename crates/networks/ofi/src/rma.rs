//! Reads and writes of a peer's memory.

use core::ffi::c_void;

use mem::UserMem;

use crate::abi::{Iovec, MsgRma, RmaIovec, flag};
use crate::endpoint::{Address, Endpoint, Refused};
use crate::memory::Local;

/// Memory of a peer, as the network finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// As [`Endpoint::remote_start`] gives it for the region, plus the offset.
    pub address: u64,
    /// The region's key.
    pub key: u64,
}

impl Endpoint {
    /// Fetches from a peer's memory.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn read(
        &mut self,
        of: Address,
        into: UserMem,
        local: Local,
        from: Remote,
        cookie: u64,
    ) -> Result<(), Refused> {
        let operation = self.begin_in(cookie, into.len(), Some(of), true, None);
        let (ep, context) = (self.ep, operation.context());
        let (base, len) = (into.address() as *mut c_void, into.len());
        let Remote { address, key } = from;
        // SAFETY: the caller of `btl` keeps the memory valid until the completion; the context lives as long.
        let rc = unsafe { ((*(*ep).rma).read)(ep, base, len, local.0, of.0, address, key, context) };
        self.begun(operation, rc).map(drop)
    }

    /// Stores into a peer's memory. Its completion reports that the bytes are in place.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn write(
        &mut self,
        of: Address,
        from: UserMem,
        local: Local,
        into: Remote,
        cookie: u64,
    ) -> Result<(), Refused> {
        let operation = self.begin_in(cookie, from.len(), Some(of), true, None);
        let (ep, context) = (self.ep, operation.context());
        let iov = Iovec { base: from.address() as *mut c_void, len: from.len() };
        let rma_iov = RmaIovec { addr: into.address, len: from.len(), key: into.key };
        let mut desc = local.0;
        let message = MsgRma {
            iov: &iov,
            desc: &mut desc,
            iov_count: 1,
            addr: of.0,
            rma_iov: &rma_iov,
            rma_iov_count: 1,
            context,
            data: 0,
        };
        let flags = flag::COMPLETION | flag::DELIVERY_COMPLETE;
        // SAFETY: the description lives during the call; memory and context as in `read`.
        let rc = unsafe { ((*(*ep).rma).writemsg)(ep, &message, flags) };
        self.begun(operation, rc).map(drop)
    }
}
