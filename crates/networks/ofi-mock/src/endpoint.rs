//! The state of endpoints, their queues and address tables.

use core::ffi::{c_int, c_void};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ofi::abi::{Av, Cq, CqTaggedEntry, Ep};

thread_local! {
    /// All endpoints of this thread, by index. Never freed.
    pub(crate) static ENDPOINTS: RefCell<Vec<*mut MockEp>> = const { RefCell::new(Vec::new()) };
}

/// The endpoint with this address.
pub(crate) fn endpoint(index: u64) -> &'static mut MockEp {
    let found = ENDPOINTS.with_borrow(|all| all.get(index as usize).copied());
    // SAFETY: endpoints are never freed; all run by turns in one thread, and no call here is inside another.
    unsafe { &mut *found.expect("an endpoint's address") }
}

/// The user's endpoint.
pub(crate) fn own(ep: *mut Ep) -> &'static mut MockEp {
    // SAFETY: one of our endpoints, which are never freed; no call is inside another.
    unsafe { &mut *ep.cast::<MockEp>() }
}

#[repr(C)]
pub(crate) struct MockEp {
    pub(crate) ep: Ep,
    pub(crate) index: u64,
    pub(crate) av: *mut MockAv,
    pub(crate) cq: *mut MockCq,
    pub(crate) enabled: bool,
    /// Contexts of operations under way.
    pub(crate) contexts: BTreeSet<usize>,
    pub(crate) posted: Vec<Posted>,
    pub(crate) unexpected: VecDeque<Unexpected>,
    /// Unexpected messages that a claim holds, by context.
    pub(crate) claimed: BTreeMap<usize, Unexpected>,
    /// Receives for messages without a tag, oldest first.
    pub(crate) rooms: VecDeque<PostedRoom>,
    /// Messages without a tag that no receive was there for.
    pub(crate) early: VecDeque<(u64, Vec<u8>)>,
}

#[repr(C)]
pub(crate) struct MockAv {
    pub(crate) av: Av,
    /// Endpoints by address.
    pub(crate) table: Vec<u64>,
}

#[repr(C)]
pub(crate) struct MockCq {
    pub(crate) cq: Cq,
    pub(crate) done: VecDeque<(CqTaggedEntry, u64)>,
    pub(crate) failed: VecDeque<(CqTaggedEntry, c_int)>,
    /// Readable while there may be something; -1: there is none.
    pub(crate) descriptor: c_int,
}

impl MockCq {
    /// Makes the descriptor readable.
    pub(crate) fn ring(&mut self) {
        if self.descriptor >= 0 {
            // SAFETY: an eventfd of ours, and eight bytes.
            unsafe { libc::write(self.descriptor, (&raw const ONE).cast(), 8) };
        }
    }
}

/// What rings an eventfd.
static ONE: u64 = 1;

/// A receive without a message.
pub(crate) struct Posted {
    /// The endpoint that is to send; `None`: any.
    pub(crate) from: Option<u64>,
    pub(crate) tag: u64,
    pub(crate) ignore: u64,
    pub(crate) runs: Runs,
    pub(crate) context: *mut c_void,
}

/// Where a message goes: address and length of each run.
pub(crate) type Runs = Vec<(usize, usize)>;

/// A message without a receive.
pub(crate) struct Unexpected {
    pub(crate) from: u64,
    pub(crate) tag: u64,
    pub(crate) data: u64,
    pub(crate) bytes: Vec<u8>,
}

/// A receive for whatever message is next.
pub(crate) struct PostedRoom {
    pub(crate) base: usize,
    pub(crate) len: usize,
    pub(crate) context: *mut c_void,
}
