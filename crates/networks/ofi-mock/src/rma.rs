//! Reads and writes of another endpoint's memory.

use core::ffi::c_void;

use ofi::abi::{Ep, MsgRma, RmaOps, flag};

use crate::endpoint::{endpoint, own};
use crate::matching::AGAIN;
use crate::modes::{modes, refuses};

pub(crate) const RMA: RmaOps =
    RmaOps { size: size_of::<RmaOps>(), read, readv: 0, readmsg: 0, write: 0, writev: 0, writemsg };

/// Where the bytes are that a key and an address name at the endpoint `to`; `None`: that is refused.
fn remote(ep: *mut Ep, to: u64, (address, key): (u64, u64), len: usize, access: u64) -> Option<usize> {
    assert!(len <= modes().max_message, "{len} bytes are too long a transfer");
    assert_ne!(modes().caps & flag::RMA, 0, "this provider has no RMA");
    let name = own(ep).name_of(to).expect("an owner");
    endpoint(name).place(key, address, len, access)
}

unsafe extern "C" fn read(
    ep: *mut Ep,
    base: *mut c_void,
    len: usize,
    desc: *mut c_void,
    of: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    if refuses() {
        return AGAIN;
    }
    own(ep).check_local(base as usize, len, desc, flag::READ);
    own(ep).begin(context);
    match remote(ep, of, (address, key), len, flag::REMOTE_READ) {
        Some(from) => {
            // SAFETY: memory of an open region, and memory of the operation.
            unsafe { core::ptr::copy(from as *const u8, base.cast(), len) };
            own(ep).done(context, 0, 0, 0, None);
        }
        None => own(ep).failed(context, 0, 0, 0, libc::EACCES),
    }
    0
}

unsafe extern "C" fn writemsg(ep: *mut Ep, message: *const MsgRma, flags: u64) -> isize {
    if refuses() {
        return AGAIN;
    }
    assert_eq!(flags, flag::COMPLETION | flag::DELIVERY_COMPLETE, "a write must be in place at its end");
    assert_ne!(modes().caps & flag::DELIVERY_COMPLETE, 0, "this provider has no such flag");
    // SAFETY: a description that lives during the call, with one run of memory on each side.
    let (message, run, theirs, desc) =
        unsafe { (&*message, &*(*message).iov, &*(*message).rma_iov, *(*message).desc) };
    assert_eq!((message.iov_count, message.rma_iov_count, theirs.len), (1, 1, run.len));
    own(ep).check_local(run.base as usize, run.len, desc, flag::WRITE);
    own(ep).begin(message.context);
    match remote(ep, message.addr, (theirs.addr, theirs.key), run.len, flag::REMOTE_WRITE) {
        Some(into) => {
            // SAFETY: as in `read`.
            unsafe { core::ptr::copy(run.base.cast::<u8>(), into as *mut u8, run.len) };
            own(ep).done(message.context, 0, 0, 0, None);
        }
        None => own(ep).failed(message.context, 0, 0, 0, libc::EACCES),
    }
    0
}
