//! Processes of other jobs, which this one meets while it runs. TCP reaches them.

use std::io;

use btl::join::report;
use btl::{Btl, Lines, Peer};
use btl_tcp::{Foreign, JobProof, Tcp, TcpParams};
use connect::Secret;

use crate::introduction::Introduction;
use crate::slot::Slot;
use crate::{Bml, Unreachable};

/// How a process of another job is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contact<'a> {
    /// The number of its job.
    pub job: u64,
    /// Its rank there.
    pub rank: u32,
    /// How it has introduced itself: what [`Bml::listen`] gave there.
    pub introduction: &'a str,
}

impl Bml {
    /// Lets processes of other jobs call this process: how it introduces itself to them. A process whose own job needs no TCP
    /// opens it now.
    ///
    /// # Errors
    /// The lines to print.
    pub fn listen(&mut self, job: u64, values: &mca::Values) -> Result<String, Lines> {
        if let Some(introduction) = &self.introduction {
            return Ok(introduction.encode());
        }
        let key = Secret::new(platform::random::secret().map_err(system)?);
        if self.tcp.there().is_none() {
            self.open_for_strangers(job, values)?;
        }
        let Some(tcp) = self.tcp.there() else { return Err(system(io::ErrorKind::NotConnected.into())) };
        let introduction = Introduction { key, card: tcp.card().clone() };
        Ok(self.introduction.insert(introduction).encode())
    }

    fn open_for_strangers(&mut self, job: u64, values: &mca::Values) -> Result<(), Lines> {
        // No process of this job calls, so no other knows the key.
        let key = platform::random::secret().map_err(system)?;
        let (me, peers) = (self.loopback.me(), self.routes.len() as u32);
        let params = TcpParams::read(values)?;
        let tcp = Tcp::for_strangers(me, peers, JobProof { id: job, key }, &params, Some(report));
        let tcp = tcp.map_err(|error| Lines::of(&error))?;
        if let Some(descriptor) = tcp.descriptor() {
            self.bell.add(descriptor).map_err(system)?;
        }
        self.tcp = Some(Box::new(tcp));
        self.is_mixed = true;
        Ok(())
    }

    /// Adds a process of another job: as the next peer, or as one that is gone.
    ///
    /// # Errors
    /// [`Unreachable`]: this process does not listen, or the introduction makes no sense.
    pub fn meet(&mut self, peer: Peer, contact: &Contact<'_>) -> Result<(), Unreachable> {
        let theirs = Introduction::parse(contact.introduction).ok_or(Unreachable(peer))?;
        let ours = self.introduction.as_ref().ok_or(Unreachable(peer))?;
        let secret = Secret::of_pair(ours.key, theirs.key);
        let tcp = self.tcp.there_mut().ok_or(Unreachable(peer))?;
        tcp.meet(peer, theirs.card, Foreign { job: contact.job, rank: contact.rank, secret });
        if self.routes.len() == peer.0 as usize {
            self.add_peer()?;
        }
        Ok(())
    }

    /// A process of another job that is `peer` was met once more.
    pub fn meet_again(&mut self, peer: Peer) {
        if let Some(tcp) = self.tcp.there_mut() {
            tcp.meet_again(peer);
        }
    }

    /// Parts from a process of another job: nothing more is sent there, and its end is no loss.
    pub fn part_from(&mut self, peer: Peer) {
        if let Some(tcp) = self.tcp.there_mut() {
            tcp.part_from(peer);
        }
    }

    /// Whether this process has parted from a process of another job, and has not met it since.
    pub fn is_apart(&self, peer: Peer) -> bool {
        self.tcp.there().is_some_and(|tcp| tcp.is_apart(peer))
    }

    /// A peer whose process has ended after [`Bml::part_from`]: it may become another process.
    pub fn next_gone(&mut self) -> Option<Peer> {
        self.tcp.there_mut()?.next_gone()
    }
}

fn system(error: io::Error) -> Lines {
    Lines::system("opening TCP for processes of other jobs", &error)
}
