//! Regions: memory that the network may use.

use core::ffi::c_void;
use core::ptr::null_mut;

use mem::UserMem;

use crate::abi::{self, Mr, mr};
use crate::endpoint::{Endpoint, Refused, close};

/// Memory that the network may use.
#[derive(Debug)]
pub struct Region {
    mr: *mut Mr,
}

impl Region {
    /// What the provider knows it by.
    pub(crate) fn desc(&self) -> *mut c_void {
        // SAFETY: a region that is open.
        unsafe { (*self.mr).mem_desc }
    }

    /// What a peer names it by.
    pub fn key(&self) -> u64 {
        // SAFETY: a region that is open.
        unsafe { (*self.mr).key }
    }
}

impl Endpoint {
    /// Registers memory for `access` (flags of [`crate::abi::flag`]).
    ///
    /// # Errors
    /// [`Refused`]
    pub fn register(&mut self, memory: UserMem, access: u64) -> Result<Region, Refused> {
        let mut mr = null_mut();
        let key = match self.facts.mr_mode & mr::PROV_KEY {
            0 => {
                self.next_key += 1;
                self.next_key
            }
            _ => 0,
        };
        let (base, len) = (memory.address() as *const c_void, memory.len());
        // SAFETY: the caller keeps the memory until the region is closed.
        let rc = unsafe {
            let domain = &raw mut (*self.domain).fid;
            ((*(*self.domain).mr).reg)(domain, base, len, access, 0, key, 0, &mut mr, null_mut())
        };
        if rc != 0 {
            return Err(if rc == -libc::EAGAIN { Refused::Again } else { Refused::Failed(-rc) });
        }
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

    /// Ends what [`Endpoint::register`] began.
    pub fn close(&mut self, region: Option<Region>) {
        if let Some(region) = region {
            // SAFETY: closed once, since the region is consumed.
            unsafe { close(&raw mut (*region.mr).fid) };
        }
    }

    /// A region for memory that this process alone uses, where the provider wants one.
    fn register_local(&mut self, memory: UserMem, access: u64) -> Result<Option<Region>, Refused> {
        if self.facts.mr_mode & mr::LOCAL == 0 || memory.is_empty() {
            return Ok(None);
        }
        self.register(memory, access).map(Some)
    }
}
