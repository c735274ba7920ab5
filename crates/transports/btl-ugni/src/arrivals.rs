//! Arrivals: which mailboxes to look into, what their messages say, and giving room back.

use crate::connections::State;
use crate::shown::lasting_bytes;
use crate::transport::Ugni;
use btl::{Arrival, Peer, Take};
use gni::{ANY_TAG, Clock, CqFault, Gni};
use mem::PeerBytes;
use rdma::wire;
use std::collections::VecDeque;

/// Where an arrival lies, by its token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    /// In the mailbox of this connection.
    Mailbox(u32),
    /// In this receive buffer.
    Buffer(u32),
    /// In the box for shared-queue messages.
    Shared,
}

impl Token {
    fn pack(self) -> u64 {
        match self {
            Token::Mailbox(connection) => connection.into(),
            Token::Buffer(number) => 1 << 32 | u64::from(number),
            Token::Shared => 2 << 32,
        }
    }

    fn unpack(token: u64) -> Token {
        match token >> 32 {
            0 => Token::Mailbox(token as u32),
            1 => Token::Buffer(token as u32),
            _ => Token::Shared,
        }
    }
}

impl<N: Gni, C: Clock> Ugni<N, C> {
    /// The next message that can be seen without a turn.
    #[inline]
    pub(crate) fn look_for_arrival(&mut self) -> Option<Arrival> {
        if let Some((fetched, header, payload)) = self.eager.next_fetched() {
            let token = Token::Buffer(fetched.buffer).pack();
            return Some(Arrival { peer: fetched.peer, header, payload, token });
        }
        if self.plan.msgq
            && let shared @ Some(_) = self.next_shared()
        {
            return shared;
        }
        if self.active.is_empty() {
            self.take_arrival_entries(Self::ENTRIES);
        }
        while let Some(&connection) = self.active.front() {
            if let Some(arrival) = self.next_message(connection) {
                return Some(arrival);
            }
            self.active.pop_front();
            self.looked = self.looked.saturating_sub(1);
            self.connections.get_mut(connection).active = false;
            if self.active.is_empty() {
                self.take_arrival_entries(Self::ENTRIES);
            }
        }
        None
    }

    /// Entries that one look at the queue takes. More than one, so that peers get their turns.
    const ENTRIES: usize = 16;

    /// Notes which mailboxes have something, by at most so many entries.
    #[inline]
    pub(crate) fn take_arrival_entries(&mut self, most: usize) {
        for _ in 0..most {
            match self.nic.cq_get_event(self.queues.arrivals) {
                Ok(entry) => self.activate(entry.inst_id()),
                Err(CqFault::Overrun) => self.look_everywhere(),
                Err(CqFault::Failed(_)) => {}
                Err(CqFault::NotDone | CqFault::InvalidParam) => return,
            }
        }
    }

    /// Entries were lost: any connected mailbox may have messages.
    #[cold]
    fn look_everywhere(&mut self) {
        self.stats.overruns += 1;
        for connection in 0..self.connections.list.len() as u32 {
            self.activate(connection);
        }
    }

    /// The next inline message in a mailbox; control messages before it are treated and released.
    #[inline]
    pub(crate) fn next_message(&mut self, connection: u32) -> Option<Arrival> {
        let entry = self.connections.get(connection);
        if entry.state != State::Connected || !entry.boxed {
            return None;
        }
        let (ep, peer) = (entry.messages, entry.peer);
        loop {
            let message = self.nic.smsg_get_next_wtag(ep, ANY_TAG).ok()?;
            if message.tag == wire::SEND
                && let Some((header, payload)) = wire::parse_send(message.bytes)
            {
                return Some(Arrival { peer, header, payload, token: Token::Mailbox(connection).pack() });
            }
            self.take_control(connection, message.tag, message.bytes);
            // The message was current a moment ago.
            let _ = self.nic.smsg_release(ep);
        }
    }

    /// Whether a mailbox has a message, control messages included, at one of so many polls.
    #[inline]
    pub(crate) fn has_message(&mut self, connection: u32, polls: u32) -> bool {
        let entry = self.connections.get(connection);
        if entry.state != State::Connected || !entry.boxed {
            return false;
        }
        let ep = entry.messages;
        for _ in 0..polls {
            if self.nic.smsg_get_next_wtag(ep, ANY_TAG).is_ok() {
                return true;
            }
            core::hint::spin_loop();
        }
        false
    }

    /// Shows the next message in a mailbox, if it is an inline one, and releases it if it is taken.
    #[inline]
    pub(crate) fn take_message<T: Take>(&mut self, connection: u32, take: T) -> Option<T::Taken> {
        let entry = self.connections.get(connection);
        if entry.state != State::Connected || !entry.boxed {
            return None;
        }
        let ep = entry.messages;
        let message = self.nic.smsg_get_next_wtag(ep, ANY_TAG).ok()?;
        if message.tag != wire::SEND {
            // The control messages before it are treated; the message, if any, is found by the next poll.
            self.next_message(connection);
            return None;
        }
        let (header, payload) = wire::parse_send(message.bytes)?;
        let taken = take.take(header, payload)?;
        // The message was current a moment ago.
        let _ = self.nic.smsg_release(ep);
        self.pass_turn(connection);
        Some(taken)
    }

    /// Treats a control message; one that does not hold together is dropped.
    fn take_control(&mut self, connection: u32, tag: u8, bytes: PeerBytes<'_>) {
        match tag {
            wire::GET_INIT => {
                self.eager.request(connection, bytes);
                self.fetch_wanting();
            }
            wire::RDMA_COMPLETE => {
                if let Some(context) = wire::parse_number(bytes) {
                    self.eager.done(connection, context);
                }
            }
            _ => {}
        }
    }

    /// Treats control messages that have arrived, for a process that sends and does not ask for arrivals:
    /// buffers and credits must come back all the same.
    pub(crate) fn take_controls(&mut self) {
        if self.plan.msgq {
            self.take_shared();
        }
        self.take_arrival_entries(Self::ENTRIES);
        while let Some(&connection) = self.active.get(self.looked) {
            // What is found stays in its mailbox until it is asked for.
            if self.next_message(connection).is_some() {
                self.looked += 1;
            } else {
                self.active.swap_remove_back(self.looked);
                self.connections.get_mut(connection).active = false;
            }
        }
    }

    /// Takes messages from the node's shared queue: control messages are treated, others kept, up to a bound
    /// beyond which they stay in the queue and hold their sender's credits.
    fn take_shared(&mut self) {
        const KEPT: usize = 64;
        while self.shared.len() < KEPT {
            let Ok(message) = self.nic.msgq_next() else { return };
            let bytes = PeerBytes::of(message.data());
            let Some(claimed) = wire::parse_number(bytes).map(Peer) else { continue };
            let Some(peer) = self.directory.who(claimed, message.pe, message.inst) else { continue };
            // The NIC has to know its node, to give the credit back.
            let connection = self.connection_to(peer);
            if message.tag == wire::SEND {
                self.shared.push_back((peer, message));
            } else if let Some(connection) = connection {
                self.take_control(connection, message.tag, bytes.part(4, bytes.len()));
            }
        }
    }

    /// The next inline message of the node's shared queue.
    fn next_shared(&mut self) -> Option<Arrival> {
        loop {
            if self.shared.is_empty() {
                self.take_shared();
            }
            let (peer, message) = self.shared.pop_front()?;
            if self.shared.is_empty() {
                // Messages are long for what most processes keep of them: nothing.
                self.shared = VecDeque::new();
            }
            let bytes = lasting_bytes(self.shown.insert(message).data());
            if let Some((header, payload)) = wire::parse_send(bytes.part(4, bytes.len())) {
                return Some(Arrival { peer, header, payload, token: Token::Shared.pack() });
            }
        }
    }

    /// Gives an arrival's room back, and the next peer its turn.
    #[inline]
    pub(crate) fn release_token(&mut self, token: u64) {
        match Token::unpack(token) {
            Token::Mailbox(connection) => {
                let ep = self.connections.get(connection).messages;
                // Released once per arrival.
                let _ = self.nic.smsg_release(ep);
                self.pass_turn(connection);
            }
            Token::Buffer(number) => self.eager.release(number),
            Token::Shared => *self.shown = None,
        }
    }

    /// Gives the next peer its turn, after a message of this one.
    #[inline]
    fn pass_turn(&mut self, connection: u32) {
        if self.active.len() > 1 && self.active.front() == Some(&connection) {
            self.active.rotate_left(1);
            self.looked = self.looked.saturating_sub(1);
        } else {
            self.looked = 0;
        }
    }
}
