//! Regions: memory that the network may use.

use core::ffi::c_void;
use core::ptr::null_mut;

use mem::UserMem;

use crate::abi::{self, Mr, mr};
use crate::endpoint::{Endpoint, Refused, close};

/// Keys that are tried before a registration is given up for now.
const KEYS_TRIED: usize = 64;

/// Memory that the network may use.
#[derive(Debug)]
pub struct Region {
    pub(crate) mr: *mut Mr,
}

// SAFETY: an object of the endpoint's domain, used only through the endpoint, one thread at a time.
unsafe impl Send for Region {}

impl Region {
    /// What the provider knows its memory by, on this side.
    pub fn local(&self) -> Local {
        Local(self.desc())
    }

    pub(crate) fn desc(&self) -> *mut c_void {
        // SAFETY: libfabric made this region, and closing it takes the `Region`.
        unsafe { (*self.mr).mem_desc }
    }

    /// What a peer names it by.
    pub fn key(&self) -> u64 {
        // SAFETY: libfabric made this region, and closing it takes the `Region`.
        unsafe { (*self.mr).key }
    }
}

/// What the provider knows the memory of an operation by: the region that it lies in, where the provider wants one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Local(pub(crate) *mut c_void);

// SAFETY: a name that is only handed back to the library.
unsafe impl Send for Local {}

impl Local {
    /// No region.
    pub const NONE: Local = Local(null_mut());
}

impl Endpoint {
    /// Whether memory of this process must be registered to be sent from or received into.
    pub fn wants_local(&self) -> bool {
        self.facts.mr_mode & mr::LOCAL != 0
    }

    /// By which address a peer reaches the first byte of a region that begins at `start`.
    pub fn remote_start(&self, start: u64) -> u64 {
        if self.facts.mr_mode & mr::VIRT_ADDR == 0 { 0 } else { start }
    }

    /// Registers memory for `access` (flags of [`crate::abi::flag`]).
    ///
    /// # Errors
    /// [`Refused`]
    pub fn register(&mut self, memory: UserMem, access: u64) -> Result<Region, Refused> {
        let mr = self.register_under_some_key(memory, access)?;
        let region = Region { mr };
        if self.facts.mr_mode & mr::ENDPOINT != 0 {
            // SAFETY: a region and an endpoint that are open; such a region is bound, then enabled.
            let rc = unsafe {
                let fid = &raw mut (*mr).fid;
                let ops = &*(*fid).ops;
                match (ops.bind)(fid, &raw mut (*self.ep).fid, 0) {
                    0 => (ops.control)(fid, abi::ENABLE, null_mut()),
                    rc => rc,
                }
            };
            if rc != 0 {
                self.close(Some(region));
                return Err(Refused::Failed(-rc));
            }
        }
        Ok(region)
    }

    fn register_under_some_key(&mut self, memory: UserMem, access: u64) -> Result<*mut Mr, Refused> {
        let chosen_here = self.facts.mr_mode & mr::PROV_KEY == 0;
        for _ in 0..KEYS_TRIED {
            let key = if chosen_here { self.take_key() } else { 0 };
            let (base, len) = (memory.address() as *const c_void, memory.len());
            let mut mr = null_mut();
            // SAFETY: the caller keeps the memory until the region is closed.
            let rc = unsafe {
                let domain = &raw mut (*self.domain).fid;
                ((*(*self.domain).mr).reg)(domain, base, len, access, 0, key, 0, &mut mr, null_mut())
            };
            match -rc {
                0 => return Ok(mr),
                libc::EAGAIN => return Err(Refused::Again),
                // The key is still in use: keys are few, and have come round.
                abi::ENOKEY if chosen_here => {}
                error => return Err(Refused::Failed(error)),
            }
        }
        Err(Refused::Again)
    }

    /// The next key, of those that fit; one that was given back is used again as late as possible.
    fn take_key(&mut self) -> u64 {
        self.next_key = if self.next_key >= self.facts.max_key { 1 } else { self.next_key + 1 };
        self.next_key
    }

    /// Ends what [`Endpoint::register`] began.
    pub fn close(&mut self, region: Option<Region>) {
        if let Some(region) = region {
            // SAFETY: closed once, since the region is consumed.
            unsafe { close(&raw mut (*region.mr).fid) };
        }
    }

    /// A region for memory that this process alone uses, where the provider wants one.
    pub(crate) fn register_local(&mut self, memory: UserMem, access: u64) -> Result<Option<Region>, Refused> {
        if self.facts.mr_mode & mr::LOCAL == 0 || memory.is_empty() {
            return Ok(None);
        }
        self.register(memory, access).map(Some)
    }
}
