//! Which processes of the node still live.
//!
//! Each locks the byte of the node's file that is its place, before it publishes its identity. The kernel gives the lock
//! back when the process ends. Where files have no locks a process id must do: it means nothing for a process in
//! another pid namespace, and may be another process's by now.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use btl::Peer;
use platform::pidfd::Pidfd;
use platform::presence::{self, Presence};

use crate::descriptors::NO_PROCESS;
use crate::{MemoryFile, Node, Segment};

/// Shows the others that this process, at place `me`, lives.
pub(crate) fn announce(file: &MemoryFile, segment: &Segment, me: usize) -> Option<Presence> {
    let presence = Presence::announce(file.fd.as_fd(), me as u64).ok();
    // Seen with the address, which is stored later.
    segment.identity(me).present.store(u64::from(presence.is_some()), Ordering::Relaxed);
    presence
}

impl Node {
    /// This process leaves MPI, or is there again; a peer that reads this also sees what was written before.
    pub fn set_away(&self, is_away: bool) {
        self.segment.identity(self.me as usize).away.store(u64::from(is_away), Ordering::Release);
    }

    /// Whether the process of `peer` has left MPI; `false` where it is of another node.
    pub fn is_away(&self, peer: Peer) -> bool {
        let identity = self.place_of(peer).map(|place| self.segment.identity(place as usize));
        identity.is_some_and(|identity| identity.away.load(Ordering::Acquire) == 1)
    }

    /// Whether the process of `peer` has ended; `false` where that cannot be known.
    pub fn has_ended(&self, peer: Peer) -> bool {
        self.place_of(peer).is_some_and(|place| self.has_ended_at(place))
    }

    /// Whether the process at `place` has ended; `false` where that cannot be known.
    pub fn has_ended_at(&self, place: u32) -> bool {
        if self.is_gone(place) {
            return true;
        }
        let identity = self.segment.identity(place as usize);
        if identity.address.load(Ordering::Acquire) != 0
            && identity.present.load(Ordering::Relaxed) == 1
            && let Some(file) = &self.file
            && let Ok(lives) = presence::is_announced(file.fd.as_fd(), u64::from(place))
        {
            return !lives;
        }
        let in_our_namespace = self.pids.get(self.me as usize) == Some(&(std::process::id() as i32));
        let pid = self.pids.get(place as usize).filter(|_| in_our_namespace);
        pid.is_some_and(|&pid| match Pidfd::open(pid) {
            Ok(process) => process.has_ended(),
            Err(error) => error.raw_os_error() == Some(NO_PROCESS),
        })
    }
}
