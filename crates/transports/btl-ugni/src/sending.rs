//! Sending messages: inline where they fit, by Eager GET above; what happens when they have left.

use crate::connections::State;
use crate::transport::Ugni;
use btl::{Busy, Peer};
use gni::{Clock, CqFault, Ep, Gni};
use mem::{Source, UserMem};
use rdma::Control;
use rdma::wire::{self, Head};

/// The `msg_id` of messages that nothing waits for.
const UNAWAITED: u32 = u32::MAX;

impl<N: Gni, C: Clock> Ugni<N, C> {
    #[inline]
    pub(crate) fn send_message<S: Source>(
        &mut self,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let connection = match self.connections.of(peer) {
            Some(connection) => connection,
            None => self.connection_to(peer).ok_or(Busy)?,
        };
        let entry = self.connections.get(connection);
        if entry.state != State::Connected {
            self.connect(connection);
            return Err(Busy);
        }
        // What was accepted before goes first.
        if !entry.waiting.is_empty() {
            return Err(Busy);
        }
        let (ep, boxed) = (entry.messages, entry.boxed);
        let len = payload.remaining();
        let head = Head::send(self.own_number(boxed), header, len);
        let limit = if boxed { self.plan.mailbox_limit } else { self.plan.smsg_limit };
        if head.as_bytes().len() + len > limit {
            self.send_by_get(connection, header, payload)?;
            if !boxed {
                self.note_queued(connection);
            }
            return Ok(());
        }
        self.send_short((ep, boxed), head.as_bytes(), payload, UNAWAITED, wire::SEND)?;
        if boxed {
            self.stats.smsg_sends += 1;
        } else {
            self.stats.msgq_sends += 1;
            self.note_queued(connection);
        }
        self.stats.copies += u64::from(len > 0);
        self.stats.copied_bytes += len as u64;
        Ok(())
    }

    /// Looks whether room has come back, and tries again.
    #[cold]
    pub(crate) fn send_once_more<S: Source>(
        &mut self,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        self.take_sent();
        self.take_controls();
        self.send_waiting();
        let sent = self.send_message(peer, header, payload);
        if sent.is_err() {
            self.stats.busy += 1;
            self.refused = true;
            if let Some(connection) = self.connections.of(peer) {
                self.connections.get_mut(connection).stalled = true;
            }
        }
        sent
    }

    /// This process's number, which shared-queue messages begin with.
    #[inline(always)]
    fn own_number(&self, boxed: bool) -> Option<u32> {
        (!boxed).then_some(self.job.me.0)
    }

    /// Sends a message that fits, by mailbox or shared queue.
    #[inline]
    fn send_short<S: Source>(
        &mut self,
        (ep, boxed): (Ep, bool),
        head: &[u8],
        payload: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<(), Busy> {
        if self.messages_out >= self.params.local_cq_size as u32 {
            self.take_sent();
            if self.messages_out >= self.params.local_cq_size as u32 {
                return Err(Busy);
            }
        }
        let sent = match boxed {
            true => self.nic.smsg_send_wtag(ep, head, payload, msg_id, tag),
            false => self.nic.msgq_send(ep, head, payload, msg_id, tag),
        };
        sent.map_err(|_| Busy)?;
        self.messages_out += 1;
        Ok(())
    }

    /// Sends a control message, or reports that it must wait.
    pub(crate) fn send_control(&mut self, connection: u32, control: Control) -> Result<(), Busy> {
        let entry = self.connections.get(connection);
        let to = (entry.messages, entry.boxed);
        let (head, tag) = self.eager.message(self.own_number(to.1), control);
        let msg_id = match control {
            Control::GetInit(name) => name,
            Control::Complete(_) => UNAWAITED,
        };
        let mut nothing = UserMem::EMPTY;
        self.send_short(to, head.as_bytes(), &mut nothing, msg_id, tag)?;
        self.stats.control_messages += 1;
        Ok(())
    }

    /// Sends a control message now, or as soon as there is room.
    pub(crate) fn control(&mut self, connection: u32, control: Control) {
        let entry = self.connections.get(connection);
        if entry.state == State::Lost {
            return;
        }
        let must_wait = entry.state != State::Connected || !entry.waiting.is_empty();
        if must_wait || self.send_control(connection, control).is_err() {
            let entry = self.connections.get_mut(connection);
            if entry.waiting.is_empty() {
                self.connections.waiting.push(connection);
            }
            self.connections.get_mut(connection).waiting.push_back(control);
        }
    }

    /// Sends what waits, oldest first, as far as there is room.
    pub(crate) fn send_waiting(&mut self) {
        for connection in core::mem::take(&mut self.connections.waiting) {
            self.connect(connection);
            if self.connections.get(connection).state != State::Connected {
                self.connections.waiting.push(connection);
                continue;
            }
            while let Some(&control) = self.connections.get(connection).waiting.front() {
                if self.send_control(connection, control).is_err() {
                    break;
                }
                self.connections.get_mut(connection).waiting.pop_front();
            }
            if !self.connections.get(connection).waiting.is_empty() {
                self.connections.waiting.push(connection);
            }
        }
    }

    /// Takes the entries of messages that have left, or that never will.
    pub(crate) fn take_sent(&mut self) {
        if self.messages_out == 0 {
            return;
        }
        loop {
            match self.nic.cq_get_event(self.queues.messages) {
                Ok(entry) => {
                    self.messages_out -= 1;
                    if entry.msg_id() != UNAWAITED {
                        self.eager.left(entry.msg_id());
                    }
                }
                Err(CqFault::Failed(entry)) => {
                    self.messages_out -= 1;
                    self.lose(entry.inst_id());
                }
                Err(CqFault::Overrun) => {}
                Err(CqFault::NotDone | CqFault::InvalidParam) => return,
            }
        }
    }
}
