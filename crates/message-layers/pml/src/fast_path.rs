//! The fast paths of short messages.

use abi::Status;
use btl::{Btl, Peer, Route};
use mem::UserMem;

use crate::{MessageLayer, Origin, Pattern, ReqId, SendTo};

/// What [`FastMessages::send_short`] did.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The message is sent.
    Awake,
    /// The message is sent. The receiver seems to sleep: [`btl::FastPath::wake`] is to be called with this.
    Asleep(Route),
    /// Nothing was done; there is no room as far as is known, and [`btl::FastPath::finds_room`] may know better.
    Full(Route),
    /// Nothing was done.
    Refused,
}

/// One attempt at what usually succeeds: a message that leaves at once, a message that is here. No request, no
/// allocation.
///
/// Each may refuse for any reason, and then nothing was done: the caller goes on with [`MessageLayer`]. So a layer
/// without fast paths implements none of these. The order of messages and receives is kept, whichever way each goes.
/// Implementations inline what has `status` or [`Origin`] among its arguments, since those calls are the whole of
/// `MPI_Send` and `MPI_Recv`.
pub trait FastMessages<B: Btl>: MessageLayer<B> {
    /// Sends a message of at most [`btl::SHORT`] bytes. What is rare (waking the receiver, looking for room) is left to
    /// the caller, which by then has nothing to remember.
    #[inline(always)]
    fn send_short(&mut self, _btl: &mut B, _to: Peer, _origin: Origin, _tag: i32, _data: UserMem) -> Sent {
        Sent::Refused
    }

    /// Sends a message of any length in one frame. `false`: it is too long for that, payload is refused, there is no
    /// room, or others wait for room.
    #[inline(always)]
    fn send_now(&mut self, _btl: &mut B, _to: &SendTo, _data: UserMem) -> bool {
        false
    }

    /// As [`FastMessages::send_now`], for messages that must be copied in any case: an offer would only copy them once
    /// more, as long as they fit in one frame.
    fn send_copied_now(&mut self, _btl: &mut B, _to: &SendTo, _data: UserMem) -> bool {
        false
    }

    /// Receives a short message that `pattern` names exactly (no wildcard) and that is here. Returns its length.
    ///
    /// The status is filled here, since a caller that fills it later must remember what with.
    #[inline(always)]
    fn recv_short(
        &mut self,
        _btl: &mut B,
        _pattern: &Pattern,
        _into: UserMem,
        _status: Option<&mut Status>,
    ) -> Option<usize> {
        None
    }

    /// As [`FastMessages::recv_short`], polling up to `polls` times for a message that is not here yet.
    #[inline(always)]
    fn recv_within(
        &mut self,
        _btl: &mut B,
        _pattern: &Pattern,
        _into: UserMem,
        _status: Option<&mut Status>,
        _polls: u32,
    ) -> Option<usize> {
        None
    }

    /// As [`FastMessages::recv_short`], for a message that is kept, because it came before its receive.
    #[inline(always)]
    fn recv_kept(
        &mut self,
        _btl: &mut B,
        _pattern: &Pattern,
        _into: UserMem,
        _status: Option<&mut Status>,
    ) -> Option<usize> {
        None
    }

    /// As [`FastMessages::recv_short`], for a message of any length that came with its payload, of any mode.
    #[inline(always)]
    fn recv_longer(
        &mut self,
        _btl: &mut B,
        _pattern: &Pattern,
        _into: UserMem,
        _status: Option<&mut Status>,
    ) -> Option<usize> {
        None
    }

    /// Starts a receive without wildcards: takes its message if that is here, else queues the receive.
    #[inline(always)]
    fn irecv_now(&mut self, _btl: &mut B, _pattern: &Pattern, _into: UserMem) -> Option<ReqId> {
        None
    }
}
