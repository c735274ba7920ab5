//! What a process does about failures in a job that goes on.
//!
//! ```text
//!   launcher ── a rank has failed ──► hear_of_failures: what it had sent is received first ──► the message layer ends requests
//!   a transport loses a peer ─────────────────────────────────────────────────────────────►   │
//!                                                        take_losses: `known` grows ◄──────────┘
//! ```

use abi::{Error, Result};
use btl::{Btl, Peer};
use engine::Process;
use pmi::Failed;
use pml::{Awaited, Done, ReqId};

use crate::comm::Comm;
use crate::failures::{REVOKED, UNACKNOWLEDGED};
use crate::state::State;

const FAILED: Error = Error::new(abi::ERR_PROC_FAILED, "a process of the communicator has failed");

impl State {
    /// Takes what the launcher has sent about failures.
    pub fn hear_of_failures(&mut self) {
        let Some(world) = &mut self.world else { return };
        for failed in world.job.take_failed() {
            self.known_of(failed).into_iter().for_each(|peer| self.announce(peer));
            self.failures.may_meet(failed);
        }
    }

    /// The processes of which the launcher says that they have failed, as far as this one knows them.
    fn known_of(&self, failed: Failed) -> Vec<Peer> {
        let peers = self.p2p.peers();
        match failed {
            Failed::Rank(rank) => (rank < peers.own_size()).then_some(Peer(rank)).into_iter().collect(),
            Failed::Process { job, rank } => peers.find(Process { job, rank }).into_iter().collect(),
            Failed::Job(job) => {
                let is_of_job = |peer: &Peer| peers.process(*peer).is_some_and(|process| process.job == job);
                // Its end is no failure of those that had left.
                self.p2p.others().filter(|peer| is_of_job(peer) && !self.has_left(*peer)).collect()
            }
        }
    }

    /// This process meets these of another job, of which the launcher may have said before that they have failed.
    pub fn announce_met(&mut self, peers: &[u32]) {
        for &peer in peers {
            let peer = Peer(peer);
            let has_failed =
                self.p2p.peers().process(peer).is_some_and(|process| self.failures.has_ended(process));
            if has_failed {
                self.announce(peer);
            }
        }
    }

    /// A process has failed, and nothing of it counts any more. Once is enough.
    pub fn announce(&mut self, peer: Peer) {
        if self.failures.announced.contains(&peer) {
            return;
        }
        engine::has_failed(self, peer);
        self.failures.announced.push(peer);
        self.take_losses();
        (self.on_failure)(self, peer);
        self.note_news();
    }

    /// Has the launcher end a process of this job that is not reached any more; whether the peer is one.
    pub fn accuse(&mut self, peer: Peer) -> bool {
        match (self.p2p.peers().own_rank(peer), &mut self.world) {
            (Some(rank), Some(world)) => {
                world.job.accuse(rank);
                true
            }
            _ => false,
        }
    }

    /// A peer is lost: it has failed, unless it has said goodbye.
    pub(crate) fn note_lost(&mut self, peer: Peer) {
        if self.failures.survives && !self.has_left(peer) {
            self.failures.known.push(peer);
            self.note_news();
        }
    }

    /// The number of a process that has ended is another one's from now on. No communicator and no group contains it yet.
    pub fn forget_losses_of(&mut self, peer: Peer) {
        self.lost.retain(|&other| other != peer);
        self.failures.forget(peer);
    }

    /// Threads that wait look whether that is over.
    pub fn note_news(&mut self) {
        self.failures.any = true;
        self.failures.has_news = true;
        self.threads.changed();
    }

    /// Members of a communicator that have failed, as far as is known, in the order in which this process has learnt of them.
    pub fn failed_in(&self, comm: &Comm) -> Vec<u32> {
        let known = self.failures.known.iter();
        known.filter(|peer| comm.contains(**peer)).map(|peer| peer.0).collect()
    }

    /// For calls that need all processes of a communicator.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`, `MPIX_ERR_PROC_FAILED`.
    #[inline]
    pub fn check_whole(&self, comm: abi::Comm) -> Result<()> {
        if self.failures.any { self.find_failure(comm) } else { Ok(()) }
    }

    #[cold]
    fn find_failure(&self, comm: abi::Comm) -> Result<()> {
        match self.comms.find(comm) {
            Some(comm) if comm.is_revoked => Err(REVOKED),
            Some(comm) if !self.failed_in(comm).is_empty() => Err(FAILED),
            _ => Ok(()),
        }
    }

    /// Whether calls on a communicator may have ended with errors: its processes may still revoke it or have sent messages in its
    /// contexts that no call takes any more, so these are not used again.
    pub fn is_broken(&self, comm: &Comm) -> bool {
        comm.is_revoked || self.failures.any && !self.failed_in(comm).is_empty()
    }

    /// What ends a wait for a message of `source`, or of any process, in a context.
    #[cold]
    pub(crate) fn failure_of(&self, source: Option<Peer>, context: u32) -> Option<Error> {
        let comm = self.comms.in_context(context)?;
        if comm.is_revoked {
            return Some(REVOKED);
        }
        let is_missed = source.is_none() && self.failed_in(comm).len() > comm.acknowledged;
        is_missed.then_some(UNACKNOWLEDGED)
    }

    /// For a receive of any process that has no message yet, while a failure is not acknowledged: the request goes on, and this is
    /// what a call gets that waits for it.
    #[inline]
    pub fn pending(&self, id: ReqId) -> Option<Done> {
        if self.failures.any { self.find_pending(id) } else { None }
    }

    #[cold]
    fn find_pending(&self, id: ReqId) -> Option<Done> {
        let Some(Awaited::Message { peer: None, context, .. }) = self.p2p.awaited(id) else { return None };
        self.failure_of(None, context)?;
        let comm = self.comms.in_context(context)?;
        Some(Done { error: abi::ERR_PROC_FAILED_PENDING, ..Done::sent(comm.handle.0 as u32) })
    }

    /// A communicator is revoked on this process: what waits for messages in it ends, and calls fail from now on. Whether that is
    /// new.
    pub fn revoke(&mut self, comm: abi::Comm) -> bool {
        let Ok(found) = self.comms.get_mut(comm) else { return false };
        if std::mem::replace(&mut found.is_revoked, true) {
            return false;
        }
        let context = found.context;
        // Calls find no rank in it, and so look for the reason.
        found.peers = std::sync::Arc::new([]);
        self.comms.close_fast_path(comm);
        self.p2p.revoke(context);
        self.note_news();
        true
    }

    /// Whether the launcher has sent something, for a process that has waited for long.
    pub(crate) fn look_at_launcher(&mut self) {
        if self.failures.survives {
            self.hear_of_failures();
            // A transport may have been about to take a call of one that has ended then, and calls it back since.
            self.failures.announced.iter().for_each(|&peer| self.p2p.bml.has_ended(peer));
        }
    }

    /// Answers what was asked of this process by its observation memory: by the launcher, or by a tool.
    #[cold]
    pub(crate) fn answer(&mut self) {
        if observe::take_call() {
            self.hear_of_failures();
        }
        crate::shown::answer(self);
    }
}
