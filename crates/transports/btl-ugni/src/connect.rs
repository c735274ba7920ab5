//! Connections: endpoints per peer, made when first needed, and the exchange of mailboxes by datagrams.
//!
//! Each side sends the other a hello once, a directed datagram that names the sender and its mailbox. A side that
//! knows the other's mailbox can send. A hello reaches the other side as one half of a directed exchange, or
//! through the wildcard that each process keeps posted, which answers with nothing:
//!
//! ```text
//!   caller                                    callee
//!   hello: take a mailbox, post directed      wildcard posted
//!                                      ────▶  wildcard matches: caller known; wildcard posted anew
//!   (empty answer)                            hello: take a mailbox, post directed; connected
//!   wildcard matches: callee known;    ◀────
//!   connected
//! ```
//! Hellos that cross complete each other, and both are connected. In whatever order, a side that is connected
//! looks into its mailbox at once: the other may have been faster.

use crate::connections::{Connection, State};
use crate::hello::{DIRECTED, Hello, PROBE, WILDCARD};
use crate::mailboxes::Mailbox;
use crate::registration::Room;
use crate::transfer::UnderWay;
use crate::transport::Ugni;
use btl::{Event, Peer};
use gni::{Clock, Datagram, Ep, Gni, PostState, Result, SmsgType};
use std::collections::VecDeque;

impl<N: Gni, C: Clock> Ugni<N, C> {
    /// The connection to `peer`, with endpoints; `None` when the NIC has none left or there is no such peer.
    pub(crate) fn connection_to(&mut self, peer: Peer) -> Option<u32> {
        if let Some(connection) = self.connections.of(peer) {
            return Some(connection);
        }
        let address = self.directory.get(peer)?;
        let (pe, inst) = (address.pe, address.inst);
        if !address.locator.is_empty() {
            self.nic.learn_peer(pe, inst, &address.locator).ok()?;
        }
        let messages = self.nic.ep_create(Some(self.queues.messages)).ok()?;
        self.nic.ep_bind(messages, pe, inst).ok()?;
        let index = self.connections.list.len() as u32;
        self.connections.list.push(Connection {
            peer,
            state: State::Idle,
            messages,
            transfers: None,
            mailbox: None,
            theirs: None,
            waiting: VecDeque::new(),
            boxed: false,
            queued: 0,
            active: false,
            stalled: false,
            probing: false,
            exposures: 0,
            remote: UnderWay::default(),
        });
        self.connections.table.set(peer, index);
        Some(index)
    }

    /// The endpoint for transfers of a connection.
    ///
    /// # Errors
    /// The NIC's, when it has none left.
    pub(crate) fn transfer_endpoint(&mut self, connection: u32) -> Result<Ep> {
        let Connection { transfers, peer, .. } = *self.connections.get(connection);
        if let Some(ep) = transfers {
            return Ok(ep);
        }
        let address = self.directory.get(peer).ok_or(gni::Error::InvalidParam)?;
        let ep = self.nic.ep_create(Some(self.queues.transfers))?;
        self.nic.ep_bind(ep, address.pe, address.inst)?;
        self.connections.get_mut(connection).transfers = Some(ep);
        Ok(ep)
    }

    /// Begins to connect, if that has not happened; what is missing now is tried again with the next send.
    #[cold]
    pub(crate) fn connect(&mut self, connection: u32) {
        if self.connections.get(connection).state != State::Idle {
            return;
        }
        if self.plan.msgq {
            return self.connect_nodes(connection);
        }
        if self.offer_mailbox(connection) {
            self.connections.get_mut(connection).state = State::Connecting;
            self.connect_mailboxes(connection);
        } else if self.mailboxes.are_used_up(&self.quota) {
            // To try again would be for ever, and in silence.
            self.lose(connection);
        }
    }

    /// Takes a mailbox for the peer and announces it; `false`: there is none now.
    fn offer_mailbox(&mut self, connection: u32) -> bool {
        let mut room =
            Room::new(&mut self.nic, &mut self.cache, &mut self.quota, &mut self.stats.mailbox_bytes);
        let Ok(mailbox) = self.mailboxes.take(&mut room) else { return false };
        if self.say_hello(connection, &mailbox).is_err() {
            self.mailboxes.give(mailbox);
            return false;
        }
        self.connections.get_mut(connection).mailbox = Some(mailbox);
        true
    }

    /// Counts a message through the shared queue. The peer gets a mailbox after so many; until both sides have one,
    /// messages go on through the queue. Later ones may overtake those that still lie there.
    pub(crate) fn note_queued(&mut self, connection: u32) {
        let entry = self.connections.get_mut(connection);
        entry.queued = entry.queued.saturating_add(1);
        let wanted = self.plan.queue_uses.is_some_and(|uses| entry.queued >= uses);
        // Without room now, the next message asks again.
        if wanted && entry.mailbox.is_none() {
            self.offer_mailbox(connection);
            self.connect_mailboxes(connection);
        }
    }

    /// Answers hellos that could not be answered when they came.
    pub(crate) fn answer_hellos(&mut self) {
        for connection in core::mem::take(&mut self.connections.unanswered) {
            if self.plan.msgq {
                self.answer_with_mailbox(connection);
                continue;
            }
            self.connect(connection);
            if self.connections.get(connection).state == State::Idle {
                self.connections.unanswered.push(connection);
            }
        }
    }

    /// The peer has offered a mailbox: it gets one, too.
    fn answer_with_mailbox(&mut self, connection: u32) {
        self.connect(connection);
        if self.connections.get(connection).mailbox.is_some() || self.offer_mailbox(connection) {
            self.connect_mailboxes(connection);
        }
        let entry = self.connections.get(connection);
        // Where there will be none, messages go on through the queue.
        let never = entry.mailbox.is_none() && self.mailboxes.are_used_up(&self.quota);
        if !entry.boxed && entry.state != State::Lost && !never {
            self.connections.unanswered.push(connection);
        }
    }

    /// Connects this node's shared queue with the peer's.
    fn connect_nodes(&mut self, connection: u32) {
        let peer = self.connections.get(connection).peer;
        let Some(pe) = self.directory.get(peer).map(|address| address.pe) else { return };
        let messages = self.connections.get(connection).messages;
        // Events of messages carry the connection, as with mailboxes.
        let named = self.nic.ep_set_event_data(messages, connection, connection);
        if named.and_then(|()| self.nic.msgq_connect(pe)).is_ok() {
            self.connections.get_mut(connection).state = State::Connected;
            self.stats.connections += 1;
        }
    }

    /// Posts the directed datagram of a connection.
    fn say_hello(&mut self, connection: u32, mailbox: &Mailbox) -> Result<()> {
        let hello = Hello { peer: self.job.me, connection, attr: mailbox.attr };
        let ep = self.connections.get(connection).messages;
        self.nic.ep_post_data_w_id(ep, &hello.to_bytes(), DIRECTED | u64::from(connection))
    }

    /// Asks whether the peer is there: any answer will do.
    pub(crate) fn post_empty_hello(&mut self, connection: u32) -> Result<()> {
        let ep = self.connections.get(connection).messages;
        let hello = Hello::empty(self.job.me);
        self.nic.ep_post_data_w_id(ep, &hello.to_bytes(), DIRECTED | PROBE | u64::from(connection))
    }

    /// Treats all exchanges that are over.
    pub(crate) fn take_datagrams(&mut self) {
        while let Ok(id) = self.nic.post_data_probe_by_id() {
            if id == WILDCARD {
                let met = self.nic.ep_post_data_test_by_id(self.connections.wildcard, WILDCARD);
                // The endpoint is free again, so nothing but an exhausted NIC can refuse.
                let _ = self.connections.post_wildcard(&mut self.nic);
                if let Some((connection, hello)) = met.ok().and_then(|datagram| self.caller(&datagram)) {
                    self.hello_came(connection, &hello);
                }
            } else {
                let connection = id as u32;
                let ep = self.connections.get(connection).messages;
                let Ok(datagram) = self.nic.ep_post_data_test_by_id(ep, id) else { continue };
                match id & PROBE {
                    0 => self.exchanged(connection, &datagram),
                    _ => self.probe_exchanged(connection, &datagram),
                }
            }
        }
    }

    /// The peer that met the wildcard, if it is the one that it claims to be.
    fn caller(&mut self, datagram: &Datagram) -> Option<(u32, Hello)> {
        let hello = Hello::parse(datagram.data())?;
        let peer = self.directory.who(hello.peer, datagram.pe, datagram.inst)?;
        Some((self.connection_to(peer)?, hello))
    }

    /// The exchange of a probe is over.
    fn probe_exchanged(&mut self, connection: u32, datagram: &Datagram) {
        let answered = datagram.state == PostState::Completed;
        self.probed(connection, answered);
        // What the probe met may have been the peer's hello.
        if let Some(hello) = Hello::parse(datagram.data()).filter(|_| answered) {
            self.hello_came(connection, &hello);
        }
    }

    /// A directed exchange is over.
    fn exchanged(&mut self, connection: u32, datagram: &Datagram) {
        match Hello::parse(datagram.data()) {
            _ if datagram.state != PostState::Completed => {
                // A peer whose hello has come meanwhile is there all the same.
                if self.connections.get(connection).state == State::Connecting {
                    self.lose(connection);
                }
            }
            // The peer's wildcard answered; its own hello will come.
            Some(hello) if hello.attr.kind == SmsgType::Invalid => {}
            Some(hello) => self.hello_came(connection, &hello),
            None => self.lose(connection),
        }
    }

    /// The hello of a connection's peer has come.
    fn hello_came(&mut self, connection: u32, hello: &Hello) {
        let entry = self.connections.get_mut(connection);
        if entry.theirs.is_some() || hello.attr.kind == SmsgType::Invalid {
            return;
        }
        entry.theirs = Some((hello.connection, hello.attr));
        if self.plan.msgq {
            return self.answer_with_mailbox(connection);
        }
        if entry.state == State::Idle {
            self.connections.unanswered.push(connection);
            self.answer_hellos();
        } else {
            self.connect_mailboxes(connection);
        }
    }

    /// Connects the mailboxes when both are known.
    fn connect_mailboxes(&mut self, connection: u32) {
        let entry = self.connections.get(connection);
        let begun = entry.state == State::Connecting || self.plan.msgq && entry.state == State::Connected;
        let (true, Some(mailbox), Some((number, attr))) =
            (begun && !entry.boxed, entry.mailbox, entry.theirs)
        else {
            return;
        };
        let ep = entry.messages;
        let connected = self.nic.smsg_init(ep, &mailbox.attr, &attr);
        if connected.and_then(|()| self.nic.ep_set_event_data(ep, connection, number)).is_err() {
            return self.lose(connection);
        }
        let entry = self.connections.get_mut(connection);
        self.stats.connections += u64::from(entry.state != State::Connected);
        (entry.state, entry.boxed) = (State::Connected, true);
        self.activate(connection);
    }

    /// The mailbox of a connection may have messages.
    #[inline]
    pub(crate) fn activate(&mut self, connection: u32) {
        if let Some(entry) = self.connections.list.get_mut(connection as usize)
            && entry.state == State::Connected
            && !entry.active
        {
            entry.active = true;
            self.active.push_back(connection);
        }
    }

    /// Gives a peer up: nothing more is sent to it or expected from it. Its mailbox is not used again, since a
    /// peer that is only cut off could still write into it.
    #[cold]
    pub(crate) fn lose(&mut self, connection: u32) {
        let state = self.connections.get(connection).state;
        if state == State::Lost {
            return;
        }
        let entry = self.connections.get_mut(connection);
        entry.state = State::Lost;
        entry.waiting.clear();
        entry.remote.silent.lose();
        let peer = entry.peer;
        self.connections.waiting.retain(|&waiting| waiting != connection);
        self.connections.unanswered.retain(|&unanswered| unanswered != connection);
        self.eager.drop_of(connection);
        self.events.push_back(Event::PeerLost(peer));
    }
}
