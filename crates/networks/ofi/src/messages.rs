//! Messages without a tag: into whatever receive is next at the peer.

use core::ffi::c_void;

use mem::UserMem;

use crate::abi::{self, Iovec, Msg, flag};
use crate::endpoint::{Address, Endpoint, Refused};
use crate::memory::Local;

impl Endpoint {
    /// Sends a message; its memory, which `local` names, is used until its completion.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn send(&mut self, to: Address, memory: UserMem, local: Local, cookie: u64) -> Result<(), Refused> {
        let operation = self.begin_in(cookie, memory.len(), Some(to), true, None);
        let (ep, context) = (self.ep, operation.context());
        let (base, len) = (memory.address() as *const c_void, memory.len());
        // SAFETY: the caller of `btl` keeps the memory valid until the completion; the context lives as long.
        let rc = unsafe { ((*(*ep).msg).send)(ep, base, len, local.0, to.0, context) };
        self.begun(operation, rc).map(drop)
    }

    /// Sends a short message, copying it. Its completion reports that it has left.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn inject(&mut self, to: Address, memory: UserMem, cookie: u64) -> Result<(), Refused> {
        let operation = self.begin_in(cookie, memory.len(), Some(to), true, None);
        let (ep, context) = (self.ep, operation.context());
        let iov = Iovec { base: memory.address() as *mut c_void, len: memory.len() };
        let mut desc = Local::NONE.0;
        let message = Msg { iov: &iov, desc: &mut desc, iov_count: 1, addr: to.0, context, data: 0 };
        let flags = flag::INJECT | flag::COMPLETION;
        // SAFETY: description and memory are valid during the call, which copies them; the context as in `send`.
        let rc = unsafe { ((*(*ep).msg).sendmsg)(ep, &message, flags) };
        self.begun(operation, rc).map(drop)
    }

    /// Posts a receive for a message of any sender; its memory is used until its completion.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn recv(&mut self, memory: UserMem, local: Local, cookie: u64) -> Result<(), Refused> {
        let operation = self.begin_in(cookie, memory.len(), None, false, None);
        let (ep, context) = (self.ep, operation.context());
        let (base, len) = (memory.address() as *mut c_void, memory.len());
        // SAFETY: as in `send`.
        let rc = unsafe { ((*(*ep).msg).recv)(ep, base, len, local.0, abi::ADDR_UNSPEC, context) };
        self.begun(operation, rc).map(drop)
    }
}
