//! Tagged messages.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

use ofi::abi::{self, CqTaggedEntry, Ep, Fid, MsgTagged, TaggedOps, flag, mode};

use crate::endpoint::{MockEp, Posted, Runs, Unexpected, endpoint, own};
use crate::modes::{modes, refuses};

pub(crate) const TAGGED: TaggedOps = TaggedOps {
    size: size_of::<TaggedOps>(),
    recv,
    recvv: 0,
    recvmsg,
    send,
    sendv: 0,
    sendmsg: 0,
    inject,
    senddata,
    injectdata,
};

pub(crate) const AGAIN: isize = -(libc::EAGAIN as isize);

fn takes(from: Option<u64>, tag: u64, ignore: u64, message: &Unexpected) -> bool {
    from.is_none_or(|from| from == message.from) && (tag ^ message.tag) & !ignore == 0
}

impl MockEp {
    /// An operation begins; its context is the provider's until its completion.
    pub(crate) fn begin(&mut self, context: *mut c_void) {
        assert!(self.contexts.insert(context as usize), "a context that is in use");
        let words = match modes().mode {
            all if all & mode::CONTEXT2 != 0 => 8,
            all if all & mode::CONTEXT != 0 => 4,
            _ => 0,
        };
        for n in 0..words {
            // SAFETY: the user has promised so much memory behind the context.
            unsafe { context.cast::<u64>().add(n).write(0xdead_beef) };
        }
    }

    fn entry(&mut self, context: *mut c_void, len: usize, data: u64, tag: u64) -> CqTaggedEntry {
        assert!(self.contexts.remove(&(context as usize)), "an operation that is under way");
        CqTaggedEntry { op_context: context, flags: 0, len, buf: null_mut(), data, tag }
    }

    pub(crate) fn done(&mut self, context: *mut c_void, len: usize, data: u64, tag: u64, from: Option<u64>) {
        let entry = self.entry(context, len, data, tag);
        // SAFETY: bound objects live as long as the endpoint.
        let (cq, av) = unsafe { (&mut *self.cq, &*self.av) };
        let address = from.and_then(|from| av.table.iter().position(|&name| name == from));
        cq.done.push_back((entry, address.map_or(abi::ADDR_UNSPEC, |address| address as u64)));
        cq.ring();
    }

    pub(crate) fn failed(&mut self, context: *mut c_void, len: usize, data: u64, tag: u64, error: c_int) {
        let entry = self.entry(context, len, data, tag);
        // SAFETY: as above.
        let cq = unsafe { &mut *self.cq };
        cq.failed.push_back((entry, error));
        cq.ring();
    }

    fn store(&mut self, message: Unexpected, runs: &Runs, context: *mut c_void) {
        let Unexpected { from, tag, data, bytes } = message;
        let mut stored = 0;
        for &(base, len) in runs {
            let part = len.min(bytes.len() - stored);
            // SAFETY: memory of the receive, checked when it was posted.
            unsafe { core::ptr::copy(bytes[stored..].as_ptr(), base as *mut u8, part) };
            stored += part;
        }
        if bytes.len() > stored {
            assert_eq!(modes().runs, 1, "a message longer than its receive ends the connection");
            self.failed(context, stored, data, tag, abi::ETRUNC);
        } else {
            self.done(context, stored, data, tag, Some(from));
        }
    }

    pub(crate) fn name_of(&self, address: u64) -> Option<u64> {
        // SAFETY: a bound table.
        let table = unsafe { &(*self.av).table };
        (address != abi::ADDR_UNSPEC).then(|| *table.get(address as usize).expect("an address of the table"))
    }

    fn arrive(&mut self, message: Unexpected) {
        let place =
            self.posted.iter().position(|posted| takes(posted.from, posted.tag, posted.ignore, &message));
        match place {
            Some(place) => {
                let Posted { runs, context, .. } = self.posted.remove(place);
                self.store(message, &runs, context);
            }
            None => self.unexpected.push_back(message),
        }
    }
}

fn launch(ep: *mut Ep, base: *const c_void, len: usize, data: u64, to: u64, tag: u64) {
    let own = own(ep);
    assert_eq!(
        tag & !(u64::MAX >> modes().tag_format.leading_zeros()),
        0,
        "bits of the tag that are not the user's"
    );
    let name = own.name_of(to).expect("a receiver");
    let mut bytes = vec![0; len];
    // SAFETY: memory of the send, as long as the copy; no bytes, no memory.
    unsafe { core::ptr::copy(base.cast::<u8>(), bytes.as_mut_ptr(), len) };
    let data = if modes().data_bytes == 4 { data & u64::from(u32::MAX) } else { data };
    let message = Unexpected { from: own.index, tag, data, bytes };
    endpoint(name).arrive(message);
}

unsafe extern "C" fn send(
    ep: *mut Ep,
    base: *const c_void,
    len: usize,
    desc: *mut c_void,
    to: u64,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the same arguments.
    unsafe { senddata(ep, base, len, desc, 0, to, tag, context) }
}

unsafe extern "C" fn senddata(
    ep: *mut Ep,
    base: *const c_void,
    len: usize,
    desc: *mut c_void,
    data: u64,
    to: u64,
    tag: u64,
    context: *mut c_void,
) -> isize {
    if refuses() {
        return AGAIN;
    }
    own(ep).check_local(base as usize, len, desc, flag::SEND);
    own(ep).begin(context);
    launch(ep, base, len, data, to, tag);
    own(ep).done(context, 0, 0, 0, None);
    0
}

unsafe extern "C" fn inject(ep: *mut Ep, base: *const c_void, len: usize, to: u64, tag: u64) -> isize {
    // SAFETY: the same arguments.
    unsafe { injectdata(ep, base, len, 0, to, tag) }
}

unsafe extern "C" fn injectdata(
    ep: *mut Ep,
    base: *const c_void,
    len: usize,
    data: u64,
    to: u64,
    tag: u64,
) -> isize {
    assert!(len <= modes().inject, "{len} bytes are too long to inject");
    if refuses() {
        return AGAIN;
    }
    launch(ep, base, len, data, to, tag);
    0
}

unsafe extern "C" fn recv(
    ep: *mut Ep,
    base: *mut c_void,
    len: usize,
    desc: *mut c_void,
    from: u64,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    if refuses() {
        return AGAIN;
    }
    let own = own(ep);
    own.check_local(base as usize, len, desc, flag::RECV);
    own.begin(context);
    let from = own.name_of(from);
    match own.unexpected.iter().position(|message| takes(from, tag, ignore, message)) {
        Some(place) => {
            let message = own.unexpected.remove(place).expect("it was found");
            own.store(message, &vec![(base as usize, len)], context);
        }
        None => own.posted.push(Posted { from, tag, ignore, runs: vec![(base as usize, len)], context }),
    }
    0
}

unsafe extern "C" fn recvmsg(ep: *mut Ep, message: *const MsgTagged, flags: u64) -> isize {
    if refuses() {
        return AGAIN;
    }
    let own = own(ep);
    let mut runs = Runs::new();
    // SAFETY: a description that lives during the call, with as many runs of memory and descriptions as it states.
    let message = unsafe { &*message };
    assert!(message.iov_count <= modes().runs, "more runs than a receive may name");
    for run in 0..message.iov_count {
        // SAFETY: as above.
        let (iov, desc) = unsafe { (*message.iov.add(run), *message.desc.add(run)) };
        own.check_local(iov.base as usize, iov.len, desc, flag::RECV);
        runs.push((iov.base as usize, iov.len));
    }
    let MsgTagged { addr, tag, ignore, context, .. } = *message;
    own.begin(context);
    if flags & flag::CLAIM != 0 && flags & flag::PEEK == 0 {
        let message = own.claimed.remove(&(context as usize)).expect("the context of a claim");
        own.store(message, &runs, context);
        return 0;
    }
    let from = own.name_of(addr);
    let found = own.unexpected.iter().position(|message| takes(from, tag, ignore, message));
    if flags & flag::PEEK == 0 {
        match found {
            Some(place) => {
                let message = own.unexpected.remove(place).expect("it was found");
                own.store(message, &runs, context);
            }
            None => own.posted.push(Posted { from, tag, ignore, runs, context }),
        }
        return 0;
    }
    match found {
        None => own.failed(context, 0, 0, tag, libc::ENOMSG),
        Some(place) => {
            let Unexpected { from, tag, data, ref bytes } = own.unexpected[place];
            let len = bytes.len();
            own.done(context, len, data, tag, Some(from));
            if flags & flag::CLAIM != 0 {
                let message = own.unexpected.remove(place).expect("it was found");
                own.claimed.insert(context as usize, message);
            }
        }
    }
    0
}

pub(crate) unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    let own = own(fid.cast());
    if let Some(place) = own.posted.iter().position(|posted| posted.context == context) {
        own.posted.remove(place);
        own.failed(context, 0, 0, 0, libc::ECANCELED);
    }
    0
}
