//! Fabric, domain, address table, completion queue, endpoint.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ofi::abi::{
    self, Av, AvAttr, AvOps, CmOps, Cq, CqAttr, CqErrEntry, CqOps, CqTaggedEntry, Domain, DomainOps, Ep,
    EpOps, Fabric, FabricAttr, FabricOps, Fid, Info, MrOps, Ops,
};

use crate::endpoint::{ENDPOINTS, MockAv, MockCq, MockEp};
use crate::messages::MESSAGES;
use crate::modes::modes;
use crate::rma::RMA;
use crate::{matching, memory};

const OPS: Ops = Ops { size: size_of::<Ops>(), close, bind: bind_nothing, control: control_nothing };
const EP_FID_OPS: Ops = Ops { size: size_of::<Ops>(), close, bind: bind_ep, control: enable };

fn fid(ops: &'static Ops) -> Fid {
    Fid { class: 0, context: null_mut(), ops }
}

/// Objects of a test are not freed: it checks regions of memory only.
unsafe extern "C" fn close(_fid: *mut Fid) -> c_int {
    0
}

unsafe extern "C" fn bind_nothing(_fid: *mut Fid, _to: *mut Fid, _flags: u64) -> c_int {
    -libc::EINVAL
}

unsafe extern "C" fn control_nothing(_fid: *mut Fid, _command: c_int, _arg: *mut c_void) -> c_int {
    -libc::EINVAL
}

const FABRIC_OPS: FabricOps = FabricOps {
    // A table that ends early: entries behind must not be called.
    size: core::mem::offset_of!(FabricOps, passive_ep),
    domain,
    passive_ep: 0,
    eq_open: 0,
    wait_open: 0,
    trywait: None,
};

const SLEEPING_FABRIC_OPS: FabricOps =
    FabricOps { size: size_of::<FabricOps>(), trywait: Some(trywait), ..FABRIC_OPS };

/// Forbids sleep while there is something; what was rung for is forgotten.
unsafe extern "C" fn trywait(_fabric: *mut Fabric, fids: *mut *mut Fid, count: c_int) -> c_int {
    assert_eq!(count, 1);
    // SAFETY: one of our queues.
    let cq = unsafe { &mut *(*fids).cast::<MockCq>() };
    if !cq.done.is_empty() || !cq.failed.is_empty() {
        return -libc::EAGAIN;
    }
    let mut rung = 0u64;
    // SAFETY: an eventfd of ours, and room for eight bytes.
    unsafe { libc::read(cq.descriptor, (&raw mut rung).cast(), 8) };
    0
}

pub(crate) unsafe extern "C" fn fabric(
    _attr: *mut FabricAttr,
    out: *mut *mut Fabric,
    _context: *mut c_void,
) -> c_int {
    let ops = if modes().sleeps { &SLEEPING_FABRIC_OPS } else { &FABRIC_OPS };
    let fabric = Fabric { fid: fid(&OPS), ops, api_version: abi::version(1, 18) };
    // SAFETY: a place for the answer.
    unsafe { *out = Box::into_raw(Box::new(fabric)) };
    0
}

const DOMAIN_OPS: DomainOps = DomainOps { size: size_of::<DomainOps>(), av_open, cq_open, endpoint };
const MR_OPS: MrOps = MrOps { size: size_of::<MrOps>(), reg: memory::register };

unsafe extern "C" fn domain(
    _fabric: *mut Fabric,
    _info: *mut Info,
    out: *mut *mut Domain,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a place for the answer.
    unsafe { *out = Box::into_raw(Box::new(Domain { fid: fid(&OPS), ops: &DOMAIN_OPS, mr: &MR_OPS })) };
    0
}

const AV_OPS: AvOps = AvOps { size: size_of::<AvOps>(), insert };

unsafe extern "C" fn av_open(
    _domain: *mut Domain,
    attr: *mut AvAttr,
    out: *mut *mut Av,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: attributes that the caller has filled, a place for the answer.
    unsafe {
        assert_eq!(((*attr).kind, (*attr).later), (abi::AV_TABLE, [0; 8]));
        // The first address is not 0, so that an address is not mistaken for a peer.
        let av = MockAv { av: Av { fid: fid(&OPS), ops: &AV_OPS }, table: vec![u64::MAX; 3] };
        *out = Box::into_raw(Box::new(av)).cast();
    }
    0
}

unsafe extern "C" fn insert(
    av: *mut Av,
    name: *const c_void,
    count: usize,
    out: *mut u64,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    assert_eq!(count, 1);
    // SAFETY: one name as `getname` gives it, a place for the answer.
    unsafe {
        let av = &mut *av.cast::<MockAv>();
        av.table.push(name.cast::<u64>().read_unaligned());
        *out = av.table.len() as u64 - 1;
    }
    1
}

const CQ_FID_OPS: Ops = Ops { size: size_of::<Ops>(), close, bind: bind_nothing, control: descriptor_of };

unsafe extern "C" fn descriptor_of(fid: *mut Fid, command: c_int, arg: *mut c_void) -> c_int {
    assert_eq!(command, abi::GETWAIT);
    // SAFETY: one of our queues; a place for the answer.
    unsafe { arg.cast::<c_int>().write((*fid.cast::<MockCq>()).descriptor) };
    0
}

const CQ_OPS: CqOps =
    CqOps { size: size_of::<CqOps>(), read, readfrom, readerr, sread: 0, sreadfrom: 0, signal: 0, strerror };

unsafe extern "C" fn cq_open(
    _domain: *mut Domain,
    attr: *mut CqAttr,
    out: *mut *mut Cq,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: attributes that the caller has filled, a place for the answer.
    unsafe {
        assert_eq!(((*attr).format, (*attr).later), (abi::CQ_FORMAT_TAGGED, [0; 8]));
        if (*attr).wait_obj != abi::WAIT_NONE && !modes().sleeps {
            return -libc::ENOSYS;
        }
        let descriptor = match (*attr).wait_obj {
            abi::WAIT_NONE => -1,
            _ => libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC),
        };
        let cq = MockCq {
            cq: Cq { fid: fid(&CQ_FID_OPS), ops: &CQ_OPS },
            done: VecDeque::new(),
            failed: VecDeque::new(),
            descriptor,
        };
        *out = Box::into_raw(Box::new(cq)).cast();
    }
    0
}

unsafe extern "C" fn read(_cq: *mut Cq, _entries: *mut c_void, _count: usize) -> isize {
    -(libc::ENOSYS as isize)
}

unsafe extern "C" fn readfrom(cq: *mut Cq, entries: *mut c_void, count: usize, from: *mut u64) -> isize {
    // SAFETY: one of our queues; room for `count` entries and senders.
    unsafe {
        let cq = &mut *cq.cast::<MockCq>();
        if !cq.failed.is_empty() {
            return -abi::EAVAIL;
        }
        let taken = cq.done.len().min(count);
        for (n, (entry, sender)) in cq.done.drain(..taken).enumerate() {
            entries.cast::<CqTaggedEntry>().add(n).write(entry);
            from.add(n).write(sender);
        }
        if taken == 0 { -(libc::EAGAIN as isize) } else { taken as isize }
    }
}

unsafe extern "C" fn readerr(cq: *mut Cq, out: *mut CqErrEntry, _flags: u64) -> isize {
    // SAFETY: one of our queues; room for an entry.
    unsafe {
        let cq = &mut *cq.cast::<MockCq>();
        let Some((entry, error)) = cq.failed.pop_front() else { return -(libc::EAGAIN as isize) };
        let out = &mut *out;
        (out.op_context, out.len, out.tag, out.data, out.err) =
            (entry.op_context, entry.len, entry.tag, entry.data, error);
    }
    1
}

unsafe extern "C" fn strerror(
    _cq: *mut Cq,
    _error: c_int,
    _data: *const c_void,
    _buffer: *mut c_char,
    _len: usize,
) -> *const c_char {
    c"the mock refuses".as_ptr()
}

const EP_OPS: EpOps = EpOps { size: size_of::<EpOps>(), cancel: matching::cancel };
const CM_OPS: CmOps = CmOps { size: size_of::<CmOps>(), setname: 0, getname };

unsafe extern "C" fn endpoint(
    _domain: *mut Domain,
    _info: *mut Info,
    out: *mut *mut Ep,
    _context: *mut c_void,
) -> c_int {
    let index = ENDPOINTS.with_borrow(Vec::len) as u64;
    let ep = MockEp {
        ep: Ep {
            fid: fid(&EP_FID_OPS),
            ops: &EP_OPS,
            cm: &CM_OPS,
            msg: &MESSAGES,
            rma: &RMA,
            tagged: &matching::TAGGED,
        },
        index,
        av: null_mut(),
        cq: null_mut(),
        enabled: false,
        contexts: BTreeSet::new(),
        posted: Vec::new(),
        unexpected: VecDeque::new(),
        claimed: BTreeMap::new(),
        rooms: VecDeque::new(),
        early: VecDeque::new(),
    };
    let ep = Box::into_raw(Box::new(ep));
    ENDPOINTS.with_borrow_mut(|all| all.push(ep));
    // SAFETY: a place for the answer.
    unsafe { *out = ep.cast() };
    0
}

unsafe extern "C" fn bind_ep(fid: *mut Fid, to: *mut Fid, flags: u64) -> c_int {
    // SAFETY: an endpoint; a queue is bound for sends and receives, a table for nothing.
    let ep = unsafe { &mut *fid.cast::<MockEp>() };
    match flags {
        0 => ep.av = to.cast(),
        _ => ep.cq = to.cast(),
    }
    0
}

unsafe extern "C" fn enable(fid: *mut Fid, command: c_int, _arg: *mut c_void) -> c_int {
    // SAFETY: an endpoint.
    let ep = unsafe { &mut *fid.cast::<MockEp>() };
    assert_eq!(command, abi::ENABLE);
    assert!(!ep.av.is_null() && !ep.cq.is_null(), "an endpoint is bound before it is enabled");
    ep.enabled = true;
    0
}

unsafe extern "C" fn getname(fid: *mut Fid, name: *mut c_void, len: *mut usize) -> c_int {
    // SAFETY: an endpoint; room for `*len` bytes.
    unsafe {
        let ep = &*fid.cast::<MockEp>();
        assert!(ep.enabled);
        if *len < size_of::<u64>() {
            *len = size_of::<u64>();
            return -libc::ENOSPC;
        }
        name.cast::<u64>().write_unaligned(ep.index);
    }
    0
}
