//! Tagged messages: sends, receives, and looking for messages without a receive.

use core::ffi::c_void;
use core::ptr::null_mut;

use mem::UserMem;

use crate::abi::{self, Iovec, MsgTagged, flag};
use crate::endpoint::{Address, Endpoint, Refused, result};
use crate::operations::{Operation, Told};

/// The memory of a receive: at most two runs.
#[derive(Clone, Copy)]
struct Runs {
    iov: [Iovec; 2],
    count: usize,
}

impl Runs {
    const NONE: Runs = Runs { iov: [Iovec { base: null_mut(), len: 0 }; 2], count: 0 };

    fn push(&mut self, run: Iovec) {
        self.iov[self.count] = run;
        self.count += 1;
    }
}

impl Endpoint {
    /// Sends a tagged message; its memory is used until its completion.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn tsend(
        &mut self,
        to: Address,
        tag: u64,
        data: u64,
        memory: UserMem,
        cookie: u64,
    ) -> Result<(), Refused> {
        let operation = self.begin(cookie, memory, Some(to), flag::SEND)?;
        let (ep, desc, context) = (self.ep, operation.desc(), operation.context());
        let (base, len) = (memory.address() as *const c_void, memory.len());
        // SAFETY: the caller of `mtl` or `btl` keeps the memory valid until the completion; the context lives as long.
        let rc = unsafe {
            let ops = &*(*ep).tagged;
            match self.facts.data_bytes {
                0 => (ops.send)(ep, base, len, desc, to.0, tag, context),
                _ => (ops.senddata)(ep, base, len, desc, data, to.0, tag, context),
            }
        };
        self.begun(operation, rc).map(drop)
    }

    /// Sends a short tagged message, copying it.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn tinject(&mut self, to: Address, tag: u64, data: u64, memory: UserMem) -> Result<(), Refused> {
        let (base, len) = (memory.address() as *const c_void, memory.len());
        // SAFETY: the memory is valid during the call, which copies it.
        let rc = unsafe {
            let ops = &*(*self.ep).tagged;
            match self.facts.data_bytes {
                0 => (ops.inject)(self.ep, base, len, to.0, tag),
                _ => (ops.injectdata)(self.ep, base, len, data, to.0, tag),
            }
        };
        result(rc)
    }

    /// Posts a receive of a tagged message; its memory is used until its completion. Returns its name, for
    /// [`Endpoint::cancel`]. The completion of a message that is longer than the memory is an error, or shows that length.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn trecv(
        &mut self,
        from: Option<Address>,
        tag: u64,
        ignore: u64,
        memory: UserMem,
        cookie: u64,
    ) -> Result<u32, Refused> {
        let operation = self.begin(cookie, memory, from, flag::RECV)?;
        let (ep, desc, context) = (self.ep, operation.desc(), operation.context());
        let from = from.map_or(abi::ADDR_UNSPEC, |address| address.0);
        if self.overflow.is_some() {
            return self.trecvmsg(operation, self.runs(memory), from, tag, ignore, flag::COMPLETION);
        }
        let (base, len) = (memory.address() as *mut c_void, memory.len());
        // SAFETY: as in `tsend`.
        let rc = unsafe { ((*(*ep).tagged).recv)(ep, base, len, desc, from, tag, ignore, context) };
        self.begun(operation, rc)
    }

    /// Looks for a message without a receive, and takes it out of matching if `claim`. Its completion keeps the
    /// operation, if it claims: [`Endpoint::recv_claimed`] goes on with that, by this name.
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun.
    pub fn peek(
        &mut self,
        from: Option<Address>,
        tag: u64,
        ignore: u64,
        claim: bool,
        cookie: u64,
    ) -> Result<u32, Refused> {
        let operation = self.begin(cookie, UserMem::EMPTY, from, flag::RECV)?;
        operation.keep(claim);
        let from = from.map_or(abi::ADDR_UNSPEC, |address| address.0);
        let flags = flag::PEEK | flag::COMPLETION | if claim { flag::CLAIM } else { 0 };
        self.trecvmsg(operation, Runs::NONE, from, tag, ignore, flags)
    }

    /// Receives a message that was claimed, as [`Endpoint::trecv`].
    ///
    /// # Errors
    /// [`Refused`]; nothing was begun, and the claim holds.
    pub fn recv_claimed(&mut self, name: u32, memory: UserMem, cookie: u64) -> Result<(), Refused> {
        let region = self.register_local(memory, flag::RECV)?;
        let operation = self.operations.get(name);
        let before =
            operation.renew(Told { cookie, room: memory.len() as u64, peer: None, sends: false }, region);
        let flags = flag::CLAIM | flag::COMPLETION;
        match self.trecvmsg_raw(operation, self.runs(memory), abi::ADDR_UNSPEC, 0, u64::MAX, flags) {
            0 => Ok(()),
            rc => {
                let region = operation.take_back(before);
                self.close(region);
                result(rc)
            }
        }
    }

    /// Receives a message that was claimed into memory of its own, which goes at the completion.
    ///
    /// # Errors
    /// As those of [`Endpoint::recv_claimed`].
    pub fn drop_claimed(&mut self, name: u32, cookie: u64) -> Result<(), Refused> {
        let scratch = self.operations.get(name).scratch();
        self.recv_claimed(name, scratch, cookie)
    }

    /// Gives back what longer messages have left behind their receives.
    pub fn release_overflow(&self) {
        if let Some(overflow) = &self.overflow {
            overflow.release();
        }
    }

    /// What a receive into `memory` names.
    fn runs(&self, memory: UserMem) -> Runs {
        let mut runs = Runs::NONE;
        if !memory.is_empty() {
            runs.push(Iovec { base: memory.address() as *mut c_void, len: memory.len() });
        }
        if let Some(overflow) = &self.overflow {
            runs.push(overflow.run());
        }
        runs
    }

    fn trecvmsg(
        &mut self,
        operation: Operation,
        runs: Runs,
        from: u64,
        tag: u64,
        ignore: u64,
        flags: u64,
    ) -> Result<u32, Refused> {
        let rc = self.trecvmsg_raw(operation, runs, from, tag, ignore, flags);
        self.begun(operation, rc)
    }

    fn trecvmsg_raw(
        &mut self,
        operation: Operation,
        runs: Runs,
        from: u64,
        tag: u64,
        ignore: u64,
        flags: u64,
    ) -> isize {
        // The overflow has no region: it is for providers that ask for none.
        let mut desc = [operation.desc(), null_mut()];
        let message = MsgTagged {
            iov: runs.iov.as_ptr(),
            desc: desc.as_mut_ptr(),
            iov_count: runs.count,
            addr: from,
            tag,
            ignore,
            context: operation.context(),
            data: 0,
        };
        // SAFETY: the description lives during the call; memory and context as in `tsend`.
        unsafe { ((*(*self.ep).tagged).recvmsg)(self.ep, &message, flags) }
    }
}
