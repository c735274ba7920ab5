//! Sending messages: what the provider copies, what goes from a buffer, and what waits.

use btl::{Busy, Peer};
use mem::{PeerBytes, Source, UserMem};
use ofi::Refused;
use rdma::Control;
use rdma::wire::{self, Head};

use crate::cookie::{INJECT, SEND};
use crate::peers::Waiting;
use crate::plan::PREFIX;
use crate::state::Ofi;

impl Ofi {
    #[inline]
    pub(crate) fn send_message<S: Source>(
        &mut self,
        peer: Peer,
        words: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let connection = self.connection_to(peer).ok_or(Busy)?;
        // What was accepted before goes first.
        let entry = self.peers.get_mut(connection);
        if !entry.waiting.is_empty() {
            return Err(Busy);
        }
        if !entry.credits.may_send() {
            entry.refused = true;
            return Err(Busy);
        }
        let len = payload.remaining();
        let head = Head::send(Some(self.me.0), words, len);
        let start = PREFIX + head.as_bytes().len();
        if start + len > self.plan.frame {
            return self.send_by_get(connection, words, payload);
        }
        let buffer = self.take_send_buffer().ok_or(Busy)?;
        let frame = self.sends.buffer(buffer).payload(start + len);
        self.write_head(frame, wire::SEND, &head);
        payload.fill(frame.part(start, len).as_space());
        self.stats.sent_bytes += len as u64;
        self.peers.get_mut(connection).credits.sent();
        self.send_frame(connection, buffer, start + len, None);
        Ok(())
    }

    fn write_head(&self, frame: UserMem, kind: u8, head: &Head) {
        let first = u64::from(kind) << 56 | self.mark;
        frame.write(PeerBytes::of(&first.to_ne_bytes()));
        let bytes = head.as_bytes();
        frame.part(PREFIX, bytes.len()).write(PeerBytes::of(bytes));
    }

    /// `None`: as many messages are under way as may be.
    pub(crate) fn take_send_buffer(&mut self) -> Option<u32> {
        if self.messages_out >= self.plan.sends[2] as usize {
            return None;
        }
        let mut pools = self.memory.pools(&mut self.endpoint);
        let number = self.sends.take(&mut pools)?.number;
        if self.in_send.len() <= number as usize {
            self.in_send.resize(number as usize + 1, (0, None));
        }
        Some(number)
    }

    /// Sends a frame, or has it wait; `request`: the Eager GET whose request it is.
    fn send_frame(&mut self, connection: u32, buffer: u32, len: usize, request: Option<u32>) {
        self.in_send[buffer as usize] = (connection, request);
        if self.try_frame(connection, buffer, len).is_err() {
            self.stats.delayed += 1;
            self.wait(connection, Waiting::Frame { buffer, len });
        }
    }

    /// Hands a frame to the provider.
    ///
    /// # Errors
    /// [`Busy`]: the provider has no room.
    fn try_frame(&mut self, connection: u32, buffer: u32, len: usize) -> Result<(), Busy> {
        let place = self.sends.buffer(buffer);
        let (memory, address) = (place.payload(len), self.peers.get(connection).address);
        let short = len <= self.plan.inject;
        let begun = match short {
            true => self.endpoint.inject(address, memory, INJECT),
            false => self.endpoint.send(address, memory, place.handle.local, SEND | u64::from(buffer)),
        };
        match begun {
            Ok(()) => self.messages_out += 1,
            Err(Refused::Again) => return Err(Busy),
            Err(Refused::Failed(error)) => {
                self.sends.give(buffer);
                let words = self.endpoint.words(error);
                self.lose(connection, words);
                return Ok(());
            }
        }
        if short {
            self.stats.injected += 1;
            self.frame_left(buffer);
        } else {
            self.stats.framed += 1;
        }
        Ok(())
    }

    /// A frame's buffer is free.
    pub(crate) fn frame_left(&mut self, buffer: u32) {
        if let Some(name) = self.in_send[buffer as usize].1 {
            self.eager.left(name);
        }
        self.sends.give(buffer);
    }

    fn wait(&mut self, connection: u32, what: Waiting) {
        let entry = self.peers.get_mut(connection);
        if entry.waiting.is_empty() {
            self.waiting.push(connection);
        }
        entry.waiting.push_back(what);
    }

    /// Sends a control message now, or as soon as there is room.
    pub(crate) fn control(&mut self, connection: u32, control: Control) {
        let entry = self.peers.get(connection);
        if entry.lost.is_some() {
            return;
        }
        if !entry.waiting.is_empty() || !self.try_control(connection, control) {
            self.wait(connection, Waiting::Control(control));
        }
    }

    /// Makes a frame of a control message and sends it; `false`: there is no buffer.
    fn try_control(&mut self, connection: u32, control: Control) -> bool {
        let Some(buffer) = self.take_send_buffer() else { return false };
        let (head, kind) = self.eager.message(Some(self.me.0), control);
        let request = match control {
            Control::GetInit(name) => Some(name),
            Control::Complete(_) => None,
        };
        self.send_head(connection, buffer, kind, &head, request);
        true
    }

    /// Reports to a peer how many of its messages were acknowledged, now or as soon as there is room.
    pub(crate) fn report(&mut self, connection: u32) {
        if !self.peers.get(connection).waiting.is_empty() || !self.try_report(connection) {
            // What waits reads the count when it leaves, so no second one need wait.
            let credits = &mut self.peers.get_mut(connection).credits;
            credits.reported(credits.report());
            self.wait(connection, Waiting::Report);
        }
    }

    /// Sends that; `false`: there is no buffer.
    fn try_report(&mut self, connection: u32) -> bool {
        let Some(buffer) = self.take_send_buffer() else { return false };
        let credits = &mut self.peers.get_mut(connection).credits;
        let count = credits.report();
        credits.reported(count);
        self.send_head(connection, buffer, wire::REPORT, &Head::report(Some(self.me.0), count), None);
        true
    }

    /// Sends a frame without payload.
    fn send_head(&mut self, connection: u32, buffer: u32, kind: u8, head: &Head, request: Option<u32>) {
        let len = PREFIX + head.as_bytes().len();
        let frame = self.sends.buffer(buffer).payload(len);
        self.write_head(frame, kind, head);
        self.send_frame(connection, buffer, len, request);
    }

    /// Sends what waits, oldest first, as far as there is room.
    pub(crate) fn send_waiting(&mut self) {
        for connection in core::mem::take(&mut self.waiting) {
            let mut rest = core::mem::take(&mut self.peers.get_mut(connection).waiting);
            while let Some(first) = rest.pop_front() {
                let sent = match first {
                    Waiting::Frame { buffer, len } => self.try_frame(connection, buffer, len).is_ok(),
                    Waiting::Control(control) => self.try_control(connection, control),
                    Waiting::Report => self.try_report(connection),
                };
                if !sent {
                    rest.push_front(first);
                }
                if !sent || !self.peers.get(connection).waiting.is_empty() {
                    break;
                }
            }
            // A control message that became a frame waits before the rest.
            let is_lost = self.peers.get(connection).lost.is_some();
            let entry = self.peers.get_mut(connection);
            let had = !entry.waiting.is_empty();
            if is_lost {
                for waiting in rest {
                    if let Waiting::Frame { buffer, .. } = waiting {
                        self.sends.give(buffer);
                    }
                }
                continue;
            }
            entry.waiting.append(&mut rest);
            if !had && !entry.waiting.is_empty() {
                self.waiting.push(connection);
            }
        }
    }
}
