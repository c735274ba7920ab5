//! One endpoint with all that it needs: fabric, domain, address table, completion queue.

use core::ffi::{c_int, c_void};
use core::fmt;
use core::ptr::null_mut;
use std::os::fd::BorrowedFd;

use mem::UserMem;

use crate::abi::{
    self, Av, AvAttr, Cq, CqAttr, CqErrEntry, CqTaggedEntry, Domain, Ep, Fabric, Fid, Info, flag, mr,
};
use crate::choose::{Offer, Wishes};
use crate::library::{Library, text};
use crate::memory::Region;
use crate::operations::{Operation, Operations, Told};
use crate::overflow::Overflow;

/// A peer's place in the address table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub u64);

/// What the endpoint can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Name of the provider.
    pub provider: String,
    /// Name of the domain.
    pub domain: String,
    /// The library's version, as [`crate::abi::version`] makes it.
    pub version: u32,
    /// Largest payload in bytes that is copied when it is sent.
    pub inject: usize,
    /// Largest message in bytes.
    pub max_message: u64,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// Bytes of data that completions carry.
    pub data_bytes: usize,
    /// What regions of memory ask, as in [`crate::abi::mr`].
    pub mr_mode: c_int,
    /// Largest key of a region, where the user chooses keys.
    pub max_key: u64,
    /// What it may do, as in [`crate::abi::flag`].
    pub caps: u64,
    /// Flags that operations may name, of those that were asked for.
    pub flags: u64,
    /// Operations that may be under way: sends and transfers, and receives.
    pub depth: (usize, usize),
    /// Runs of memory that a receive may name.
    pub runs: usize,
}

impl Facts {
    /// Whether regions of memory mean something to an adapter. Providers in software ask for nothing but addresses.
    pub fn pins(&self) -> bool {
        self.mr_mode & !mr::VIRT_ADDR != 0
    }
}

/// Why there is no endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenError {
    /// What was tried.
    pub step: &'static str,
    /// The library's words for the error.
    pub seen: String,
    /// Provider and domain that were asked for.
    pub asked: String,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of libfabric failed\n{}, asked for {}\nrun fi_info to see what there is, and choose: --mca ofi_provider NAME --mca \
             ofi_domain NAME",
            self.step, self.seen, self.asked
        )
    }
}

impl std::error::Error for OpenError {}

/// Why an operation was not begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Try again after the next completions.
    Again,
    /// The provider's error number.
    Failed(c_int),
}

/// The end of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// As given to it.
    pub cookie: u64,
    /// 0, or a positive error number.
    pub error: c_int,
    /// Length in bytes of the memory that it was given.
    pub room: u64,
    /// Bytes that arrived, of a receive.
    pub len: u64,
    /// Data and tag of the message, of a receive.
    pub data: u64,
    pub tag: u64,
    /// The sender of a message that was received, if it was asked for or the provider knows it; the receiver of one
    /// that was sent.
    pub peer: Option<Address>,
}

/// An endpoint; see the module's documentation.
pub struct Endpoint {
    pub(crate) library: Library,
    info: *mut Info,
    fabric: *mut Fabric,
    pub(crate) domain: *mut Domain,
    av: *mut Av,
    pub(crate) cq: *mut Cq,
    pub(crate) ep: *mut Ep,
    pub(crate) facts: Facts,
    name: Vec<u8>,
    descriptor: Option<c_int>,
    pub(crate) operations: Operations,
    /// The second run of a tagged message's receive, where the provider takes two.
    pub(crate) overflow: Option<Overflow>,
    /// Of the next region, where the user chooses keys.
    pub(crate) next_key: u64,
}

// SAFETY: all that the pointers name belongs to this endpoint alone, as do its operations' records. The library's objects may be
// used by any thread, one at a time (`FI_THREAD_DOMAIN`).
unsafe impl Send for Endpoint {}

/// Completions that one call of [`Endpoint::poll`] hands over at most.
pub const BATCH: usize = 8;

impl Endpoint {
    /// Opens an endpoint for `peers` peers.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn open(library: Library, wishes: &Wishes, peers: usize) -> Result<Endpoint, OpenError> {
        let error = |step, seen| OpenError { step, seen, asked: asked(wishes) };
        let failed = |step| move |rc: c_int| error(step, library.words(rc));
        let offer = Offer::ask(&library, wishes).map_err(failed("finding a provider"))?;
        let info = offer.best(wishes).ok_or_else(|| {
            error("finding a provider", String::from("it offers only providers that must be named"))
        })?;
        // The flags were asked for to see whether they can be had; operations name them one by one.
        // SAFETY: the library's info has all its parts, and this copy is ours.
        unsafe { (*(*info).tx_attr).op_flags = 0 };
        let mut endpoint = Endpoint {
            facts: Facts { flags: wishes.flags, ..facts(&library, info) },
            library,
            info,
            fabric: null_mut(),
            domain: null_mut(),
            av: null_mut(),
            cq: null_mut(),
            ep: null_mut(),
            name: Vec::new(),
            descriptor: None,
            operations: Operations::default(),
            overflow: None,
            next_key: 1,
        };
        // Adapters would pin it.
        if wishes.caps & flag::TAGGED != 0 && endpoint.facts.runs >= 2 && !endpoint.facts.pins() {
            endpoint.overflow = Overflow::new();
        }
        endpoint.open_all(peers).map_err(|(step, rc)| failed(step)(rc))?;
        Ok(endpoint)
    }

    fn open_all(&mut self, peers: usize) -> Result<(), (&'static str, c_int)> {
        let step = |step, rc| if rc == 0 { Ok(()) } else { Err((step, rc)) };
        let none: *mut c_void = null_mut();
        // SAFETY: each object is opened once by its parent's table, from the library's own info; what a call is given lives
        // during that call.
        unsafe {
            let info = self.info;
            step("opening a fabric", (self.library.fabric)((*info).fabric_attr, &mut self.fabric, none))?;
            let fabric = self.fabric;
            step("opening a domain", ((*(*fabric).ops).domain)(fabric, info, &mut self.domain, none))?;
            let domain = self.domain;
            let ops = &*(*domain).ops;
            let mut attr: AvAttr = core::mem::zeroed();
            (attr.kind, attr.count) = (abi::AV_TABLE, peers);
            step("opening an address table", (ops.av_open)(domain, &mut attr, &mut self.av, none))?;
            let mut attr: CqAttr = core::mem::zeroed();
            (attr.format, attr.wait_obj) = (abi::CQ_FORMAT_TAGGED, abi::WAIT_FD);
            if (ops.cq_open)(domain, &mut attr, &mut self.cq, none) == 0 {
                let mut fd: c_int = -1;
                let cq = &raw mut (*self.cq).fid;
                let got = ((*(*cq).ops).control)(cq, abi::GETWAIT, (&raw mut fd).cast());
                self.descriptor = (got == 0 && fd >= 0 && self.trywait_function().is_some()).then_some(fd);
            } else {
                attr.wait_obj = abi::WAIT_NONE;
                let opened = (ops.cq_open)(domain, &mut attr, &mut self.cq, none);
                step("opening a completion queue", opened)?;
            }
            step("opening an endpoint", (ops.endpoint)(domain, info, &mut self.ep, none))?;
            let ep = &raw mut (*self.ep).fid;
            let bind = (*(*ep).ops).bind;
            step("binding an address table", bind(ep, &raw mut (*self.av).fid, 0))?;
            let both = flag::SEND | flag::RECV;
            step("binding a completion queue", bind(ep, &raw mut (*self.cq).fid, both))?;
            step("enabling an endpoint", ((*(*ep).ops).control)(ep, abi::ENABLE, none))?;
            let getname = (*(*self.ep).cm).getname;
            let mut len = 0;
            getname(ep, none, &mut len);
            self.name = vec![0; len];
            step("naming an endpoint", getname(ep, self.name.as_mut_ptr().cast(), &mut len))?;
        }
        Ok(())
    }

    /// What it can do.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// By this name others reach it.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Learns of a peer by its endpoint's name.
    ///
    /// # Errors
    /// The library's words for the error.
    pub fn insert(&mut self, name: &[u8]) -> Result<Address, String> {
        let mut address = abi::ADDR_UNSPEC;
        if name.len() < self.name.len() {
            return Err(format!("an address of {} bytes, where {} are right", name.len(), self.name.len()));
        }
        // SAFETY: one address, as long as those of this provider are.
        let inserted = unsafe {
            ((*(*self.av).ops).insert)(self.av, name.as_ptr().cast(), 1, &mut address, 0, null_mut())
        };
        if inserted == 1 { Ok(Address(address)) } else { Err(self.library.words(inserted)) }
    }

    /// The library's words for an error number.
    pub fn words(&self, error: c_int) -> String {
        self.library.words(error)
    }

    /// What the user can do about a peer given up for [`Endpoint::words`] `words`: a clause that begins with "and".
    pub fn advice(&self, words: &str) -> &'static str {
        if words == self.words(libc::EMFILE) {
            "and raise the limit for open files: ulimit -n"
        } else {
            "and at the network between the hosts: fi_info, fi_pingpong"
        }
    }

    /// Asks for the end of an operation by its name.
    pub fn cancel(&mut self, name: u32) {
        let context = self.operations.get(name).context();
        // SAFETY: the context of an operation of this endpoint; of one that is over, it names nothing to the provider.
        unsafe {
            let ep = &raw mut (*self.ep).fid;
            ((*(*self.ep).ops).cancel)(ep, context);
        }
    }

    /// As [`Endpoint::cancel`], of all receives that ask for this sender.
    pub fn cancel_receives_from(&mut self, from: Address) {
        for name in self.operations.receives_from(from) {
            self.cancel(name);
        }
    }

    /// Makes progress and hands over completions, some at a time; how many.
    pub fn poll(&mut self, mut take: impl FnMut(Completion)) -> usize {
        let mut entries = [const { core::mem::MaybeUninit::<CqTaggedEntry>::uninit() }; BATCH];
        let mut from = [abi::ADDR_UNSPEC; BATCH];
        // SAFETY: room for as many entries and senders as are asked for.
        let rc = unsafe {
            ((*(*self.cq).ops).readfrom)(self.cq, entries.as_mut_ptr().cast(), BATCH, from.as_mut_ptr())
        };
        if rc == -abi::EAVAIL {
            return self.poll_error(take);
        }
        let count = usize::try_from(rc).unwrap_or(0).min(BATCH);
        for (entry, from) in entries[..count].iter().zip(from) {
            // SAFETY: the provider has filled as many entries as it reports.
            let CqTaggedEntry { op_context, len, data, tag, .. } = unsafe { entry.assume_init() };
            let Some((Told { cookie, room, peer, .. }, region)) = self.operations.end(op_context, len as u64)
            else {
                continue;
            };
            self.close(region);
            let peer = peer.or((from != abi::ADDR_UNSPEC).then_some(Address(from)));
            take(Completion { cookie, error: 0, room, len: len as u64, data, tag, peer });
        }
        count
    }

    #[cold]
    fn poll_error(&mut self, mut take: impl FnMut(Completion)) -> usize {
        // SAFETY: plain numbers and pointers, all of which may be zero.
        let mut entry: CqErrEntry = unsafe { core::mem::zeroed() };
        entry.src_addr = abi::ADDR_UNSPEC;
        // SAFETY: room for one entry, and for what later versions add.
        let rc = unsafe { ((*(*self.cq).ops).readerr)(self.cq, &mut entry, 0) };
        if rc <= 0 {
            return 0;
        }
        let CqErrEntry { op_context, len, data, tag, err, .. } = entry;
        if op_context.is_null() {
            return 1;
        }
        self.operations.fail(op_context);
        let Some((Told { cookie, room, peer, .. }, region)) = self.operations.end(op_context, 0) else {
            return 1;
        };
        self.close(region);
        take(Completion { cookie, error: err, room, len: len as u64, data, tag, peer });
        1
    }

    /// A descriptor that is readable while there is something to do, once [`Endpoint::may_sleep`] has returned `true`.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the completion queue's, which stays open as long as the endpoint.
        self.descriptor.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Whether the descriptor can be slept on now. `false`: poll again first.
    pub fn may_sleep(&mut self) -> bool {
        let (Some(trywait), Some(_)) = (self.trywait_function(), self.descriptor) else { return false };
        // SAFETY: the queue was opened in this fabric; both stay open as long as the endpoint.
        unsafe {
            let mut fid: *mut Fid = &raw mut (*self.cq).fid;
            trywait(self.fabric, &mut fid, 1) == 0
        }
    }

    fn trywait_function(&self) -> Option<unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int> {
        // SAFETY: an open fabric; the entry is read only where the table is long enough.
        unsafe {
            let ops = (*self.fabric).ops;
            let needed = core::mem::offset_of!(abi::FabricOps, trywait) + size_of::<usize>();
            if (*ops).size >= needed { (*ops).trywait } else { None }
        }
    }

    pub(crate) fn begin(
        &mut self,
        cookie: u64,
        memory: UserMem,
        peer: Option<Address>,
        access: u64,
    ) -> Result<Operation, Refused> {
        let region = self.register_local(memory, access)?;
        Ok(self.begin_in(cookie, memory.len(), peer, access == flag::SEND, region))
    }

    /// Begins an operation on `len` bytes; `region` is closed at its end.
    pub(crate) fn begin_in(
        &mut self,
        cookie: u64,
        len: usize,
        peer: Option<Address>,
        sends: bool,
        region: Option<Region>,
    ) -> Operation {
        self.operations.begin(Told { cookie, room: len as u64, peer, sends }, region)
    }

    pub(crate) fn begun(&mut self, operation: Operation, rc: isize) -> Result<u32, Refused> {
        if rc == 0 {
            return Ok(operation.name());
        }
        operation.keep(false);
        let ended = self.operations.end(operation.context(), 0);
        self.close(ended.and_then(|(_, region)| region));
        result(rc).map(|()| operation.name())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // SAFETY: each object that was opened is closed once, those that use others first; `info` is the library's copy.
        unsafe {
            let all: [*mut Fid; 5] =
                [self.ep.cast(), self.cq.cast(), self.av.cast(), self.domain.cast(), self.fabric.cast()];
            for fid in all {
                if !fid.is_null() {
                    close(fid);
                }
            }
            (self.library.freeinfo)(self.info);
        }
    }
}

/// Closes an object.
///
/// # Safety
/// It is open, and not used afterwards.
pub(crate) unsafe fn close(fid: *mut Fid) {
    // SAFETY: the caller's promise.
    unsafe { ((*(*fid).ops).close)(fid) };
}

pub(crate) fn result(rc: isize) -> Result<(), Refused> {
    match c_int::try_from(-rc) {
        Ok(0) => Ok(()),
        Ok(libc::EAGAIN) => Err(Refused::Again),
        Ok(error) => Err(Refused::Failed(error)),
        Err(_) => Err(Refused::Failed(libc::EIO)),
    }
}

fn asked(wishes: &Wishes) -> String {
    let named = |name: &str| if name.is_empty() { String::from("any") } else { name.to_owned() };
    format!("provider {} and domain {}", named(&wishes.provider), named(&wishes.domain))
}

fn facts(library: &Library, info: *mut Info) -> Facts {
    // SAFETY: the library's info has all its parts.
    unsafe {
        let info = &*info;
        let (domain, ep) = (&*info.domain_attr, &*info.ep_attr);
        Facts {
            provider: text((*info.fabric_attr).prov_name).unwrap_or_default(),
            domain: text(domain.name).unwrap_or_default(),
            version: (library.version)(),
            inject: (*info.tx_attr).inject_size,
            max_message: ep.max_msg_size as u64,
            tag_bits: match ep.mem_tag_format {
                0 => 64,
                format => 64 - format.leading_zeros(),
            },
            data_bytes: domain.cq_data_size,
            mr_mode: domain.mr_mode,
            max_key: match domain.mr_key_size {
                0 | 8.. => u64::MAX,
                bytes => (1 << (8 * bytes)) - 1,
            },
            caps: info.caps,
            flags: 0,
            depth: ((*info.tx_attr).size, (*info.rx_attr).size),
            runs: (*info.rx_attr).iov_limit,
        }
    }
}
