//! The contract of a message layer, as this one keeps it.

use abi::{Result, Status};
use btl::{Arrival, FastPath, Peer};
use mem::UserMem;
use pml::{
    Counters, Data, Done, FastMessages, MessageId, MessageLayer, Mode, Notice, Origin, Pattern, ReqId,
    SendTo, Sent,
};

use crate::Ob1;

impl<B: FastPath> MessageLayer<B> for Ob1 {
    fn isend(&mut self, btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        Ob1::isend(self, btl, to, data, mode)
    }

    fn begin_send(&mut self, btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        Ob1::begin_send(self, btl, to, data, mode)
    }

    fn needs_poll(&mut self, to: Peer, data: &Data, copied: bool) -> bool {
        Ob1::needs_poll(self, to, data, copied)
    }

    fn irecv(&mut self, btl: &mut B, pattern: &Pattern, into: Data) -> Result<ReqId> {
        Ob1::irecv(self, btl, pattern, into)
    }

    fn recv_now(&mut self, btl: &mut B, pattern: &Pattern, into: UserMem) -> Option<Done> {
        Ob1::recv_now(self, btl, pattern, into)
    }

    fn accept_for(
        &mut self,
        btl: &mut B,
        arrival: &Arrival,
        pattern: &Pattern,
        into: UserMem,
    ) -> Option<Done> {
        Ob1::accept_for(self, btl, arrival, pattern, into)
    }

    fn iprobe(&mut self, btl: &mut B, pattern: &Pattern) -> Option<Status> {
        Ob1::iprobe(self, btl, pattern)
    }

    fn improbe(&mut self, btl: &mut B, pattern: &Pattern) -> Result<Option<(MessageId, Status)>> {
        Ob1::improbe(self, btl, pattern)
    }

    fn imrecv(&mut self, btl: &mut B, message: MessageId, owner: u32, into: Data) -> Result<ReqId> {
        Ob1::imrecv(self, btl, message, owner, into)
    }

    fn cancel(&mut self, btl: &mut B, id: ReqId) {
        Ob1::cancel(self, btl, id);
    }

    fn detach(&mut self, id: ReqId) {
        Ob1::detach(self, id);
    }

    fn poll(&self, id: ReqId) -> Option<&Done> {
        Ob1::poll(self, id)
    }

    fn is_complete(&self, id: ReqId) -> Option<bool> {
        Ob1::is_complete(self, id)
    }

    fn take(&mut self, id: ReqId) -> Option<Done> {
        Ob1::take(self, id)
    }

    fn take_awaited(&mut self, btl: &mut B, id: ReqId, polls: u32) -> Option<Done> {
        Ob1::take_awaited(self, btl, id, polls)
    }

    fn peer_lost(&mut self, btl: &mut B, peer: Peer) {
        Ob1::peer_lost(self, btl, peer);
    }

    fn next_lost(&mut self) -> Option<Peer> {
        Ob1::next_lost(self)
    }

    fn idle(&self) -> bool {
        Ob1::idle(self)
    }

    fn is_quiet(&self) -> bool {
        Ob1::is_quiet(self)
    }

    fn waits_for_room(&self) -> bool {
        Ob1::waits_for_room(self)
    }

    fn needs_turn(&self) -> bool {
        Ob1::needs_turn(self)
    }

    fn changes(&self) -> u32 {
        Ob1::changes(self)
    }

    fn counters(&self) -> Counters {
        Ob1::counters(self)
    }

    fn restart_peak(&mut self) {
        Ob1::restart_peak(self);
    }

    fn note_unexpected(&mut self, wanted: bool) {
        Ob1::note_unexpected(self, wanted);
    }

    fn has_notices(&self) -> bool {
        Ob1::has_notices(self)
    }

    fn next_notice(&mut self) -> Option<Notice> {
        Ob1::next_notice(self)
    }
}

impl<B: FastPath> FastMessages<B> for Ob1 {
    #[inline(always)]
    fn send_short(&mut self, btl: &mut B, to: Peer, origin: Origin, tag: i32, data: UserMem) -> Sent {
        Ob1::send_short(self, btl, to, origin, tag, data)
    }

    #[inline(always)]
    fn send_now(&mut self, btl: &mut B, to: &SendTo, data: UserMem) -> bool {
        Ob1::send_now(self, btl, to, data)
    }

    fn send_copied_now(&mut self, btl: &mut B, to: &SendTo, data: UserMem) -> bool {
        Ob1::send_copied_now(self, btl, to, data)
    }

    #[inline(always)]
    fn recv_short(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        Ob1::recv_short(self, btl, pattern, into, status)
    }

    #[inline(always)]
    fn recv_within(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
        polls: u32,
    ) -> Option<usize> {
        Ob1::recv_within(self, btl, pattern, into, status, polls)
    }

    #[inline(always)]
    fn recv_kept(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        Ob1::recv_kept(self, btl, pattern, into, status)
    }

    #[inline(always)]
    fn recv_longer(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        Ob1::recv_longer(self, btl, pattern, into, status)
    }

    #[inline(always)]
    fn irecv_now(&mut self, btl: &mut B, pattern: &Pattern, into: UserMem) -> Option<ReqId> {
        Ob1::irecv_now(self, btl, pattern, into)
    }
}
