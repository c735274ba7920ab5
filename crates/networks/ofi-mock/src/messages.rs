//! Messages without a tag.

use core::ffi::c_void;

use ofi::abi::{self, Ep, Msg, MsgOps, flag};

use crate::endpoint::{MockEp, PostedRoom, endpoint, own};
use crate::matching::AGAIN;
use crate::modes::{modes, refuses};

pub(crate) const MESSAGES: MsgOps =
    MsgOps { size: size_of::<MsgOps>(), recv, recvv: 0, recvmsg: 0, send, sendv: 0, sendmsg };

impl MockEp {
    /// The next receive takes the next message, as long as there are both.
    fn deliver(&mut self) {
        while !self.rooms.is_empty()
            && let Some((from, bytes)) = self.early.pop_front()
        {
            let Some(PostedRoom { base, len, context }) = self.rooms.pop_front() else { return };
            let stored = bytes.len().min(len);
            // SAFETY: memory of the receive, checked when it was posted.
            unsafe { core::ptr::copy(bytes.as_ptr(), base as *mut u8, stored) };
            if bytes.len() > len {
                self.failed(context, stored, 0, 0, abi::ETRUNC);
            } else {
                self.done(context, stored, 0, 0, Some(from));
            }
        }
    }
}

/// Messages that wait for a receive at one endpoint.
const EARLY: usize = 16;

/// Whether there is room at the receiver.
fn has_room(ep: *mut Ep, to: u64) -> bool {
    let name = own(ep).name_of(to).expect("a receiver");
    endpoint(name).early.len() < EARLY
}

fn launch(ep: *mut Ep, base: *const c_void, len: usize, to: u64) {
    assert!(len <= modes().max_message, "{len} bytes are too long a message");
    let own = own(ep);
    let (from, name) = (own.index, own.name_of(to).expect("a receiver"));
    let mut bytes = vec![0; len];
    // SAFETY: memory of the send, as long as the copy.
    unsafe { core::ptr::copy(base.cast::<u8>(), bytes.as_mut_ptr(), len) };
    let target = endpoint(name);
    target.early.push_back((from, bytes));
    target.deliver();
}

unsafe extern "C" fn send(
    ep: *mut Ep,
    base: *const c_void,
    len: usize,
    desc: *mut c_void,
    to: u64,
    context: *mut c_void,
) -> isize {
    if refuses() || !has_room(ep, to) {
        return AGAIN;
    }
    own(ep).check_local(base as usize, len, desc, flag::SEND);
    own(ep).begin(context);
    launch(ep, base, len, to);
    own(ep).done(context, 0, 0, 0, None);
    0
}

unsafe extern "C" fn sendmsg(ep: *mut Ep, message: *const Msg, flags: u64) -> isize {
    if refuses() {
        return AGAIN;
    }
    assert_eq!(flags, flag::INJECT | flag::COMPLETION);
    // SAFETY: a description that lives during the call, with one run of memory.
    let (message, run) = unsafe { (&*message, &*(*message).iov) };
    assert_eq!(message.iov_count, 1);
    assert!(run.len <= modes().inject, "{} bytes are too long to inject", run.len);
    if !has_room(ep, message.addr) {
        return AGAIN;
    }
    own(ep).begin(message.context);
    launch(ep, run.base, run.len, message.addr);
    own(ep).done(message.context, 0, 0, 0, None);
    0
}

unsafe extern "C" fn recv(
    ep: *mut Ep,
    base: *mut c_void,
    len: usize,
    desc: *mut c_void,
    from: u64,
    context: *mut c_void,
) -> isize {
    if refuses() {
        return AGAIN;
    }
    assert_eq!(from, abi::ADDR_UNSPEC);
    let own = own(ep);
    own.check_local(base as usize, len, desc, flag::RECV);
    own.begin(context);
    own.rooms.push_back(PostedRoom { base: base as usize, len, context });
    assert!(own.rooms.len() <= modes().depth.1, "more receives than the endpoint holds");
    own.deliver();
    0
}
