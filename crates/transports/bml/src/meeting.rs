//! Processes of other jobs, which this one meets while it runs. TCP reaches them.

use std::io;

use btl::join::report;
use btl::{Btl, Lines, Peer};
use btl_tcp::{Bridge, Card, JobProof, Tcp, TcpParams};

use crate::slot::Slot;
use crate::{Bml, Unreachable};

/// How a process of another job is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contact {
    /// Its card, as [`Bml::listen`] gave it there.
    pub card: String,
    /// What makes it known to this process.
    pub bridge: Bridge,
    /// Its number on the bridge.
    pub number: u32,
}

impl Bml {
    /// Lets processes of other jobs call this process: its card. A process whose own job needs no TCP opens it now.
    ///
    /// # Errors
    /// The lines to print.
    pub fn listen(&mut self, job: u64, values: &mca::Values) -> Result<String, Lines> {
        if let Some(tcp) = self.tcp.there() {
            return Ok(tcp.card().encode());
        }
        let system = |error: io::Error| Lines::system("opening TCP for processes of other jobs", &error);
        // No process of this job calls, so no other knows the key.
        let key = platform::random::secret().map_err(system)?;
        let (me, peers) = (self.loopback.me(), self.routes.len() as u32);
        let params = TcpParams::read(values)?;
        let tcp = Tcp::for_strangers(me, peers, JobProof { id: job, key }, &params, Some(report));
        let tcp = tcp.map_err(|error| Lines::of(&error))?;
        if let Some(descriptor) = tcp.descriptor() {
            self.bell.add(descriptor).map_err(system)?;
        }
        let card = tcp.card().encode();
        self.tcp = Some(Box::new(tcp));
        self.is_mixed = true;
        Ok(card)
    }

    /// Adds a process of another job: as the next peer, or as one that is gone.
    ///
    /// # Errors
    /// [`Unreachable`]: this process does not listen, or the card makes no sense.
    pub fn meet(&mut self, peer: Peer, contact: &Contact) -> Result<(), Unreachable> {
        let (tcp, card) = self.tcp.there_mut().zip(Card::parse(&contact.card)).ok_or(Unreachable(peer))?;
        tcp.meet(peer, card, contact.bridge, contact.number);
        if self.routes.len() == peer.0 as usize {
            self.add_peer()?;
        }
        Ok(())
    }

    /// Parts from a process of another job: nothing more is sent there, and what it sends is dropped.
    pub fn part_from(&mut self, peer: Peer) {
        if let Some(tcp) = self.tcp.there_mut() {
            tcp.part_from(peer);
        }
    }

    /// A peer that is gone after [`Bml::part_from`]: it may become another process.
    pub fn next_gone(&mut self) -> Option<Peer> {
        self.tcp.there_mut()?.next_gone()
    }
}
