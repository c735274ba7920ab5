//! Regions of memory, and what is asked of their user.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use ofi::abi::{self, Fid, Mr, Ops, mr};

use crate::endpoint::MockEp;
use crate::modes::modes;

#[repr(C)]
pub(crate) struct MockMr {
    mr: Mr,
    base: usize,
    len: usize,
    access: u64,
    /// The endpoint that it was bound to.
    bound: *mut Fid,
    enabled: bool,
}

thread_local! {
    static REGIONS: RefCell<BTreeMap<u64, *mut MockMr>> = const { RefCell::new(BTreeMap::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0x1000) };
}

const OPS: Ops = Ops { size: size_of::<Ops>(), close, bind, control };

#[allow(clippy::too_many_arguments, reason = "the arguments of fi_mr_reg")]
pub(crate) unsafe extern "C" fn register(
    _domain: *mut Fid,
    base: *const c_void,
    len: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
    out: *mut *mut Mr,
    _context: *mut c_void,
) -> c_int {
    assert_eq!((offset, flags), (0, 0));
    assert!(len > 0, "a region without memory");
    assert!(modes().key_bytes >= 8 || key >> (8 * modes().key_bytes) == 0, "a key that is too long");
    let key = match modes().mr_mode & mr::PROV_KEY {
        0 if REGIONS.with_borrow(|all| all.contains_key(&key)) => return -abi::ENOKEY,
        0 => key,
        _ => {
            assert_eq!(key, 0, "the provider chooses keys");
            NEXT.set(NEXT.get() + 7);
            NEXT.get()
        }
    };
    let fid = Fid { class: 0, context: null_mut(), ops: &OPS };
    let desc = (key << 1 | 1) as *mut c_void;
    let bound = modes().mr_mode & mr::ENDPOINT == 0;
    let region = MockMr {
        mr: Mr { fid, mem_desc: desc, key },
        base: base as usize,
        len,
        access,
        bound: null_mut(),
        enabled: bound,
    };
    let region = Box::into_raw(Box::new(region));
    let before = REGIONS.with_borrow_mut(|all| all.insert(key, region));
    assert!(before.is_none(), "key {key} is in use");
    // SAFETY: a place for the answer.
    unsafe { *out = region.cast() };
    0
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: a region, closed once.
    let region = unsafe { Box::from_raw(fid.cast::<MockMr>()) };
    let open = REGIONS.with_borrow_mut(|all| all.remove(&region.mr.key));
    assert!(open.is_some(), "a region is closed once");
    0
}

unsafe extern "C" fn bind(fid: *mut Fid, to: *mut Fid, _flags: u64) -> c_int {
    assert_ne!(modes().mr_mode & mr::ENDPOINT, 0, "regions of this provider are bound to nothing");
    // SAFETY: a region that is open.
    unsafe { (*fid.cast::<MockMr>()).bound = to };
    0
}

unsafe extern "C" fn control(fid: *mut Fid, _command: c_int, _arg: *mut c_void) -> c_int {
    // SAFETY: a region that is open.
    let region = unsafe { &mut *fid.cast::<MockMr>() };
    assert!(!region.bound.is_null(), "a region is bound before it is enabled");
    region.enabled = true;
    0
}

/// Regions that are open on this thread.
pub fn open_regions() -> usize {
    REGIONS.with_borrow(BTreeMap::len)
}

impl MockEp {
    /// Checks that the user may hand over this memory with this description.
    pub(crate) fn check_local(&mut self, base: usize, len: usize, desc: *mut c_void, access: u64) {
        if modes().mr_mode & mr::LOCAL == 0 || len == 0 {
            return;
        }
        let key = desc as u64 >> 1;
        assert_ne!(desc as u64, 0, "memory without a region");
        assert!(self.covers(key, base as u64, len, access), "memory outside its region");
    }

    /// Where the bytes are that a peer names by this key and address, if it may use them so.
    pub(crate) fn place(&mut self, key: u64, address: u64, len: usize, access: u64) -> Option<usize> {
        let start = match modes().mr_mode & mr::VIRT_ADDR {
            // SAFETY: an open region.
            0 => REGIONS.with_borrow(|all| all.get(&key).map(|&region| unsafe { (*region).base }))?,
            _ => 0,
        };
        let address = address.checked_add(start as u64)?;
        self.covers(key, address, len, access).then_some(address as usize)
    }

    /// Whether a region with this key may be used so by this endpoint.
    fn covers(&mut self, key: u64, address: u64, len: usize, access: u64) -> bool {
        let Some(region) = REGIONS.with_borrow(|all| all.get(&key).copied()) else { return false };
        // SAFETY: an open region.
        let region = unsafe { &*region };
        let inside = region.base as u64 <= address
            && address.saturating_add(len as u64) <= (region.base + region.len) as u64;
        let here = region.bound.is_null() || region.bound == (&raw mut self.ep.fid);
        inside && here && region.enabled && region.access & access == access
    }
}
