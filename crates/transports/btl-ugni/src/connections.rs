//! The connections of a process: what there is for each peer, and how far each is.

use crate::hello::{Hello, WILDCARD};
use crate::mailboxes::Mailbox;
use crate::peers::PeerTable;
use crate::transfer::UnderWay;
use btl::Peer;
use gni::{Ep, Gni, Result, SmsgAttr};
use rdma::Control;
use std::collections::VecDeque;

/// All connections of a process.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) table: PeerTable,
    pub(crate) list: Vec<Connection>,
    pub(crate) wildcard: Ep,
    /// Those with control messages that wait for a credit.
    pub(crate) waiting: Vec<u32>,
    /// Those whose hello came and has no answer yet, for want of a mailbox.
    pub(crate) unanswered: Vec<u32>,
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Endpoints exist, for one-sided copies; this side has not sent its hello.
    Idle,
    /// This side has sent its hello and has no answer.
    Connecting,
    /// Messages can be sent.
    Connected,
    /// The peer is gone.
    Lost,
}

/// What there is for one peer.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) state: State,
    /// The endpoint for messages.
    pub(crate) messages: Ep,
    /// For transfers, from the first of them on; their events go to another queue.
    pub(crate) transfers: Option<Ep>,
    /// This side's mailbox, once it has sent its hello.
    pub(crate) mailbox: Option<Mailbox>,
    /// The peer's number for this connection and its mailbox, once its hello has come.
    pub(crate) theirs: Option<(u32, SmsgAttr)>,
    /// Control messages that were accepted and wait for a credit.
    pub(crate) waiting: VecDeque<Control>,
    /// Both mailboxes are connected.
    pub(crate) boxed: bool,
    /// Messages that went through the shared queue.
    pub(crate) queued: u32,
    /// On the list of mailboxes to look into.
    pub(crate) active: bool,
    /// A message found no room since the last probe.
    pub(crate) stalled: bool,
    /// A probe is under way.
    pub(crate) probing: bool,
    /// Memory exposed to the peer and not concealed yet.
    pub(crate) exposures: u32,
    /// Accesses to the peer's windows.
    pub(crate) remote: UnderWay,
}

impl Connection {
    /// Whether this process has a mailbox for the peer's messages.
    pub(crate) fn has_mailbox(&self) -> bool {
        self.mailbox.is_some()
    }

    /// Where this process's messages go, once the peer's hello has come.
    pub(crate) fn peers_mailbox(&self) -> Option<&SmsgAttr> {
        self.theirs.as_ref().map(|(_, attr)| attr)
    }
}

impl Connections {
    pub(crate) fn new<N: Gni>(nic: &mut N) -> Result<Connections> {
        let wildcard = nic.ep_create(None)?;
        let connections = Connections {
            table: PeerTable::new(),
            list: Vec::new(),
            wildcard,
            waiting: Vec::new(),
            unanswered: Vec::new(),
        };
        connections.post_wildcard(nic)?;
        Ok(connections)
    }

    pub(crate) fn post_wildcard<N: Gni>(&self, nic: &mut N) -> Result<()> {
        nic.ep_post_data_w_id(self.wildcard, &Hello::empty(Peer(u32::MAX)).to_bytes(), WILDCARD)
    }

    #[inline(always)]
    pub(crate) fn of(&self, peer: Peer) -> Option<u32> {
        self.table.get(peer)
    }

    #[inline(always)]
    pub(crate) fn get(&self, connection: u32) -> &Connection {
        &self.list[connection as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, connection: u32) -> &mut Connection {
        &mut self.list[connection as usize]
    }

    /// Whether nothing waits for a turn.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.unanswered.is_empty()
    }
}
