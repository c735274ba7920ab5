//! Single copy: long messages move from one process's memory to the other's without a stop in between.
//!
//! A key is `[address, length, offer]` in the memory of the process that exposed it; nothing is registered. The
//! offer names a control block by which the owner helps (see [`crate::joint_copy`]), or is 0. Before
//! the first copy the pair is tried out: each process publishes a random number and its address, and only a
//! process id whose memory holds that number there is believed. A refusal, at once or later, is final for the
//! pair, and the layer above uses another protocol.

use btl::{Access, Event, Peer, Refusal, RemoteKey};
use mem::UserMem;
use platform::cma;
use shm::Segment;
use shm::joint::Job;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;

use crate::joint_copy::{Share, Step};
use crate::mapped::Mapped;
use crate::transport::Vader;

/// What is known about a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Not tried yet; the supposed process id.
    Untried(i32),
    /// Reached by this process id.
    Proven(i32),
    /// Cannot be reached.
    Refused,
}

/// A get or put under way.
#[derive(Debug)]
pub(crate) struct Copy {
    /// The part in a joint copy, if it is one.
    share: Option<Share>,
    process: Process,
    /// Address in the peer's memory.
    remote: u64,
    memory: UserMem,
    done: usize,
    access: Access,
    cookie: u64,
}

/// A process of this node whose memory is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    /// Its place on the node.
    pub local: u32,
    pub pid: i32,
}

impl Process {
    /// Copies between `memory` and `remote` of the process: through what is mapped, or by the kernel.
    pub(crate) fn copy(
        self,
        mapped: &mut Option<Mapped>,
        remote: u64,
        memory: UserMem,
        access: Access,
    ) -> Result<(), cma::Failure> {
        if let Some(mapped) = mapped.as_mut().filter(|mapped| mapped.reaches(self.local)) {
            return mapped.copy(self.local, remote, memory, access);
        }
        let here = memory.address() as *mut u8;
        // SAFETY: the memory's constructor vouches that it may be read and written until the copy is reported.
        unsafe {
            match access {
                Access::Read => cma::read(self.pid, remote, here, memory.len()),
                Access::Write => cma::write(self.pid, remote, here, memory.len()),
            }
        }
    }
}

/// Shortest message that both sides copy: below, starting together costs more than it gains.
pub(crate) const LEAST_JOINT: usize = 64 << 10;

/// Publishes a random number of our own at a stable address, by which peers know us.
pub(crate) fn publish_identity(segment: &Segment, me: usize) -> Box<u64> {
    let nonce = Box::new(RandomState::new().hash_one(me) | 1);
    let identity = segment.identity(me);
    identity.nonce.store(*nonce, Ordering::Relaxed);
    // Pairs with the Acquire in `prove`.
    identity.address.store(&raw const *nonce as u64, Ordering::Release);
    nonce
}

/// Whether `pid` is the process that published `rank`'s identity, and lets us read its memory.
fn prove(segment: &Segment, rank: usize, pid: i32) -> bool {
    let identity = segment.identity(rank);
    let address = identity.address.load(Ordering::Acquire);
    let expected = identity.nonce.load(Ordering::Relaxed);
    let mut found = 0u64;
    // SAFETY: `found` holds eight bytes.
    let read = unsafe { cma::read(pid, address, (&raw mut found).cast(), 8) };
    read.is_ok() && found == expected && expected != 0
}

impl Vader {
    /// The process id by which `peer`'s memory can be reached, if it can.
    fn reach(&mut self, peer: Peer) -> Option<i32> {
        let local = self.local_of[peer.0 as usize] as usize;
        let link = &mut self.links[local];
        if let Reach::Untried(pid) = link.reach {
            let met = self.mapped.as_mut().is_some_and(|mapped| mapped.meet(&self.segment, local))
                || prove(&self.segment, local, pid);
            link.reach = if met { Reach::Proven(pid) } else { Reach::Refused };
        }
        match link.reach {
            Reach::Proven(pid) => Some(pid),
            _ => None,
        }
    }

    /// Whether this process can read `peer`'s memory; tried out the first time.
    pub fn can_read(&mut self, peer: Peer) -> bool {
        self.reach(peer).is_some()
    }

    /// Copies from `remote` in `peer`'s memory into `memory`, at once.
    ///
    /// # Errors
    /// [`Refusal::Unfit`]: the peer cannot be read, or not there.
    pub fn read(&mut self, peer: Peer, remote: u64, memory: UserMem) -> Result<(), Refusal> {
        let pid = self.reach(peer).ok_or(Refusal::Unfit)?;
        let process = Process { local: self.local_of[peer.0 as usize], pid };
        process.copy(&mut self.mapped, remote, memory, Access::Read).map_err(|_| Refusal::Unfit)
    }

    pub(crate) fn make_key(
        &mut self,
        peer: Peer,
        memory: UserMem,
        access: Access,
    ) -> Result<RemoteKey, Refusal> {
        // What we may do with the peer's memory, it may do with ours: same user, same rules.
        self.reach(peer).ok_or(Refusal::Unfit)?;
        let receiver = self.local_of[peer.0 as usize];
        let offer = if access == Access::Read { self.offers.offer(receiver, memory) } else { 0 };
        self.busy |= offer != 0;
        Ok(RemoteKey([memory.address() as u64, memory.len() as u64, offer]))
    }

    pub(crate) fn start_copy(
        &mut self,
        peer: Peer,
        memory: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
        access: Access,
    ) -> Result<(), Refusal> {
        let pid = self.reach(peer).ok_or(Refusal::Unfit)?;
        let [address, exposed, offer] = key.0;
        let end = offset.checked_add(memory.len() as u64).ok_or(Refusal::Unfit)?;
        if end > exposed {
            return Err(Refusal::Unfit);
        }
        let remote = address.wrapping_add(offset);
        let local = self.local_of[peer.0 as usize];
        let job = Job {
            target: memory.address() as u64,
            offset,
            len: memory.len() as u64,
            // Both sides should have something to do.
            chunk: self.chunk.min((memory.len() / 2).next_multiple_of(4096)) as u64,
            receiver: self.me,
        };
        let together = self.cooperative && access == Access::Read && memory.len() >= LEAST_JOINT;
        let share = if together { self.share(peer, offer, job) } else { None };
        let process = Process { local, pid };
        self.copies.push_back(Copy { share, process, remote, memory, done: 0, access, cookie });
        self.busy = true;
        Ok(())
    }

    /// Reports an event, or moves one piece of the oldest copy, or helps a peer with one of its.
    #[inline(never)]
    pub(crate) fn work(&mut self) -> Option<Event> {
        let event = match self.events.pop_front() {
            Some(event) => Some(event),
            None if self.copies.is_empty() => {
                self.push_chunk();
                None
            }
            None => self.advance_copy(),
        };
        self.busy = !self.events.is_empty() || !self.copies.is_empty() || !self.offers.is_empty();
        event
    }

    fn advance_copy(&mut self) -> Option<Event> {
        let mut copy = self.copies.pop_front()?;
        let outcome = match copy.share.take() {
            Some(share) => self.advance_together(&mut copy, share),
            None => copy.advance(&mut self.mapped, self.chunk),
        };
        match outcome {
            Ok(false) => {
                self.copies.push_front(copy);
                None
            }
            Ok(true) => {
                self.copied += copy.memory.len() as u64;
                Some(Event::Done(copy.cookie))
            }
            Err(failure) => {
                let link = &mut self.links[copy.process.local as usize];
                match failure {
                    cma::Failure::Refused => link.reach = Reach::Refused,
                    cma::Failure::Gone => {
                        let lost = Event::PeerLost(link.peer);
                        self.report(lost);
                    }
                    cma::Failure::Fault => {}
                }
                Some(Event::Failed(copy.cookie))
            }
        }
    }

    /// One step of a joint copy; whether it was the last.
    fn advance_together(&mut self, copy: &mut Copy, mut share: Share) -> Result<bool, cma::Failure> {
        match share.step(copy.process.pid, || self.wake_owner(copy.process.local)) {
            Step::Done => return Ok(true),
            Step::Ended => return Err(cma::Failure::Fault),
            Step::Lost => return Err(cma::Failure::Gone),
            Step::Wait => {}
            Step::Pull(chunk) => {
                let (start, len) = share.part(chunk);
                if let Err(failure) = copy.move_part(&mut self.mapped, start, len) {
                    share.give_up(copy.process.pid);
                    return Err(failure);
                }
                share.pulled();
            }
        }
        copy.share = Some(share);
        Ok(false)
    }
}

impl Copy {
    /// Moves at most `chunk` bytes; whether that was the last of them.
    fn advance(&mut self, mapped: &mut Option<Mapped>, chunk: usize) -> Result<bool, cma::Failure> {
        let len = chunk.min(self.memory.len() - self.done);
        self.move_part(mapped, self.done, len)?;
        self.done += len;
        Ok(self.done == self.memory.len())
    }

    /// Moves `len` bytes from `start` on.
    fn move_part(&self, mapped: &mut Option<Mapped>, start: usize, len: usize) -> Result<(), cma::Failure> {
        let remote = self.remote.wrapping_add(start as u64);
        self.process.copy(mapped, remote, self.memory.part(start, len), self.access)
    }
}
